"""Names of the trained settings, and of what is measured of a star that was learnt by heart."""

TINY, WIDE, SLOW = "tiny star", "wide star", "wide star, slow"
SIZES = {TINY: (4, 5), WIDE: (64, 4), SLOW: (64, 4)}  # arms; nodes of an arm
RATES = {TINY: 0.01, WIDE: 0.01, SLOW: 0.003}

CE = "cross-entropy"
# E2's λ acts as λ / V on each squared margin, and V is 20 on the tiny star and 196 on the wide one
E_LOSSES = {
    TINY: ("E1 λ=1", "E2 λ=2", "E3 b=1"),
    WIDE: ("E1 λ=1", "E2 λ=20", "E3 b=1"),
    SLOW: ("E1 λ=1", "E2 λ=20", "E3 b=1"),
}
NONE, WARM = "", ", warm-up"
# all under cross-entropy with warm-up
FROZEN = "frozen table"  # the embeddings stay as they were drawn
UNTOLD = "edges untold"  # those of held-out arms are left out of the training
CONTROLS = {TINY: (FROZEN,), WIDE: (FROZEN, UNTOLD), SLOW: ()}

RECALLED = "edges_recalled"  # share of edges whose answer is among the largest logits
EDGE_CE = "train_edge_ce"  # nats
EDGE_ACCURACY = "train_edge_accuracy"
SPECTRAL = "spectral_share"
SAME_ARM = "same_arm_cosine"
NEIGHBOURS = "neighbour_cosine"
HELD_OUT = "test_exact_match"  # of the paths of held-out arms
GEOMETRY = {
    SPECTRAL: "share of the table in the graph's slowest eigenvectors",
    SAME_ARM: "cosine of two nodes of an arm that are no neighbours, less that of two arms",
}


def named(star: str, loss: str, warm: str = NONE) -> str:
    """The name of a loss without or with warm-up on a star."""
    if star == TINY:
        return f"{loss}{warm}, {star}"
    return f"{loss} η={RATES[star]:g}{warm}, {WIDE}"


def control(star: str, name: str) -> str:
    """The name of a control on a star."""
    return f"{CE}{WARM}, {name}, {star}"


def spectral_chance(star: str) -> float:
    """The mean share of a table whose rows are given to the nodes at random, (d - 1) / (n - 1)."""
    degree, length = SIZES[star]
    return (degree - 1) / (degree * (length - 1))


def path_chance(star: str) -> float:
    """Exact match of a model that looks edges up and guesses the branch, 1/d."""
    return 1 / SIZES[star][0]
