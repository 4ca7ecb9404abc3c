"""Names of the settings: a loss, and the size B of the shortcut."""

CE, E1, E2, E3 = "cross-entropy", "E1 λ=0.5", "E2 λ=0.4", "E3 b=1"
LOSSES = {  # name -> loss of el_jax.losses and its numbers
    CE: ("cross_entropy", {}),
    E1: ("e1", {"lam": 0.5}),  # at two classes marg-log, log(1 + exp(-m)) + λ log(1 + m²)
    E2: ("e2", {"lam": 0.4}),  # at two classes spectral decoupling, ... + (λ/4) m²
    E3: ("e3", {"b": 1.0}),
}
SIZES = (2, 5, 10, 20, 50)  # B
BASE = 10  # of the published experiment

WORST_GROUP, RATIO = "worst_group_accuracy", "shortcut_ratio"
TRAINED, SPREAD = "train_accuracy", "margin_spread"


def named(loss: str, size: int) -> str:
    """The name of a setting."""
    return f"{loss}, B={size}"
