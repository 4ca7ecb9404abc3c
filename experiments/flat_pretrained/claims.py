"""Tr H against Tr F of a pretrained network, under three kinds of labels."""

import pandas as pd

from experiments.flat_pretrained.settings import (
    FRESH,
    GAP,
    NETWORKS,
    OTHER,
    OWN,
    PRETRAINED,
    RATIO,
    TEXT,
    named,
)
from experiments.harness.claims import Claim, claim_greater, claim_level

LEMMA = "Liu et al. 2023, Lemma 4.2"


def claims(results: pd.DataFrame) -> list[Claim]:
    """Near 1 where the lemma applies, and farther where it does not."""
    return [
        *(
            claim_level(
                results, named(network, OWN), RATIO, at_least=0.8, at_most=1.25,
                text=f"Tr H is Tr F at labels that the network draws ({network}; Tr H / Tr F)",
                source="identity of both in expectation", paper_value="1",
            )
            for network in NETWORKS
        ),
        claim_level(
            results, named(PRETRAINED, TEXT), RATIO, at_least=0.8, at_most=1.25,
            text="A pretrained network is near enough to saturation on text (Tr H / Tr F)",
            source=LEMMA, paper_value="1 at saturation",
        ),
        claim_greater(
            results, GAP, named(PRETRAINED, OTHER), named(PRETRAINED, TEXT),
            text="... and it is not on labels of other contexts (|Tr H / Tr F - 1|)",
            source=LEMMA, paper_value="not stated",
        ),
        claim_greater(
            results, GAP, named(FRESH, TEXT), named(PRETRAINED, TEXT),
            text="Before its training the gap on text is larger (|Tr H / Tr F - 1|)",
            source=LEMMA, paper_value="not stated",
        ),
    ]  # fmt: skip
