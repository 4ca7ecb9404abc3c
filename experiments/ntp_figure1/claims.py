"""Claims that Thrampoulidis (2024) reads off Figures 1 and 2, on random data of their supports."""

from collections.abc import Iterator
from functools import partial

from experiments.harness.claims import level
from experiments.harness.judging import Claim
from experiments.ntp_figure1.run import CIRCLE, GAUSSIAN

MOST = 0.9  # of the problems: what "the word vectors do so" must mean on random data
_figure = partial(level, source="Thrampoulidis 2024, Figures 1 and 2")
_drawn = partial(_figure, at_least=MOST, paper="so in the one problem drawn")
_theorem = partial(level, source="Thrampoulidis 2024, Theorem 2")


def _claims(kind: str, name: str) -> Iterator[Claim]:
    where = {"problem": kind}
    yield _drawn(
        f"Words 1 and 5, with equal supports, coincide in W_mm and not in W* ({name}; "
        "share of problems)",
        "twins_coincide",
        where,
    )
    text = f"Word 3 is aligned with the only context it follows ({name}; cosine)"
    yield _figure(text, "lone_word_cosine", where, at_least=0.95, paper="nearly aligned")
    yield _drawn(
        "Every other word vector of W_mm lies in the cone of its two contexts "
        f"({name}; share of problems)",
        "words_in_cone",
        where,
    )
    text = f"The wider its cone, the longer a word vector ({name}; share of pairs of cones)"
    yield _drawn(text, "wider_is_longer", where)
    yield _drawn(
        "The wider its cone, the longer a word vector that shares its cone with no other "
        f"({name}; share of problems)",
        "wider_is_longer_untwinned",
        where,
    )
    text = f"W* and W_mm are orthogonal ({name}; cosine)"
    yield _figure(text, "inner_product", where, at_most=1e-8, paper="0")
    text = f"Gradient descent turns towards W_mm ({name}; cosine at the end)"
    yield _theorem(text, "gd_cosine", where, at_least=0.95, paper="tends to 1")
    text = f"... and still does over the last decade of steps ({name}; ratio of 1 - cos)"
    yield _theorem(text, "gd_angle_over_decade", where, at_most=0.99, paper="below 1")
    yield _theorem(
        f"P_F W of gradient descent approaches W* ({name}; ratio of distances over the last "
        "decade of steps, 0.1 when as 1/k)",
        "gd_error_over_decade",
        where,
        at_most=0.2,
        paper="tends to 0",
    )


CLAIMS = [*_claims(CIRCLE, "unit embeddings"), *_claims(GAUSSIAN, "Gaussian embeddings")]
