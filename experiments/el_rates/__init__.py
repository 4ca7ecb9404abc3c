"""Over which learning rates does a recipe work, and do warm-up, qk-norm or E1 widen the range?

Wortsman et al. 2023, arXiv 2309.14322 (learning-rate sensitivity); Yang et al. 2025, Table 3.
"""
