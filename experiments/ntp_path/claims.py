"""Claims of Theorem 1 of Thrampoulidis (2024), and two rates that it does not give.

Radii are in units of ‖W_mm‖. Bounds were set after looking at some problems below 202; problems 300
to 307, which are judged, had not been run.
"""

from functools import partial

from experiments.harness.claims import level, trend
from experiments.ntp_path.run import EVERY, LARGEST

SOURCE, OURS = "Thrampoulidis 2024, Theorem 1", "our prediction, not in the paper"
END = LARGEST["cpu"]
RADII = {"radius": tuple(range(EVERY, END + 1, EVERY))}
_trend = partial(trend, where=RADII, along="radius", source=SOURCE)
_rate = partial(level, where={"radius": None}, paper="no rate", source=OURS)
NEAR = f"At radius {END} it has nearly the direction of W_mm (cosine)"

CLAIMS = [
    _trend(
        f"The minimiser turns towards W_mm (cosine at radii {EVERY} to {END}; slope per level)",
        "cosine",
        rising=True,
        paper="tends to 1",
    ),
    level(NEAR, "cosine", {"radius": END}, at_least=0.99, paper="tends to 1", source=SOURCE),
    _trend(
        "Its part in F approaches W* (log10 of the distance; slope per level)",
        "log10_finite_error",
        rising=False,
        paper="tends to 0",
    ),
    _rate(
        "The distance to W* falls as exp(-B / ‖W_mm‖) (slope of its logarithm in B / ‖W_mm‖ from "
        f"{END // 2} to {END}, against -1)",
        "finite_rate_error",
        at_most=0.05,
    ),
    _rate(
        "1 - cosine falls as a power of the radius, faster than -1.5 (slope in logarithms from "
        f"{END // 2} to {END}; -2 if W - t W_mm stays bounded)",
        "direction_slope",
        at_most=-1.5,
    ),
]
