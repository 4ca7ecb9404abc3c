"""The tokenizer that a GGUF file (llama.cpp's format) holds beside its model."""

import pathlib

from el_jax.process.errors import PretrainedError
from el_jax.process.gguf_files import field_of, open_gguf
from el_jax.tokenizers.byte_pairs import Tokenizer, byte_pair_tokenizer

# llama.cpp's name of a pre-tokenizer -> whether it splits off digits
_CUTTINGS = {"gpt-2": False, "smollm": True}
# llama.cpp's types of tokens that result from merges, and of text that is never cut nor merged
_NORMAL, _USER_DEFINED = 1, 4


def gguf_end(path: pathlib.Path) -> str | None:
    """The token that ends a text, according to a GGUF file.

    Raises:
        PretrainedError: there is no such file.
    """
    reader = open_gguf(path)
    number = field_of(reader, "tokenizer.ggml.eos_token_id")
    tokens = field_of(reader, "tokenizer.ggml.tokens") or ()
    return tokens[number] if number is not None and number < len(tokens) else None


def gguf_tokenizer(path: str | pathlib.Path) -> Tokenizer:
    """Read the tokenizer of a GGUF file.

    Args:
        path: the file.

    Raises:
        PretrainedError: there is no such file, or a field is missing or not supported; one line
            that names it.
    """
    path = pathlib.Path(path)
    reader = open_gguf(path)
    fields = {name: field_of(reader, f"tokenizer.ggml.{name}") for name in ("model", "pre")}
    allowed = {"model": ("gpt2",), "pre": tuple(_CUTTINGS)}
    for name, value in fields.items():
        if value not in allowed[name]:
            known = ", ".join(map(repr, allowed[name]))
            raise PretrainedError(f"{path}: tokenizer.ggml.{name}={value!r}: must be {known}")
    tokens, kinds, merges = (
        field_of(reader, f"tokenizer.ggml.{name}") for name in ("tokens", "token_type", "merges")
    )
    if not tokens or merges is None or len(kinds or ()) != len(tokens):
        raise PretrainedError(f"{path}: must have tokenizer.ggml.tokens, token_type and merges")
    kind_of = dict(zip(tokens, kinds, strict=True))
    special = [token for token in tokens if kind_of[token] not in (_NORMAL, _USER_DEFINED)]
    pairs = [(first, second) for first, _, second in (pair.partition(" ") for pair in merges)]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    try:
        tokenizer = byte_pair_tokenizer(
            vocabulary, pairs, special, digits_apart=_CUTTINGS[fields["pre"]]
        )
    except PretrainedError as error:
        raise PretrainedError(f"{path}: {error}") from error
    tokenizer.add_tokens([token for token in tokens if kind_of[token] == _USER_DEFINED])
    return tokenizer
