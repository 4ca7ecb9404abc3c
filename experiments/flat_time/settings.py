"""Names of the trained settings and of their numbers."""

WORLDS = {"pcfg": "PCFG", "hmm": "HMM"}
OPTIMIZERS = {"adamw": "AdamW", "sgd": "SGD"}
# the labels of each world: the symbol above the first words, the state at a word
SHORT = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_3", "state_5")}  # sentences of 8
LONG = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_6", "state_10")}  # the paper's
LABELS = {"smoke": SHORT, "cpu": SHORT, "paper": LONG}

KL = "kl"
ACCURACIES = ("accuracy_1", "accuracy_2")  # of the two labels
TRACES = ("fisher_trace", "hessian_trace", "scale_free_trace")
WATCHED = (KL, *ACCURACIES, *TRACES, "weight_norm")
RATES = ("majority", "bayes")
# nats above the last KL within which a training counts as converged, in all looks from then on
TOLERANCES = {"": 0.01, "strictly": 0.001}


def named(world: str, optimizer: str) -> str:
    """The name of a setting."""
    return f"cross-entropy, warm-up{suffix_of(world, optimizer)}"


def suffix_of(world: str, optimizer: str) -> str:
    """The end of the name of a setting."""
    return f", {WORLDS[world]}, {OPTIMIZERS[optimizer]}"


def since(metric: str, tolerance: str = "") -> str:
    """The name of the change of a number from convergence to the end."""
    return "_".join(filter(None, (metric, "since", tolerance, "converged")))


def converged_step(tolerance: str = "") -> str:
    """The name of the update from which a training counts as converged."""
    return "_".join(filter(None, (tolerance, "converged_step")))
