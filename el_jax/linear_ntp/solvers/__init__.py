"""Verdicts and max-margin matrices: solvers that verdicts try in order, and certify."""
