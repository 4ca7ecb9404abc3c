"""Do the features of a pretrained model make text separable in fewer dimensions?

Thrampoulidis 2024, section 2, on frozen features of SmolLM2-135M and Genesis.
"""
