"""Claims on the share that copies, and on the worst group's accuracy: that of hard strings.

All are on the mean over the numbers of strings. Every run knows whether a string is hard, except
under cross-entropy and E1 without weights.
"""

from typing import Any, Unpack

from experiments.el_groups.run import CE, DECAY, DRO, E1, EQUAL
from experiments.harness.claims import Wording, contrast
from experiments.harness.judging import Claim

LOOKS = {"cpu": 2}  # at the first look, with 10 data sets, two of five were undecided
COPIES = "swap_copies"
HARD = "test_precise_hard_accuracy"
SAGAWA = "Sagawa et al. 2020"
BYRD = "Byrd and Lipton 2019 (arXiv:1812.03372)"


def at(recipe: str, **factors: Any) -> dict[str, Any]:
    """The runs of a recipe."""
    return {"recipe": recipe, **factors}


def _more(text: str, metric: str, recipe: str, than: str, **wording: Unpack[Wording]) -> Claim:
    return contrast(text, metric, [(1, at(recipe)), (-1, at(than))], **wording)


CLAIMS = [
    _more(
        "Group DRO alone makes the worst group better (unseen hard strings)",
        HARD,
        DRO,
        CE,
        paper="no: without strong regularisation it does not",
        source=SAGAWA,
    ),
    _more(
        "It copies more than cross-entropy",
        COPIES,
        DRO,
        CE,
        paper="no number",
        source=SAGAWA,
    ),
    _more(
        "Equal weights of the two groups make cross-entropy copy more",
        COPIES,
        EQUAL,
        CE,
        paper="no: weights hardly matter once all is fitted",
        source=BYRD,
    ),
    _more(
        "Under heavy decay group DRO copies more than cross-entropy does",
        COPIES,
        f"{DRO}, decay",
        DECAY,
        paper="yes: with strong regularisation it helps",
        source=SAGAWA,
    ),
    _more(
        "E1, which does not know the groups, copies more than group DRO",
        COPIES,
        E1,
        DRO,
        paper="no number",
        source="Yang et al. 2025",
    ),
]
