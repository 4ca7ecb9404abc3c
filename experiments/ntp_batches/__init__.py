"""Do mini-batches change the max margin toward which a method leans?

Thrampoulidis 2024, footnote 8 (SGD); arXiv 2510.26303 (Adam by single examples, Signum).
"""
