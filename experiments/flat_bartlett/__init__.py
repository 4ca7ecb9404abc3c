"""When is the covariance of gradients the Hessian?

Liu, Xie, Li, Ma 2023, Lemma 4.2, and appendix B.1, which measures one for the other.
"""
