"""Each method's margin in its own norm, against the best of those whose norm is another.

Claims and step sizes were set after a look at problems 0 to 2; problems 100 to 119, which are
judged, had not been run.
"""

from experiments.harness.claims import level
from experiments.ntp_two_layers.run import METHODS

SOURCE = "Gronich, Vardi 2026"


def at(name: str) -> dict[str, str]:
    """The runs of a method."""
    return {"optimizer": name}


CLAIMS = [
    level(
        f"{name[0].upper()}{name[1:]} has a larger margin in the {method.norm} norm than the "
        "methods of other norms (lead over the best, as a share of its margin)",
        "lead",
        at(name),
        at_least=0.0,
        paper="tends to a stationary point of it",
        source=SOURCE,
    )
    for name, method in METHODS.items()
]
