"""Names of the trained settings and of their numbers."""

WORLDS = {"pcfg": "PCFG", "hmm": "HMM"}
WEIGHTS = (0.0, 0.01, 0.03)  # λ, nats; 0 is ordinary pre-training
# of which claims are made: the largest that cost less than EQUAL on a world of another seed
CHOSEN = {"pcfg": 0.01, "hmm": 0.03}
KL = "kl"
ATTACKED, OTHER = ACCURACIES = ("accuracy_1", "accuracy_2")  # of the attacked label, and another
LOOKUP = "lookup"  # end of the name of the accuracy on the true conditionals
TRACES = {"fisher_trace": "Fisher trace", "scale_free_trace": "scale-free trace"}
EQUAL = 0.01  # nats of KL within which losses count as equal, as those of Table 1 are


def named(world: str, weight: float) -> str:
    """The name of a setting."""
    return f"cross-entropy, warm-up{suffix_of(world, weight)}"


def suffix_of(world: str, weight: float) -> str:
    """The end of the name of a setting."""
    return f", {WORLDS[world]}, λ={weight:g}"
