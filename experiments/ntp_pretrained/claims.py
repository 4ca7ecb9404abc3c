"""Claims on features of a pretrained model: dimensions and margin against three controls."""

from collections.abc import Iterator

from experiments.harness.claims import Wording, greater, level
from experiments.harness.judging import Claim
from experiments.ntp_pretrained.run import (
    BOUND,
    EMBEDDINGS,
    FRESH,
    LENGTHS,
    MARGIN,
    PERMUTED,
    PRETRAINED,
    SHARE,
)

OURS: Wording = {"source": "ours; the paper trains on no text", "paper": "none"}
CONTROLS = {
    PERMUTED: "the same features, of other contexts",
    FRESH: "features of the network before training",
}


def _of_length(length: int) -> Iterator[Claim]:
    of = {
        name: {"embedding": name, "context_length": length, "next_tokens": None}
        for name in EMBEDDINGS
    }
    mine, at = of[PRETRAINED], f"T = {length}"
    for control, words in CONTROLS.items():
        text = f"Pretrained features separate text from a lower d than {words} ({at}; d / m)"
        yield greater(text, SHARE, of[control], mine, **OURS)
    for control, words in CONTROLS.items():
        text = f"... and have a larger margin than {words} ({at}; embeddings of one length)"
        yield greater(text, MARGIN, mine, of[control], **OURS)
    yield level(
        f"The model's own decoder bounds the margin, without a solver ({at}; bound / margin)",
        BOUND,
        mine | {"next_tokens": "every"},
        at_least=1.0,
        source="Fan, Schmidt, Thrampoulidis 2025, Lemma 1",
        paper="at least 1",
    )


CLAIMS = [claim for length in LENGTHS for claim in _of_length(length)]
