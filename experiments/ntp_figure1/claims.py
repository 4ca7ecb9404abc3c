"""Claims that Thrampoulidis (2024) reads off Figures 1 and 2, on random data of their supports."""

from el_jax.plots.tables import SeedTable
from experiments.claims import Claim, claim_at_least, claim_at_most

SOURCE = "Thrampoulidis 2024, Figures 1 and 2"
THEOREM = "Thrampoulidis 2024, Theorem 2"
EMBEDDINGS = {"circle": "unit embeddings", "Gaussian": "Gaussian embeddings"}
MOST = 0.9  # of the problems: what "the word vectors do so" must mean on random data


def claims(results: SeedTable) -> list[Claim]:
    """The geometric claims for both kinds of random embeddings, then those on descent."""
    return [
        claim
        for setting, name in EMBEDDINGS.items()
        for claim in (*_geometry(results, setting, name), *_descent(results, setting, name))
    ]


def _geometry(results: SeedTable, setting: str, name: str) -> list[Claim]:
    return [
        claim_at_least(
            results, setting, "twins_coincide", MOST,
            text=f"Words 1 and 5, with equal supports, coincide in W_mm and not in W* ({name}; "
            "share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_at_least(
            results, setting, "lone_word_cosine", 0.95,
            text=f"Word 3 is aligned with the only context it follows ({name}; cosine)",
            source=SOURCE, paper_value="nearly aligned",
        ),
        claim_at_least(
            results, setting, "words_in_cone", MOST,
            text="Every other word vector of W_mm lies in the cone of its two contexts "
            f"({name}; share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_at_least(
            results, setting, "wider_is_longer", MOST,
            text=f"The wider its cone, the longer a word vector ({name}; share of pairs of cones)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_at_least(
            results, setting, "wider_is_longer_untwinned", MOST,
            text="The wider its cone, the longer a word vector that shares its cone with no other "
            f"({name}; share of problems)",
            source=SOURCE, paper_value="so in the one problem drawn",
        ),
        claim_at_most(
            results, setting, "inner_product", 1e-8,
            text=f"W* and W_mm are orthogonal ({name}; cosine)",
            source=SOURCE, paper_value="0",
        ),
    ]  # fmt: skip


def _descent(results: SeedTable, setting: str, name: str) -> list[Claim]:
    return [
        claim_at_least(
            results, setting, "gd_cosine", 0.95,
            text=f"Gradient descent turns towards W_mm ({name}; cosine at the end)",
            source=THEOREM, paper_value="tends to 1",
        ),
        claim_at_most(
            results, setting, "gd_angle_over_decade", 0.99,
            text=f"... and still does over the last decade of steps ({name}; ratio of 1 - cos)",
            source=THEOREM, paper_value="below 1",
        ),
        claim_at_most(
            results, setting, "gd_error_over_decade", 0.2,
            text="P_F W of gradient descent approaches W* "
            f"({name}; ratio of distances over the last decade of steps, 0.1 when as 1/k)",
            source=THEOREM, paper_value="tends to 0",
        ),
    ]  # fmt: skip
