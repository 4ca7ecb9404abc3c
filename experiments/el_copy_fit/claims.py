"""Claims on the share that copies in the swap test when runs first fit all training strings."""

from experiments.harness.claims import greater, level

COPIES, AT_FIT, AFTERWARDS = "swap_copies", "swap_copies_at_fit", "swap_copies_afterwards"
MUON = "arXiv 2603.00742 and 2510.22980"


def at(method: str) -> dict[str, str]:
    """The runs of a method."""
    return {"method": method}


CLAIMS = [
    greater(
        "At equal fit Muon copies more than AdamW",
        AT_FIT,
        at("Muon"),
        at("cross-entropy"),
        paper="more shortcuts (the first), equal rates (the second)",
        source=MUON,
    ),
    greater(
        "At equal fit E1 copies more than cross-entropy",
        AT_FIT,
        at("E1"),
        at("cross-entropy"),
    ),
    greater(
        "At equal fit heavy decay copies less than cross-entropy without it",
        AT_FIT,
        at("cross-entropy"),
        at("weight decay"),
    ),
    level(
        "It gains half of the swap test or more afterwards",
        AFTERWARDS,
        at("weight decay"),
        at_least=0.5,
    ),
    greater(
        "Muon gains more afterwards than AdamW",
        AFTERWARDS,
        at("Muon"),
        at("cross-entropy"),
    ),
]
