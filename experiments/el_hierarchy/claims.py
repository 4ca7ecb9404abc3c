"""Claims on the accuracy on unseen sentences, over four hierarchies with one network each.

Claims that compare two recipes are on the mean over the numbers of sentences.
"""

from typing import Any, Unpack

from experiments.harness.claims import Wording, contrast, level
from experiments.harness.judging import Claim

UNSEEN, FITTED = "test_label_accuracy", "train_label_accuracy"


def at(recipe: str, **factors: Any) -> dict[str, Any]:
    """The runs of a recipe."""
    return {"recipe": recipe, **factors}


def _right_more(text: str, recipe: str, than: str, **wording: Unpack[Wording]) -> Claim:
    return contrast(text, UNSEEN, [(1, at(recipe)), (-1, at(than))], **wording)


CLAIMS = [
    level(
        "With 1,024 sentences, 4.7 C m^L, cross-entropy is right on at most .9 of unseen ones",
        UNSEEN,
        at("cross-entropy", num_train=1024),
        at_most=0.9,
        paper="about 1, for deep convolutional networks",
        source="Cagnetta et al. 2024, abstract",
    ),
    _right_more("Muon needs fewer sentences than AdamW", "Muon", "cross-entropy"),
    _right_more("E1 needs fewer sentences than cross-entropy", "E1", "cross-entropy"),
    _right_more("Heavy decay needs fewer sentences than none", "weight decay", "cross-entropy"),
    _right_more("Under Muon E1 needs fewer than cross-entropy", "Muon, E1", "Muon"),
]
