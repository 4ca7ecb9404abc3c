"""Next-token data: the matrices that are trained on, and where they come from."""
