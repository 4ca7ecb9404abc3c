"""Verdicts and max-margin matrices: a verdict tries solvers in order and certifies the result."""
