"""Which estimators of the Hessian's trace know their own error, and which errs least?

Liu, Xie, Li, Ma 2023, appendix B.1; Meyer et al. 2021; Epperly et al. 2024.
"""
