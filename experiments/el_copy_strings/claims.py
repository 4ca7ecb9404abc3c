"""Claims on the share that copies in the swap test, averaged over the numbers of strings.

The mean is the area under the curve over log2 of the number of strings, so a recipe that needs half
as many strings gains a fifth.
"""

from typing import Any, Unpack

from experiments.harness.claims import Wording, contrast
from experiments.harness.judging import Claim
from experiments.harness.tables import Where

COPIES, SHORTCUT, FITTED = "swap_copies", "swap_undoes_shift", "train_hard_accuracy"
HARD = "test_precise_hard_accuracy"
CE, E1 = {"loss": "cross_entropy"}, {"loss": "e1"}
ADAMW: dict[str, Any] = {"optimizer": "adamw", "b2": 0.999}
SHORT: dict[str, Any] = {"optimizer": "adamw", "b2": 0.95}
MUON: dict[str, Any] = {"optimizer": "muon"}


def _copies_more(text: str, where: Where, than: Where, **wording: Unpack[Wording]) -> Claim:
    return contrast(text, COPIES, [(1, where), (-1, than)], **wording)


CLAIMS = [
    _copies_more(
        "Under AdamW E1 needs fewer strings than cross-entropy: it copies more over all sizes",
        E1 | ADAMW,
        CE | ADAMW,
        paper="sample efficient, no number",
        source="Yang et al. 2025, section 1",
    ),
    _copies_more("With cross-entropy Muon needs fewer strings than AdamW", CE | MUON, CE | ADAMW),
    _copies_more(
        "Cross-entropy under Muon needs fewer strings than E1 under AdamW",
        CE | MUON,
        E1 | ADAMW,
    ),
    _copies_more("Under Muon E1 needs fewer strings than cross-entropy", E1 | MUON, CE | MUON),
    _copies_more(
        "With cross-entropy a short memory (β₂ = .95) needs fewer strings than .999",
        CE | SHORT,
        CE | ADAMW,
    ),
]
