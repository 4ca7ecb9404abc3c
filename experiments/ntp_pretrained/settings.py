"""Names of the settings and of their numbers."""

LENGTHS = (2, 8)  # T, tokens in a context
PRETRAINED, FRESH, PERMUTED, GAUSSIAN = "pretrained", "fresh", "permuted", "Gaussian"
EMBEDDINGS = (PRETRAINED, FRESH, PERMUTED, GAUSSIAN)
SHARE = "separable_from_share"
MARGIN = "margin"
BOUND = "bound_over_margin"


def named(embedding: str, length: int) -> str:
    """The name of an embedding of contexts of so many tokens."""
    return f"{embedding}, T={length}"


def every_token(length: int) -> str:
    """The name of the pretrained features where no next token shares a class."""
    return f"{PRETRAINED}, T={length}, every token"
