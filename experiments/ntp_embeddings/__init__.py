"""Where do logits go when the embeddings are learnt too, and do contexts of one support collapse?

Zhao, Behnia, Vakilian, Thrampoulidis 2024 (arXiv 2408.15417)
"""
