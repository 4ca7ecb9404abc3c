"""Claims of Yang et al. (2025), Table 2, and open questions: loss or warm-up, copy or style.

The paper compares E1 with warm-up to cross-entropy without, by one number per text. With this
vocabulary E1 has two equilibrium margins at λ = 1 and one at λ = .5; judged on hard sentences.
"""

from typing import Any

from experiments.el_text_copy.run import LAM, NUM_TRAIN, ONE_EQUILIBRIUM, WARM_UP
from experiments.harness.claims import greater
from experiments.harness.judging import Claim

ALL, EASY, HARD = "test_exact_match", "test_easy_exact_match", "test_hard_exact_match"
SOURCE = "Yang et al. 2025, Table 2"
TABLE_2 = {"king_james": (0.863, 0.981), "shakespeare": (0.703, 0.766)}
CE: dict[str, Any] = {"loss": "cross_entropy"}
E1, E1_ONE = {"loss": "e1", "lam": LAM}, {"loss": "e1", "lam": ONE_EQUILIBRIUM}


def title(source: str) -> str:
    """The text's name in words, ``King James`` of ``king_james``."""
    return source.replace("_", " ").title()


def _on(source: str, scale: str) -> list[Claim]:
    paper_ce, paper_e1 = TABLE_2[source]
    few = {"source": source, "num_train": NUM_TRAIN[scale], "label": None}
    cold, warm = {"warmup_steps": 0}, {"warmup_steps": WARM_UP[scale]}
    text = title(source)
    of_paper = greater(
        f"{text}: E1 with warm-up gives more labels than cross-entropy",
        ALL,
        E1 | warm | few,
        CE | cold | few,
        paper=f"{paper_e1:.3f} against {paper_ce:.3f}",
        source=SOURCE,
    )
    if scale == "pretrained":
        return [of_paper]
    return [
        of_paper,
        greater(
            f"{text}: with warm-up, E1 at λ = .5 gives more of hard sentences' labels than at 1",
            HARD,
            E1_ONE | warm | few,
            E1 | warm | few,
        ),
        greater(
            f"{text}: with warm-up, E1 at λ = .5 gives more of them than cross-entropy",
            HARD,
            E1_ONE | warm | few,
            CE | warm | few,
        ),
    ]


LOOKS = {"cpu": 2}  # at the first look, with fewer data sets, all six were undecided

CLAIMS = {scale: [claim for source in TABLE_2 for claim in _on(source, scale)] for scale in WARM_UP}
