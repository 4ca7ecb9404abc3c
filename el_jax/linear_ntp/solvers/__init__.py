"""Verdicts and max-margin matrices: solvers, tried in order, with certified results."""
