"""Claims on the Frobenius margin's lead over the max-norm margin, each over its largest."""

from experiments.harness.claims import greater, level
from experiments.ntp_batches.run import setting

LEAD, FINITE = "frobenius_lead", "finite_error"
ADAM = "arXiv 2510.26303"

CLAIMS = [
    level(
        "One-hot data: SGD by single examples leans to the Frobenius norm (margin ratio less that "
        "of the max norm)",
        LEAD,
        setting("gd", 1),
        at_least=0.0,
        paper="expected",
        source="Thrampoulidis 2024, footnote 8",
    ),
    level(
        "Adam by all of the data leans to the max norm",
        LEAD,
        setting("adam", 0),
        at_most=0.0,
        paper="proved in the limit",
        source="Fan, Schmidt, Thrampoulidis 2025",
    ),
    level(
        "Adam by single examples leans to the Frobenius norm",
        LEAD,
        setting("adam", 1),
        at_least=0.0,
        paper="so on their data, else another norm",
        source=ADAM,
    ),
    level(
        "Signum by single examples leans to the max norm",
        LEAD,
        setting("signum", 1),
        at_most=0.0,
        paper="proved for a long memory",
        source=ADAM,
    ),
    level(
        "It does with a memory of 2,000 steps (β = .9995)",
        LEAD,
        setting("signum_long", 1),
        at_most=0.0,
        paper="proved for a long memory",
        source=ADAM,
    ),
    greater(
        "With three tokens after a context SGD by single examples stays further from W* than "
        "gradient descent: its step does not shrink",
        FINITE,
        setting("gd", 1, 3),
        setting("gd", 0, 3),
        paper="none",
        source="ours: noise of the tokens at W*",
    ),
]
