"""Claims that Thrampoulidis (2024) reads off Figures 1 and 2, on random data of their supports."""

from functools import partial

from experiments.harness.claims import level
from experiments.ntp_figure1.run import CIRCLE

WHERE = {"problem": CIRCLE}  # unit embeddings, as the paper draws them
MOST = 0.9  # share of problems required for "the word vectors do so" on random data
LOOKS = {"cpu": 2}  # at the first look, with 20 problems, one of six was undecided
_figure = partial(level, source="Thrampoulidis 2024, Figures 1 and 2")
_drawn = partial(_figure, at_least=MOST, paper="so in the one problem drawn")
_theorem = partial(level, source="Thrampoulidis 2024, Theorem 2")


CLAIMS = [
    _drawn(
        "Words 1 and 5, with equal supports, coincide in W_mm and not in W* (share of problems)",
        "twins_coincide",
        WHERE,
    ),
    _figure(
        "Word 3 is aligned with the only context it follows (cosine)",
        "lone_word_cosine",
        WHERE,
        at_least=0.95,
        paper="nearly aligned",
    ),
    _drawn(
        "Every other word vector of W_mm lies in the cone of its two contexts (share of problems)",
        "words_in_cone",
        WHERE,
    ),
    _drawn(
        "The wider its cone, the longer a word vector (share of pairs of cones)",
        "wider_is_longer",
        WHERE,
    ),
    _theorem(
        "Gradient descent turns towards W_mm (cosine at the end)",
        "gd_cosine",
        WHERE,
        at_least=0.95,
        paper="tends to 1",
    ),
    _theorem(
        "P_F W of gradient descent approaches W* (ratio of distances over the last decade of "
        "steps, 0.1 when as 1/k)",
        "gd_error_over_decade",
        WHERE,
        at_most=0.2,
        paper="tends to 0",
    ),
]
