"""Settings of linear next-token prediction."""
