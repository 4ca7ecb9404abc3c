"""Next-token data: the matrices of a problem, and ways to make them."""
