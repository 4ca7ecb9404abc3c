"""The exponents that theory gives. Bounds were set after a look at problems 0 to 2.

Problems 100 to 119, which are judged, had not been run.
"""

from experiments.harness.claims import level
from experiments.ntp_minority.run import ALPHAS, SHARES

SOURCE = "galaxy532/Implicit-Bias-Spurious"
LEAST = SHARES[0]
BELOW, ABOVE = ALPHAS[1:3]  # the two nearest to 1


def at(alpha: float, share: float | None = None) -> dict[str, float]:
    """A setting; without a share, what compares the shares."""
    return {"alpha": alpha} | ({} if share is None else {"share": share})


CLAIMS = [
    *(
        level(
            f"At α = {alpha:g} the minority's error falls as t^-{max(1.0, alpha):g} "
            "(exponent less that)",
            "excess",
            at(alpha, LEAST),
            at_least=-0.03,
            at_most=0.03,
            paper=f"{max(1.0, alpha):g}",
            source=SOURCE,
        )
        for alpha in ALPHAS
    ),
    level(
        f"At α = {BELOW:g} it is proportional to one over the minority's share (power)",
        "power_of_share",
        at(BELOW),
        at_least=0.9,
        paper="1",
        source=SOURCE,
    ),
    level(
        f"At α = {ABOVE:g} it does not depend on that share (power)",
        "power_of_share",
        at(ABOVE),
        at_least=-0.05,
        at_most=0.05,
        paper="0",
        source=SOURCE,
    ),
]
