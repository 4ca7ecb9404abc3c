"""Is the trace of a pretrained model's Hessian that of its Fisher matrix, as saturation has it?

Liu, Xie, Li, Ma 2023, Lemma 4.2, on SmolLM2-135M and Genesis.
"""
