"""Claims of Yang et al. (2025) on what in the data leads to the shortcut.

Those on the context are read off Figure 1a, accuracy at the end of training. Section 3.2 names the
length of the padding and the share of easy strings as further factors, without numbers. Figure 2,
the training loss along the way, is measured in curves.csv; no claim is judged on it.
"""

import math

import pandas as pd

from experiments.el_copy_context.settings import (
    BASE,
    CE,
    CE_WARM_UP,
    CONTEXT,
    CONTEXTS,
    E2_WARM_UP,
    EASY,
    HARD,
    LOSSES,
    PADDING,
    VALUES,
    measured,
    named,
)
from experiments.harness.claims import (
    Claim,
    claim_contrast,
    claim_greater,
    claim_level,
    claim_trend,
)
from experiments.harness.tables import settings_with

SOURCE, SECTION = "Yang et al. 2025, Figure 1a", "Yang et al. 2025, section 3.2"
FOOTNOTE, OURS = "Yang et al. 2025, footnote 1", "not in the paper"
ALIKE = 0.1  # a difference of accuracies that counts as none
COPIES = 0.9


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; contexts that were not run are left out of the trends."""
    known = settings_with(results, HARD)
    found = [
        *(_context(results, known, loss) for loss in LOSSES),
        *_longest(results, max(measured(known, CE, CONTEXT), default=CONTEXTS[-1])),
        *_all_tokens(results),
    ]
    if named(CE, EASY, 0) not in known:
        return found
    return [
        *found,
        *(_padding(results, loss) for loss in LOSSES[:2]),
        *(_easy_strings(results, loss) for loss in LOSSES[:2]),
        claim_level(
            results, named(CE, EASY, 0), HARD, at_least=COPIES,
            text="Without easy strings cross-entropy copies, and without warm-up",
            source=SECTION, paper_value="no shortcut to learn",
        ),
    ]  # fmt: skip


def _context(results: pd.DataFrame, known: set[str], loss: str) -> Claim:
    settings = measured(known, loss, CONTEXT)
    if len(settings) < 2:
        settings = {value: named(loss, CONTEXT, value) for value in CONTEXTS}
    return claim_trend(
        results, HARD, list(settings.values()), rising=False,
        positions=[math.log2(value) for value in settings],
        text=f"{loss}: accuracy on unseen hard strings falls as the context grows "
        f"({', '.join(f'{value:g}' for value in settings)} tokens; slope per doubling)",
        source=SOURCE if loss == CE else OURS,
        paper_value="falls, values only drawn" if loss == CE else "",
    )  # fmt: skip


def _padding(results: pd.DataFrame, loss: str) -> Claim:
    lengths = VALUES[PADDING]
    return claim_trend(
        results, HARD, [named(loss, PADDING, length) for length in lengths], rising=False,
        positions=[math.log2(length) for length in lengths],
        text=f"{loss}: it falls as the padding grows "
        f"({', '.join(map(str, lengths))} letters to one that must be copied; slope per doubling)",
        source=SECTION, paper_value="a factor, no number",
    )  # fmt: skip


def _easy_strings(results: pd.DataFrame, loss: str) -> Claim:
    shares = VALUES[EASY]
    return claim_trend(
        results, HARD, [named(loss, EASY, share) for share in shares], rising=False,
        positions=shares,
        text=f"{loss}: it falls as the share of easy strings grows "
        f"({', '.join(f'{share:g}' for share in shares)}; slope from none to all)",
        source=SECTION, paper_value="a factor, no number",
    )  # fmt: skip


def _longest(results: pd.DataFrame, context: float) -> list[Claim]:
    where = f"({context:g} tokens)"
    plain, warmed, e2 = (named(loss, CONTEXT, context) for loss in (CE, CE_WARM_UP, E2_WARM_UP))
    return [
        claim_level(
            results, plain, "test_precise_easy_accuracy", at_least=0.99,
            text=f"Cross-entropy answers unseen easy strings in the longest context {where}",
            source=SOURCE, paper_value="1.00",
        ),
        claim_level(
            results, plain, "train_hard_accuracy", at_least=0.99,
            text=f"It fits the hard training strings there {where}",
            source=SOURCE, paper_value="1.00",
        ),
        claim_greater(
            results, HARD, warmed, plain,
            text=f"Warm-up helps it there {where}", source=OURS, paper_value="",
        ),
        claim_greater(
            results, HARD, e2, warmed,
            text=f"E2 adds to warm-up there {where}", source=OURS, paper_value="",
        ),
    ]  # fmt: skip


def _all_tokens(results: pd.DataFrame) -> list[Claim]:
    answer = named(CE, CONTEXT, BASE[CONTEXT])
    everywhere = answer.replace(CE, f"{CE}, all tokens")
    return [
        claim_contrast(
            results, HARD, weights, by=-ALIKE, text=text,
            source=FOOTNOTE, paper_value="no difference",
        )
        for text, weights in (
            (f"A loss on all tokens costs less than {ALIKE}", {everywhere: 1.0, answer: -1.0}),
            (f"... and gains less than {ALIKE}", {everywhere: -1.0, answer: 1.0}),
        )
    ]  # fmt: skip
