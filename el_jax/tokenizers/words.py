"""A tokenizer of words, for tasks whose tokens are not text."""

from collections.abc import Sequence

from el_jax.tokenizers.byte_pairs import Tokenizer, tokenizers_library


def word_tokenizer(words: Sequence[str]) -> Tokenizer:
    """Make a tokenizer whose token i is the i-th word; spaces separate words.

    Args:
        words: all different, without spaces. The library rejects text with any other word.
    """
    tokenizers = tokenizers_library()
    ids = {word: i for i, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return tokenizer
