"""Claims of Thrampoulidis (2024) on three optimizers and overparameterised data, Appendix A.2."""

import math
from functools import partial

import numpy as np
import pandas as pd

from experiments.harness.claims import greater, trend
from experiments.harness.judging import Claim
from experiments.harness.tables import select
from experiments.ntp_convergence.run import DECADES

SOURCE = "Thrampoulidis 2024, Appendix A.2, Figures 4 and 5"
NAMES = {"gd": "GD", "ngd": "NGD", "adam": "Adam"}
PAPER_STEPS = 10_000  # as in the paper; methods are compared at this step
LOOKS = {"cpu": 2}  # at the first look, with 5 problems, three of eight were undecided
AFTER = f"after {PAPER_STEPS:,} steps"
_trend = partial(trend, along="num_steps", position=math.log10, source=SOURCE)


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Add the logarithms of quantities that fall to 0."""
    rows = select(results, {}, "finite_error")
    return pd.concat(
        [results, rows.assign(metric="log10_finite_error", value=np.log10(rows["value"]))]
    )


def _claims(decades: tuple[int, ...]) -> list[Claim]:
    steps = ", ".join(f"{step:,}" for step in decades)
    along = {
        method: {"optimizer": method, "data": "probabilities", "num_steps": decades}
        for method in NAMES
    }
    return [
        *(
            _trend(
                f"{NAMES[method]} turns towards W_mm (cosine after {steps} steps; slope per "
                "decade)",
                "cosine",
                where,
                rising=True,
                paper="rises towards 1, values only drawn",
            )
            for method, where in along.items()
        ),
        *(
            _trend(
                f"P_F W approaches W* with {NAMES[method]} (log10 of the distance after {steps} "
                "steps; slope per decade)",
                "log10_finite_error",
                where,
                rising=False,
                paper="tends to 0",
            )
            for method, where in along.items()
        ),
        *(
            greater(
                f"{NAMES[better]} is {how} than {NAMES[worse]} (cosine of W {AFTER})",
                "cosine",
                along[better] | {"num_steps": PAPER_STEPS},
                along[worse] | {"num_steps": PAPER_STEPS},
                paper=how,
                source=SOURCE,
            )
            for better, worse, how in (
                ("ngd", "gd", "faster"),
                ("adam", "ngd", "slightly faster"),
            )
        ),
    ]


CLAIMS = {"cpu": _claims(DECADES["cpu"][-3:])}
