"""Does a pretrained model's Hessian have the trace of its Fisher matrix, as at saturation?

Liu, Xie, Li, Ma 2023, Lemma 4.2, on SmolLM2-135M and Genesis.
"""
