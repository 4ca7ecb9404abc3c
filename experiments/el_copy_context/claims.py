"""Claims of Yang et al. (2025) on what in the data leads to the shortcut.

Those on the context are read off Figure 1a, accuracy at the end of training. Section 3.2 names the
length of the padding and the share of easy strings as further factors, without numbers. Figure 2,
the training loss along the way, is measured in curves.csv; no claim is judged on it.
"""

import math
from collections.abc import Callable
from typing import Any

from experiments.el_copy_context.run import BASE, PADDINGS, SHARES, STRINGS_PER_WINDOW, TOKENS
from experiments.harness.claims import contrast, level, trend
from experiments.harness.judging import Claim

HARD = "test_precise_hard_accuracy"
CE = {"loss": "cross_entropy", "warmup_steps": 0}
CE_WARM_UP = {"loss": "cross_entropy", "warmup_steps": 1000}
E2_WARM_UP = {"loss": "e2", "lam": 4.0, "warmup_steps": 1000}
LOSSES = (CE, CE_WARM_UP, E2_WARM_UP)
FIGURE, SECTION = "Yang et al. 2025, Figure 1a", "Yang et al. 2025, section 3.2"
ALIKE = 0.1  # a difference of accuracies that counts as none


def along(loss: dict[str, Any], factor: str) -> dict[str, Any]:
    """The runs with a loss that differ from ``BASE`` in one factor alone."""
    return {key: value for key, value in (loss | BASE).items() if key != factor}


def _context(packed: tuple[int, ...]) -> list[Claim]:
    lengths = ", ".join(str(TOKENS * strings) for strings in packed)
    return [
        trend(
            "Cross-entropy: accuracy on unseen hard strings falls as the context grows "
            f"({lengths} tokens; slope per doubling)",
            HARD,
            along(CE, "strings_per_window"),
            "strings_per_window",
            rising=False,
            position=math.log2,
            paper="falls, values only drawn",
            source=FIGURE,
        ),
        level(
            f"It fits the hard training strings in the longest ({TOKENS * packed[-1]} tokens)",
            "train_hard_accuracy",
            CE | BASE | {"strings_per_window": packed[-1]},
            at_least=0.99,
            paper="1.00",
            source=FIGURE,
        ),
    ]


def _all_tokens(text: str, sign: int) -> Claim:
    terms = [(sign, CE | BASE | {"supervise": "all"}), (-sign, CE | BASE)]
    source = "Yang et al. 2025, footnote 1"
    return contrast(text, HARD, terms, by=-ALIKE, paper="no difference", source=source)


def _falls(factor: str, text: str, position: Callable[[float], float]) -> Claim:
    return trend(
        f"Cross-entropy: it falls as the {text}",
        HARD,
        along(CE, factor),
        factor,
        rising=False,
        position=position,
        paper="a factor, no number",
        source=SECTION,
    )


_PADDING = (
    f"padding grows ({', '.join(map(str, PADDINGS))} letters to one that must be copied; "
    "slope per doubling)"
)
_EASY = (
    f"share of easy strings grows ({', '.join(f'{share:g}' for share in SHARES)}; "
    "slope from none to all)"
)
_OTHER_FACTORS = [
    _falls("padding_length", _PADDING, math.log2),
    _falls("easy_fraction", _EASY, float),
]

CLAIMS = {
    scale: [
        *_context(packed),
        _all_tokens(f"A loss on all tokens costs less than {ALIKE}", 1),
        _all_tokens(f"... and gains less than {ALIKE}", -1),
        *(_OTHER_FACTORS if scale == "cpu" else []),
    ]
    for scale, packed in STRINGS_PER_WINDOW.items()
}
