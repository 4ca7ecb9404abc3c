"""Claims of Zhao et al. (2024) on free embeddings, and one on descent, which they leave open.

Bounds were set after a look at problem 100; problems 200 to 209, which are judged, had not been
run.
"""

from experiments.harness.claims import level
from experiments.ntp_embeddings.run import RIDGES

SOURCE, OPEN = "Zhao et al. 2024", "open there"
LAST = f"10^-{RIDGES['cpu']}"
RIDGE, DESCENT = {"path": "ridge"}, {"path": "descent"}
EVERY: dict[str, object] = {"path": None}

CLAIMS = [
    level(
        f"At λ = {LAST} logits have nearly the direction of the nuclear max margin (cosine)",
        "cosine_nuclear",
        RIDGE,
        at_least=0.99,
        paper="tends to 1",
        source=SOURCE,
    ),
    level(
        "They are nearer to it than to the Frobenius max margin, the centred support matrix "
        "(difference of cosines)",
        "lead",
        RIDGE,
        at_least=0.0,
        paper="the latter is a proxy",
        source=SOURCE,
    ),
    level(
        "Their part in F has the log probabilities (relative distance)",
        "finite_error",
        RIDGE,
        at_most=0.01,
        paper="tends to 0",
        source=SOURCE,
    ),
    level(
        "Contexts of one support have nearly the same embedding, whatever their probabilities "
        "(cosine)",
        "collapse",
        RIDGE,
        at_least=0.95,
        paper="tends to 1: subspace collapse",
        source=SOURCE,
    ),
    level(
        "The centred support matrix is a good proxy of the nuclear max margin (cosine)",
        "proxy",
        EVERY,
        at_least=0.95,
        paper="a proxy, no number",
        source=SOURCE,
    ),
    level(
        "Without a ridge, descent from a small start is nearer to the nuclear than to the "
        "Frobenius max margin (difference of cosines)",
        "lead",
        DESCENT,
        at_least=0.0,
        paper="no number",
        source=OPEN,
    ),
]
