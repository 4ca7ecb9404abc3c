"""Theorems of Fan et al. (2025) on one-hot data, tested there and on larger supports."""

from collections.abc import Iterator

from experiments.harness.claims import Wording, level
from experiments.harness.judging import Claim
from experiments.ntp_optimizers.run import OWN_NORM, setting

FAN = "Fan, Schmidt, Thrampoulidis 2025 (arXiv 2502.04664)"
ASKED: Wording = {"paper": "open question", "source": "Thrampoulidis 2024, section 7: open"}


def _claims(method: str) -> Iterator[Claim]:
    norm = OWN_NORM[method].replace("frobenius", "Frobenius")
    one_hot, larger = setting(method, 1), setting(method, 3)
    nearest = f"{method} comes nearest to the max margin of the {norm} norm"
    less = "its margin ratio less the larger of the other two"
    yield level(
        f"{nearest} (one-hot data; {less})",
        "margin_ratio_own_lead",
        one_hot,
        at_least=0.0,
        paper="proved in the limit",
        source=FAN,
    )
    yield level(
        f"{nearest} (S = 3 tokens after each context; {less})",
        "margin_ratio_own_lead",
        larger,
        at_least=0.0,
        **ASKED,
    )


# by claim, then by method; gradient descent has another step size
CLAIMS = [c for row in zip(*map(_claims, list(OWN_NORM)[1:]), strict=True) for c in row]
