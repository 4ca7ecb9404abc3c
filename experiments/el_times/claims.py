"""Claims on b, where the time to learn a fact of probability π is ~ π^-b.

b = 1: a fact is learnt once it has been seen often enough; b = 0: all are learnt at the same time.
"""

from functools import partial

from experiments.el_times.run import OPTIMIZERS
from experiments.harness.claims import greater

TIMES = "exponent"
SPECTRAL = "Vasudeva et al. 2025 (arXiv 2510.22980)"
YANG = "Yang et al. 2025, section 3"


def at(optimizer: str, loss: str = "cross_entropy") -> dict[str, object]:
    """The runs of an optimizer at its rate."""
    return {"optimizer": optimizer, "loss": loss, "peak_lr": OPTIMIZERS[optimizer].rate}


_greater = partial(greater, metric=TIMES, matters=0.05)
CLAIMS = [
    _greater(
        "Muon learns facts more evenly than AdamW: its b is smaller",
        where=at("AdamW"),
        than=at("Muon"),
        paper="more equal rates",
        source=SPECTRAL,
    ),
    _greater(
        "AdamW's b is smaller than SGD's",
        where=at("SGD"),
        than=at("AdamW"),
    ),
    _greater(
        "Under SGD E1's b is smaller than cross-entropy's",
        where=at("SGD"),
        than=at("SGD", "e1"),
        paper="equal learning",
        source=YANG,
    ),
    _greater(
        "Under AdamW, too",
        where=at("AdamW"),
        than=at("AdamW", "e1"),
        paper="equal learning",
        source=YANG,
    ),
]
