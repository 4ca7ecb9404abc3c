"""Figures and tables of the papers, one folder each; see ``python -m experiments list``."""
