"""Names of the trained settings and of their numbers."""

WORLDS = {"pcfg": "PCFG", "hmm": "HMM"}
ADAMW, SGD, SLOW = "AdamW", "SGD", "SGD at a fifth of the rate"
AFTERWARDS = (ADAMW, SGD, SLOW)  # once the loss is saturated
# the labels of each world: the symbol above the first words, the state at a word
SHORT = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_3", "state_5")}  # sentences of 8
LONG = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_6", "state_10")}  # the paper's
LABELS = {"smoke": SHORT, "cpu": SHORT, "paper": LONG}

KL = "kl"
ACCURACIES = ("accuracy_1", "accuracy_2")  # of the two labels
TRACES = ("fisher_trace", "scale_free_trace")
WATCHED = (KL, *ACCURACIES, *TRACES, "hessian_trace", "weight_norm")
RATES = ("majority", "bayes")
KL_AT_SATURATION, KL_MOVED, SATURATED_STEP = "kl_at_saturation", "kl_moved", "saturated_step"


def named(world: str, afterwards: str) -> str:
    """The name of a setting."""
    return f"cross-entropy, warm-up{suffix_of(world, afterwards)}"


def suffix_of(world: str, afterwards: str) -> str:
    """The end of the name of a setting."""
    return f", {WORLDS[world]}, {afterwards}"


def since(metric: str) -> str:
    """The name of the change of a number after saturation; of a trace, of its logarithm."""
    return f"{metric}_since_saturation"
