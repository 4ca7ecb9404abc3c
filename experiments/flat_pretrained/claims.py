"""Tr H against Tr F for a pretrained network, under three kinds of labels."""

from experiments.harness.claims import greater, level

LEMMA = "Liu et al. 2023, Lemma 4.2"
RATIO, GAP = "hessian_over_fisher", "gap"
ON_TEXT = {"network": "pretrained", "labels": "text"}

# near 1 where the lemma applies, farther from 1 where it does not
CLAIMS = [
    *(
        level(
            f"Tr H is Tr F at labels that the network draws ({network}; Tr H / Tr F)",
            RATIO,
            {"network": network, "labels": "own"},
            at_least=0.8,
            at_most=1.25,
            paper="1",
            source="identity of both in expectation",
        )
        for network in ("pretrained", "fresh")
    ),
    level(
        "A pretrained network is near enough to saturation on text (Tr H / Tr F)",
        RATIO,
        ON_TEXT,
        at_least=0.8,
        at_most=1.25,
        paper="1 at saturation",
        source=LEMMA,
    ),
    greater(
        "... and it is not on labels of other contexts (|Tr H / Tr F - 1|)",
        GAP,
        ON_TEXT | {"labels": "other"},
        ON_TEXT,
        paper="not stated",
        source=LEMMA,
    ),
    greater(
        "Before its training the gap on text is larger (|Tr H / Tr F - 1|)",
        GAP,
        ON_TEXT | {"network": "fresh"},
        ON_TEXT,
        paper="not stated",
        source=LEMMA,
    ),
]
