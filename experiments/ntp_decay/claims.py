"""Claims on the gap to the best decoder in a ball, and on the norm that decay leads to."""

from collections.abc import Iterator

from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim
from experiments.ntp_decay.run import LARGE, SMALL, setting

GAP, LEAD = "gap", "own_lead"
CLOSE = 1e-3  # nats; in the pilots these balls' best losses are some .03 above the entropy
NAMES = {"sign": "Sign descent", "spectral": "Spectral descent", "adam": "Adam", "muon": "Muon"}


def _claims() -> Iterator[Claim]:
    for method, name in NAMES.items():
        known = "the Frank-Wolfe method" if method in ("sign", "spectral") else "in the limit"
        yield level(
            f"{name} with decay comes within {CLOSE:g} nats of the best decoder of a small ball",
            GAP,
            setting(method, "1/t", SMALL),
            at_most=CLOSE,
            paper=known,
            source="Jaggi 2013" if known.startswith("the") else "arXiv 2404.04454, 2506.15054",
        )
    for method in ("sign", "adam"):
        yield greater(
            f"Steps ~ 1 / √t: decay brings {NAMES[method].replace('S', 's')} nearer to its norm",
            LEAD,
            setting(method, "1/√t", LARGE),
            setting(method, "1/√t", 0),
        )


CLAIMS = list(_claims())
