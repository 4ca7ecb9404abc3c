"""Figures and tables of the papers, one folder each; see ``python -m experiments list``."""

import os

# Matrices are small here. Where processes share cores, LAPACK's threads wait for one: a QR of
# 1068 x 17 took .07 s on two cores that worked for others, .0002 s in one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
