"""Claims of Li et al. (2024) on gradient descent, and two on sign descent, which they leave open.

Bounds were set after a look at problems 0 to 3; problems 100 to 119, which are judged, had not been
run.
"""

from experiments.harness.claims import level

SOURCE = "Li et al. 2024"
GD, NGD, SIGN = ({"optimizer": name} for name in ("gd", "ngd", "sign"))

CLAIMS = [
    level(
        "Gradient descent turns to the graph SVM (cosine of the part across the cyclic subspace)",
        "cosine_frobenius",
        GD,
        at_least=0.98,
        paper="tends to 1",
        source=SOURCE,
    ),
    level(
        "So does normalised gradient descent (cosine)",
        "cosine_frobenius",
        NGD,
        at_least=0.98,
        paper="tends to 1",
        source=SOURCE,
    ),
    level(
        "In the cyclic subspace gradient descent tends to the finite limit (distance)",
        "finite_error",
        GD,
        at_most=0.01,
        paper="tends to 0",
        source=SOURCE,
    ),
    level(
        "In unseen contexts it attends to the component that comes first, by the order alone",
        "retrieved",
        GD,
        at_least=0.9,
        paper="hard retrieval: tends to 1",
        source=SOURCE,
    ),
    level(
        "Sign descent has more of the largest margin in the max norm than in the Frobenius norm",
        "lead",
        SIGN,
        at_least=0.0,
    ),
    level(
        "Normalised gradient descent has more of it in the Frobenius norm than in the max norm",
        "lead",
        NGD,
        at_least=0.0,
    ),
]
