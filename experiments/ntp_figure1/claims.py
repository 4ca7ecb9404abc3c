"""Claims that Thrampoulidis (2024) reads off Figures 1 and 2, on random data of their supports."""

import pandas as pd

from experiments.harness.claims import Claim, claim_level

SOURCE = "Thrampoulidis 2024, Figures 1 and 2"
THEOREM = "Thrampoulidis 2024, Theorem 2"
EMBEDDINGS = {"circle": "unit embeddings", "Gaussian": "Gaussian embeddings"}
MOST = 0.9  # of the problems: what "the word vectors do so" must mean on random data


def claims(results: pd.DataFrame) -> list[Claim]:
    """The geometric claims for both kinds of random embeddings, then those on descent."""
    return [
        claim
        for setting, name in EMBEDDINGS.items()
        for claim in (*_geometry(results, setting, name), *_descent(results, setting, name))
    ]


def _geometry(results: pd.DataFrame, setting: str, name: str) -> list[Claim]:
    return [
        claim_level(
            results, setting, "twins_coincide", at_least=MOST,
            text=f"Words 1 and 5, with equal supports, coincide in W_mm and not in W* ({name}; "
            "share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_level(
            results, setting, "lone_word_cosine", at_least=0.95,
            text=f"Word 3 is aligned with the only context it follows ({name}; cosine)",
            source=SOURCE, paper_value="nearly aligned",
        ),
        claim_level(
            results, setting, "words_in_cone", at_least=MOST,
            text="Every other word vector of W_mm lies in the cone of its two contexts "
            f"({name}; share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_level(
            results, setting, "wider_is_longer", at_least=MOST,
            text=f"The wider its cone, the longer a word vector ({name}; share of pairs of cones)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_level(
            results, setting, "wider_is_longer_untwinned", at_least=MOST,
            text="The wider its cone, the longer a word vector that shares its cone with no other "
            f"({name}; share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_level(
            results, setting, "inner_product", at_most=1e-8,
            text=f"W* and W_mm are orthogonal ({name}; cosine)",
            source=SOURCE, paper_value="0",
        ),
    ]  # fmt: skip


def _descent(results: pd.DataFrame, setting: str, name: str) -> list[Claim]:
    return [
        claim_level(
            results, setting, "gd_cosine", at_least=0.95,
            text=f"Gradient descent turns towards W_mm ({name}; cosine at the end)",
            source=THEOREM, paper_value="tends to 1",
        ),
        claim_level(
            results, setting, "gd_angle_over_decade", at_most=0.99,
            text=f"... and still does over the last decade of steps ({name}; ratio of 1 - cos)",
            source=THEOREM, paper_value="below 1",
        ),
        claim_level(
            results, setting, "gd_error_over_decade", at_most=0.2,
            text="P_F W of gradient descent approaches W* "
            f"({name}; ratio of distances over the last decade of steps, 0.1 when as 1/k)",
            source=THEOREM, paper_value="tends to 0",
        ),
    ]  # fmt: skip
