"""Grammars in Chomsky normal form, compared with the distribution built up from their rules."""

import math
import os

import jax
import numpy as np
import pytest

from el_jax.worlds import PAD, entropy_floor, every_sentence, parse_grammar, read_grammar
from tests.worlds.small_worlds import GRAMMAR, SMALL

RELEASED = "EL_JAX_RELEASED_GRAMMAR"  # names the file that the authors published; it has no licence


def spelled(world, symbol, width):
    """Every sequence of ``width`` words of a symbol with its probability."""
    if width == 1:
        return {(w,): p for w, p in enumerate(world.words[symbol]) if p > 0}
    law = {}
    for left, right in np.argwhere(world.rules[symbol] > 0):
        for split in range(1, width):
            for head, p in spelled(world, left, split).items():
                for tail, q in spelled(world, right, width - split).items():
                    joint = world.rules[symbol, left, right] * p * q
                    law[head + tail] = law.get(head + tail, 0) + joint
    return law


def test_probabilities_are_those_of_the_rules():
    world = SMALL["grammar_file"]
    laws = {
        (symbol, width): spelled(world, symbol, width)
        for symbol in range(len(world.symbols))
        for width in world.lengths
    }
    with jax.enable_x64(True):
        tokens, probability = every_sentence(world)
        lengths = world.length_law()
    by_length = [
        sum(p * sum(laws[symbol, width].values()) for symbol, p in enumerate(world.root))
        for width in world.lengths
    ]
    np.testing.assert_allclose(lengths, by_length, atol=1e-10)
    for row, given in zip(np.asarray(tokens).tolist(), np.asarray(probability), strict=True):
        words = tuple(word for word in row if word != PAD)
        law = [laws[symbol, len(words)].get(words, 0) for symbol in range(len(world.symbols))]
        assert abs(given - world.root @ law / sum(by_length)) < 1e-10


def test_labels_are_the_symbols_that_best_explain_a_span():
    world = SMALL["grammar_file"]
    sentences = jax.jit(lambda: world.sample(jax.random.key(1), 60))()
    labels = jax.jit(world.labels)(sentences)
    assert set(labels) == {"sentence", "prefix_4", "prefix_2"}
    symbols = range(len(world.symbols))
    for i, row in enumerate(np.asarray(sentences.tokens).tolist()):
        words = tuple(word for word in row if word != PAD)
        whole = [spelled(world, symbol, len(words)).get(words, 0) for symbol in symbols]
        assert labels["sentence"][i] == np.argmax(np.where(world.root > 0, whole, 0))
        for width in (4, 2):
            prefix = [spelled(world, symbol, width).get(words[:width], 0) for symbol in symbols]
            expected = np.argmax(prefix) if len(words) >= width and max(prefix) > 0 else -1
            assert labels[f"prefix_{width}"][i] == expected


def test_the_start_is_no_symbol_if_it_only_chooses_one():
    world = SMALL["grammar_file"]
    assert world.symbols == ("A", "B", "S1", "S2")
    assert world.vocabulary == ("x", "y", "z")
    np.testing.assert_allclose(world.root, [0, 0, 0.6, 0.4])
    np.testing.assert_allclose(world.rules[0, 0, 1], 0.3)  # two lines of A -> A B add up
    direct = parse_grammar("S A A 0.5\nS a 0.5\nA a 1.0", length=3)
    assert direct.symbols == ("A", "S")
    np.testing.assert_array_equal(direct.root, [0, 1])
    mixed = parse_grammar("S A 0.25\nS A A 0.25\nS b 0.5\nA a 1.0", length=3)
    np.testing.assert_allclose(mixed.root, [0.25, 0.75])
    np.testing.assert_allclose(mixed.words, [[1, 0], [0, 2 / 3]])


def test_sentences_of_at_most_one_word():
    world = parse_grammar("S A A 0.2\nS x 0.6\nS y 0.2\nA x 1.0", length=1)
    with jax.enable_x64(True):
        tokens, probability = every_sentence(world)
        np.testing.assert_allclose(probability, [0.75, 0.25])
        for law in (world.log_conditionals, world.log_next):
            np.testing.assert_allclose(np.exp(law(tokens)), [[[0.75, 0.25]]] * 2)
        drawn = world.sample(jax.random.key(0), 2000)
    assert abs(np.mean(drawn.tokens) - 0.25) < 0.04
    assert set(world.labels(drawn)) == {"sentence"}


def test_a_grammar_comes_from_a_file(tmp_path):
    file = tmp_path / "rules.txt"
    file.write_text(GRAMMAR + "\n\n")
    world = read_grammar(path=str(file), length=4)
    np.testing.assert_array_equal(world.rules, SMALL["grammar_file"].rules)
    file.write_text(GRAMMAR.strip(), encoding="utf-8-sig")
    np.testing.assert_array_equal(read_grammar(path=str(file), length=4).rules, world.rules)
    file.write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match=r"^rules.txt: must be UTF-8"):
        read_grammar(path=str(file), length=4)
    file.write_text("S A 1.0\nA a 0.5\nA b x\n")
    with pytest.raises(ValueError, match=r"^rules.txt:3: probability='x': must be a number"):
        read_grammar(path=str(file), length=4)


def test_long_sentences_are_within_float32():
    words = "\n".join(f"A w{i} 0.00998" for i in range(100))
    world = parse_grammar(f"A A A 0.002\n{words}", length=32)
    row = np.random.default_rng(0).integers(0, 100, (1, 32))
    single = np.exp(jax.jit(world.log_conditionals)(row))
    np.testing.assert_allclose(single, 0.01, atol=1e-5)
    trees = math.comb(62, 31) / 32  # Catalan's number of binary trees with 32 leaves
    expected = math.log(trees) + 31 * math.log(0.002) + 32 * math.log(0.00998)  # -303 nats
    np.testing.assert_allclose(jax.jit(world.log_probability)(row), expected, rtol=1e-5)
    # the words say nothing of the length, so the next word is there if the sentence goes on
    lengths = [math.comb(2 * n - 2, n - 1) / n * 0.001996 ** (n - 1) for n in range(1, 33)]
    longer = np.cumsum(lengths[::-1])[::-1]  # at least 1 .. 32 words
    onward = np.append(1, longer[1:] / longer[:-1])
    found = np.exp(jax.jit(world.log_next)(row))[0]
    np.testing.assert_allclose(found, np.tile(onward[:, None] / 100, 100), rtol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"grammar: no rules: must have at least one line"),
        ("S a", r"grammar:1: 'S a': must be LEFT RIGHT \[RIGHT\] PROBABILITY"),
        ("S", r"grammar:1: 'S': must be LEFT RIGHT"),
        ("S a b c 1.0", r"grammar:1: 'S a b c 1.0': must be LEFT RIGHT"),
        ("S a 1.5", r"grammar:1: probability='1.5': must be a number in \[0, 1\]"),
        ("S a nan", r"grammar:1: probability='nan': must be a number in \[0, 1\]"),
        ("S a 0.5\nS b 0.4", r"grammar: rules of S sum to 0.9: must sum to 1"),
        ("S A B 1\nA a 1", r"grammar:1: symbol='B': must be the left side of a rule"),
        ("S A 1\nA B 1\nB b 1", r"grammar:2: symbol='B': must be a word or one of two"),
        ("S S 1", r"grammar:1: symbol='S': must be a word or one of two"),
        ("S A 1\nA S A 0.5\nA a 0.5", r"grammar:2: symbol='S': must not be the start"),
        ("S A A 1\nA B B 1\nB b 1", r"length=3: must be that of some sentence of grammar"),
    ],
)
def test_a_bad_grammar_is_one_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_grammar(text, length=3)


def test_a_length_below_one_is_one_line():
    with pytest.raises(ValueError, match=r"length=0: must be at least 1"):
        parse_grammar(GRAMMAR, length=0)


@pytest.mark.skipif(RELEASED not in os.environ, reason=f"{RELEASED} names no file")
def test_the_published_grammar_has_its_known_lengths_and_entropy():
    world = read_grammar(path=os.environ[RELEASED], length=16)
    assert (world.vocab_size, len(world.symbols)) == (200, 49)
    law = np.asarray(world.length_law())
    np.testing.assert_allclose(law.sum(), 1, atol=1e-5)
    known = [0, 0.042, 0.010, 0.003, 0.025, 0.073, 0.031, 0.089, 0.143, 0.053, 0.047, 0.106, 0.118]
    np.testing.assert_allclose(law, [*known, 0.071, 0.111, 0.076], atol=6e-4)
    floors = {
        per: jax.jit(entropy_floor, static_argnums=2, static_argnames="per")(
            world, jax.random.key(1), 500, per=per
        )
        for per in ("token", "sentence")
    }
    # over 8,000 other sentences: 4.450 ± .005 and 4.177 ± .011
    for per, (mean, sem) in {"token": (4.450, 0.005), "sentence": (4.177, 0.011)}.items():
        assert abs(floors[per].mean - mean) < 3 * np.hypot(sem, floors[per].sem)
