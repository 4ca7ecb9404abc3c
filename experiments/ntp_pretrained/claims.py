"""Statements on features of a pretrained model: dimensions and margin against three controls."""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level
from experiments.ntp_pretrained.settings import (
    BOUND,
    EMBEDDINGS,
    FRESH,
    GAUSSIAN,
    LENGTHS,
    MARGIN,
    PERMUTED,
    PRETRAINED,
    SHARE,
    every_token,
    named,
)

OURS = "ours; the paper trains on no text"
CONTROLS = {
    PERMUTED: "the same features, of other contexts",
    FRESH: "features of the network before training",
    GAUSSIAN: "Gaussian features",
}


def claims(results: pd.DataFrame) -> list[Claim]:
    """Fewer dimensions and a larger margin than each control; verdicts; the bound."""
    return [claim for length in LENGTHS for claim in _of_length(results, length)]


def _of_length(results: pd.DataFrame, length: int) -> list[Claim]:
    mine, at = named(PRETRAINED, length), f"T = {length}"
    fewer = [
        claim_greater(
            results, SHARE, named(control, length), mine,
            text=f"Pretrained features separate text from a lower d than {words} ({at}; d / m)",
            source=OURS, paper_value="none",
        )
        for control, words in CONTROLS.items()
    ]  # fmt: skip
    wider = [
        claim_greater(
            results, MARGIN, mine, named(control, length),
            text=f"... and have a larger margin than {words} ({at}; embeddings of one length)",
            source=OURS, paper_value="none",
        )
        for control, words in CONTROLS.items()
    ]  # fmt: skip
    decided = [
        claim_level(
            results, named(embedding, length), "undecided_share", at_most=0.0,
            text=f"Every verdict has a certificate ({embedding}, {at}; share undecided)",
            source="ours", paper_value="0",
        )
        for embedding in EMBEDDINGS
    ]  # fmt: skip
    bound = claim_level(
        results, every_token(length), BOUND, at_least=1.0,
        text=f"The model's own decoder bounds the margin, without a solver ({at}; bound / margin)",
        source="Fan, Schmidt, Thrampoulidis 2025, Lemma 1", paper_value="at least 1",
    )  # fmt: skip
    return [*fewer, *wider, *decided, bound]
