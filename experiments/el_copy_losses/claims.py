"""Claims of Yang et al. (2025) on the E-losses on the copy task, at the strengths they name.

The paper contradicts itself about the strings its numbers are for. Table 3 is captioned "easy",
yet its text calls that subset the key to generalisation, and reports warm-up alone, 0.246, as
slightly better than cross-entropy, whose 0.3 the text gives for easy strings. Table 3 is compared
with the hard strings here; the 0.3 is quoted with the group the paper names. The paper's L_p is
2000 and its width 1024. A number of the paper is the bound of its claim.
"""

import math
from typing import Any

from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim
from experiments.harness.names import name_of
from experiments.harness.tables import Where

HARD = "test_precise_hard_accuracy"  # 10,000 strings
EXACT = "test_precise_hard_exact_match"
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}
FEW, MANY = {"alphabet_size": 26}, {"alphabet_size": 500}
CE = {"loss": "cross_entropy"}
E1_1, E1_2, E1_4, E1_8 = ({"loss": "e1", "lam": lam} for lam in (1.0, 2.0, 4.0, 8.0))
E2_10, E3 = {"loss": "e2", "lam": 10.0}, {"loss": "e3", "b": 1.0}  # the paper names no b
FIGURE_4, FIGURE_5 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Figure 5"
TABLE_3, SECTION = "Yang et al. 2025, Table 3", "Yang et al. 2025, section 4.1"
COPIES, FAILS = 0.99, 0.4  # the paper's 1.00; its .3 and .246 with room for their spread


def _right(
    text: str,
    where: Where,
    paper: str,
    source: str,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Claim:
    return level(text, HARD, where, at_least=at_least, at_most=at_most, paper=paper, source=source)


def _reaches(factors: dict[str, Any], bound: float, source: str, paper: str) -> Claim:
    text = f"{name_of(factors)} is right on {paper} of them, or more"
    return _right(text, factors | FEW, paper, source, at_least=bound)


def _better(loss: dict[str, Any], source: str, paper: str) -> list[Claim]:
    """A loss with warm-up against cross-entropy without and with it."""
    return [
        greater(
            f"{name_of(loss)} with warm-up is better than {name_of(control)}",
            HARD,
            loss | WARM | FEW,
            control | FEW,
            paper=paper.format(said),
            source=source,
        )
        for control, said in ((CE | COLD, "about 0.3"), (CE | WARM, "0.246"))
    ]


_CROSS_ENTROPY = [
    level(
        "Cross-entropy fits the hard training strings",
        "train_hard_accuracy",
        CE | COLD | FEW,
        at_least=0.99,
        paper="1.00",
        source=FIGURE_4,
    ),
    _right(
        "Cross-entropy does not copy unseen hard strings",
        CE | COLD | FEW,
        "about 0.3 (said of easy strings)",
        FIGURE_4,
        at_most=FAILS,
    ),
    _right("Nor does it with warm-up", CE | WARM | FEW, "0.246", TABLE_3, at_most=FAILS),
]
_GAINS = greater(
    "E1 λ=4 gains from warm-up",
    HARD,
    E1_4 | WARM | FEW,
    E1_4 | COLD | FEW,
    paper="0.780 against 0.593",
    source=TABLE_3,
)


def _many_letters(than: dict[str, Any], text: str, source: str, paper: str) -> Claim:
    at = WARM | MANY
    return greater(text, HARD, E1_1 | at, than | at, paper=paper, source=source)


_TABLE_3 = [
    _reaches(E1_4 | COLD, 0.593, TABLE_3, "0.593"),
    _reaches(E1_4 | WARM, 0.78, TABLE_3, "0.780"),
]
_FIGURE_4 = [
    _reaches(E2_10 | WARM, COPIES, FIGURE_4, "1.00"),
    *_better(E1_4, TABLE_3, "0.780 against {}"),
    *_better(E2_10, FIGURE_4, "1.00 against {}"),
]
_ALL = [
    *_CROSS_ENTROPY,
    _right(
        "E1 λ=2 without warm-up does not copy them",
        E1_2 | COLD | FEW,
        "0.08",
        TABLE_3,
        at_most=FAILS,
    ),
    *_TABLE_3,
    _reaches(E1_8 | WARM, 0.693, TABLE_3, "0.693"),
    *_FIGURE_4,
    *_better(E3, FIGURE_5, "high, no number"),
    _GAINS,
    *(
        level(
            f"With 500 letters E1 λ=1 with warm-up copies all {what}",
            metric,
            E1_1 | WARM | MANY,
            at_least=COPIES,
            paper="1.00",
            source=TABLE_3,
        )
        for metric, what in ((HARD, "letters"), (EXACT, "answers of five letters"))
    ),
    _many_letters(
        CE,
        "It is better there than cross-entropy with warm-up",
        TABLE_3,
        "1.00, no number for cross-entropy",
    ),
    _many_letters(
        E3, "It is better there than E3, whose sum over V grows with it", SECTION, "said, no number"
    ),
]
CLAIMS = {"cpu": _ALL, "paper": _ALL}
