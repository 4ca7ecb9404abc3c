"""Claims on the share that copies in the swap test.

All but the last are on the mean over the numbers of strings, after 4,000 updates.
"""

from typing import Any, Unpack

from experiments.el_decay.run import LONG, SHORT
from experiments.harness.claims import Wording, contrast
from experiments.harness.judging import Claim

LOOKS = {"cpu": 2}  # at the first look, with 6 seeds

COPIES, SHORTCUT = "swap_copies", "swap_undoes_shift"
HARD = "test_precise_hard_accuracy"


def at(recipe: str, updates: int = SHORT, **factors: Any) -> dict[str, Any]:
    """The runs of a recipe."""
    return {"recipe": recipe, "num_updates": updates, **factors}


def _copies_more(
    text: str, recipe: str, than: str, updates: int = SHORT, **wording: Unpack[Wording]
) -> Claim:
    return contrast(text, COPIES, [(1, at(recipe, updates)), (-1, at(than, updates))], **wording)


CLAIMS = [
    _copies_more(
        "Over 120 to 400 strings, heavy decay makes cross-entropy copy more",
        "cross-entropy, decay",
        "cross-entropy",
    ),
    _copies_more("It makes E1 copy more", "E1, decay", "E1"),
    _copies_more("It makes Muon copy more", "Muon, decay", "Muon"),
    _copies_more(
        "With heavy decay, E1 copies more than cross-entropy",
        "E1, decay",
        "cross-entropy, decay",
    ),
    _copies_more(
        "Cross-entropy under AdamW with heavy decay copies more than under Muon without",
        "cross-entropy, decay",
        "Muon",
    ),
    _copies_more(
        "After 20,000 updates on 400 strings, heavy decay still makes cross-entropy copy more",
        "cross-entropy, decay",
        "cross-entropy",
        LONG,
    ),
]
