"""A tokenizer of words, for tasks whose tokens are not text; the tokens of any text."""

from collections.abc import Sequence

from el_jax.process.errors import DataError
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


def token_ids(
    tokenizer: Tokenizer, texts: Sequence[str], *, add_special: bool = False
) -> list[list[int]]:
    """The tokens of each text.

    Args:
        tokenizer: the tokenizer.
        texts: the texts; they may name special tokens.
        add_special: True to add the tokens that the tokenizer puts around a text, such as <s>.

    Raises:
        DataError: the tokenizer knows words only, and a text has another one.
    """
    try:
        found = tokenizer.encode_batch(list(texts), add_special_tokens=add_special)
    except Exception as error:  # the library raises no narrower one
        known = " ".join(sorted(tokenizer.get_vocab())[:6])
        raise DataError(
            f"tokenizer: must have every word of the text, and has words such as {known} ({error})"
        ) from error
    return [one.ids for one in found]
