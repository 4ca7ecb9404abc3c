"""Claims of Thrampoulidis (2024) on T-gram entropy and dimensions, tested on real text."""

from collections.abc import Iterator
from functools import partial

from experiments.harness.claims import Wording, greater, level, trend
from experiments.harness.judging import Claim
from experiments.harness.names import MATTERS

LEMMA = "ours; thresholds are an open problem of the paper"
OPEN: Wording = {"source": LEMMA, "paper": "none"}
GAUSSIAN = {"embedding": "gaussian", "dim_ratio": None}
by_length = partial(trend, where=GAUSSIAN, along="context_length")


def _lengths() -> Iterator[Claim]:
    text = "Entropy falls with the length of a context (T = 1, 2, 3; slope per word)"
    source = "Thrampoulidis 2024, Appendix C; Shannon 1951"
    yield by_length(text, "entropy", rising=False, source=source, paper="does not rise")
    text = "Longer contexts need more dimensions to be separable (T = 1, 2, 3; d)"
    yield by_length(text, "separable_from", rising=True, **OPEN)
    text = "... but fewer for each context, since fewer words follow it (T = 1, 2, 3; d / m)"
    yield by_length(text, "separable_from_share", rising=False, **OPEN)


def _dimensions() -> Iterator[Claim]:
    text = "Random embeddings separate text well below d = m (T = 1; d / m)"
    one, words = GAUSSIAN | {"context_length": 1}, "d > m suffices (Lemma 1)"
    yield level(text, "separable_from_share", one, at_most=0.75, source=LEMMA, paper=words)
    text = "Text becomes compatible before it becomes separable (T = 1; d / m between)"
    yield level(text, "separable_after_compatible", one, at_least=0.0, **OPEN)
    text = "The margin falls as longer contexts bring more of them (T = 1, 2, 3, d = 2 m)"
    yield by_length(text, "margin", where=GAUSSIAN | {"dim_ratio": 2.0}, rising=False, **OPEN)


def _words() -> Iterator[Claim]:
    bag = {"embedding": "bag_of_words", "context_length": 2}
    places = {"embedding": "one_hot_positions", "context_length": 2}
    text = (
        "Bags of words lose a separability that one-hot positions have (T = 2; share of passages)"
    )
    yield greater(text, "separable", places, bag, matters=MATTERS, **OPEN)
    text = "Order is worth entropy: bags of words have more than one-hot positions (T = 2)"
    yield greater(text, "entropy", bag, places, source="conditioning; ours", paper="0 or more")


CLAIMS = [*_lengths(), *_dimensions(), *_words()]
