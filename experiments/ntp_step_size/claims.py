"""Claims on the lead of an optimizer's own norm: its margin ratio less the largest other."""

from collections.abc import Iterator

from experiments.harness.claims import Wording, greater, level
from experiments.harness.judging import Claim
from experiments.ntp_step_size.run import MIDDLE, SUPPORT_SIZES, setting

LEAD = "own_lead"
OPEN: Wording = {"paper": "open question", "source": "Thrampoulidis 2024, section 7"}


def _claims() -> Iterator[Claim]:
    yield level(
        f"Sign descent whose steps outlast the gradient leaves its norm (S = {MIDDLE}; margin "
        "ratio in it less the larger of the others)",
        LEAD,
        setting("sign"),
        at_most=0.0,
        **OPEN,
    )
    for size in SUPPORT_SIZES:
        yield level(
            f"Steps times the dual norm of the gradient, and it leans to its own (S = {size})",
            LEAD,
            setting("sign_scaled", size),
            at_least=0.0,
            **OPEN,
        )
    yield level(
        f"So does spectral descent, times that norm (S = {MIDDLE})",
        LEAD,
        setting("spectral_scaled"),
        at_least=0.0,
        **OPEN,
    )
    yield greater(
        f"Adam with steps ~ 1 / t^.9 in place of 1 / √t comes nearer to its own (S = {MIDDLE})",
        LEAD,
        setting("adam_fast"),
        setting("adam"),
        **OPEN,
    )


CLAIMS = list(_claims())
