"""Claims of Yang et al. (2025) on the properties of the data that lead to the shortcut.

The claims on context are read off Figure 1a, accuracy at the end of training. Section 3.2 names the
length of the padding and the share of easy strings as further factors, without numbers.
"""

import math
from collections.abc import Callable
from typing import Any

from experiments.el_copy_context.run import BASE, LEVELS, TOKENS
from experiments.harness.claims import contrast, number, trend
from experiments.harness.judging import Claim

HARD, FITTED, COPIES = "test_precise_hard_accuracy", "train_hard_accuracy", "swap_copies"
FIGURE, SECTION = "Yang et al. 2025, Figure 1a", "Yang et al. 2025, section 3.2"
ALIKE = 0.1  # a difference of accuracies that counts as none
CE, E1 = {"method": "cross-entropy"}, {"method": "E1"}
PACKED = LEVELS["strings_per_window"]


def along(method: dict[str, Any], factor: str) -> dict[str, Any]:
    """The runs of a method that differ from ``BASE`` in only one factor."""
    return {key: value for key, value in (method | BASE).items() if key != factor}


def _all_tokens(text: str, sign: int) -> Claim:
    terms = [(sign, CE | BASE | {"supervise": "all"}), (-sign, CE | BASE)]
    source = "Yang et al. 2025, footnote 1"
    return contrast(text, HARD, terms, by=-ALIKE, paper="no difference", source=source)


def _falls(
    factor: str, text: str, position: Callable[[float], float], paper: str, source: str
) -> Claim:
    return trend(
        f"Cross-entropy: accuracy on unseen hard strings falls as the {text}",
        HARD,
        along(CE, factor),
        factor,
        rising=False,
        position=position,
        paper=paper,
        source=source,
    )


def _per_doubling(factor: str) -> str:
    return f"({', '.join(f'{value:g}' for value in LEVELS[factor])}; slope per doubling)"


_LONGEST = {"strings_per_window": PACKED[-1]}
_CONTEXT = f"context grows ({', '.join(f'{TOKENS * n:g}' for n in PACKED)} tokens; per doubling)"
_PADDING = f"padding grows {_per_doubling('padding_length')}"
_EASY = "share of easy strings grows (0 to .9; slope from none to all)"

CLAIMS = {
    "cpu": [
        _falls(
            "strings_per_window",
            _CONTEXT,
            math.log2,
            paper="falls, values only drawn",
            source=FIGURE,
        ),
        number(
            f"Every run fits the hard training strings in the longest ({TOKENS * PACKED[-1]:g} "
            "tokens)",
            FITTED,
            CE | BASE | _LONGEST,
            at_least=0.99,
            paper="1.00",
            source=FIGURE,
        ),
        contrast(
            "With two, four and eight strings a window E1 copies more than cross-entropy",
            COPIES,
            [
                (sign, method | BASE | {"strings_per_window": PACKED[1:]})
                for sign, method in ((1, E1), (-1, CE))
            ],
        ),
        _falls("padding_length", _PADDING, math.log2, paper="a factor, no number", source=SECTION),
        _falls("easy_fraction", _EASY, float, paper="a factor, no number", source=SECTION),
        _all_tokens(f"A loss on all tokens costs less than {ALIKE}", 1),
        _all_tokens(f"... and gains less than {ALIKE}", -1),
    ]
}
