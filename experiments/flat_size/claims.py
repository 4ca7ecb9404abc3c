"""Claims of Liu, Xie, Li, Ma (2023) on the size of networks with equal losses.

Sections 3.3 and 5, Figures 2 and 5: at equal loss, larger networks are better for downstream tasks
and, embedded in one architecture, have a smaller Hessian trace. The embedding rule multiplies some
parts of the trace by a power of the ratio of widths (``el_jax.models.surgery``), so the claim is
judged under every counting convention.
"""

import math

import numpy as np
import pandas as pd
from jaxtyping import Float

from experiments.flat_size.run import LENGTHS
from experiments.flat_time.claims import ASKED
from experiments.flat_time.run import WORLDS
from experiments.harness.claims import greater, trend
from experiments.harness.judging import OURS, Claim
from experiments.harness.tables import tidy

ACCURACY, TRACE = "Liu et al. 2023, Figure 2", "Liu et al. 2023, Figure 5"
LEVEL = "level"  # nats above the entropy at which the networks of a seed are compared
MATTERS = 0.01  # accuracy of a probe: one point, as in flat_time
LOGARITHM = "_logarithm"
COUNTED = {
    "trace_released": "embedded as the released code does, s = 1/k",
    "trace_balanced": "embedded so that tables keep theirs, s = 1/√k",
}


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results of each seed's networks at the KL that the last of its widths reaches.

    Every training's learning rate falls to 0, so losses contain no update noise. Each width of a
    seed has one point per length; numbers are interpolated linearly in log KL between neighbouring
    points. A seed is left out if all runs of one of its widths are below that KL.

    Args:
        results: results of the runs.

    Returns:
        Results by world and width: the metrics of the runs, logarithms of traces, and ``LEVEL``.
    """
    rows = []
    for (world, seed), of_seed in results.groupby(["world", "seed"]):
        courses = {
            width: runs.pivot(index="num_updates", columns="metric", values="value").sort_index()
            for width, runs in of_seed.groupby("width")
        }
        nats = max(course["kl"].min() for course in courses.values())
        if any(course["kl"].iloc[0] < nats for course in courses.values()):
            continue
        for width, course in courses.items():
            row = {"world": world, "width": width, "seed": seed}
            rows.append(row | {"metric": LEVEL, "value": nats})
            kl = course["kl"].to_numpy()
            found = {
                metric: where(kl, nats, values.to_numpy()) for metric, values in course.items()
            }
            logs = {name + LOGARITHM: math.log(found[name]) for name in COUNTED if name in found}
            rows += [
                row | {"metric": metric, "value": value} for metric, value in (found | logs).items()
            ]
    return tidy(rows)


def where(kl: Float[np.ndarray, " n"], nats: float, course: Float[np.ndarray, " n"]) -> float:
    """The value of a course where KL first falls to ``nats``, interpolated linearly in log KL.

    Args:
        kl: KL at each length, positive; the first at least ``nats``, the least at most ``nats``.
        nats: the divergence.
        course: a number for each length.
    """
    after = int((kl <= nats).argmax())
    if after == 0:
        return float(course[0])
    high, low = np.log(kl[after - 1 : after + 1])
    share = (high - np.log(nats)) / (high - low)
    return float(course[after - 1] + share * (course[after] - course[after - 1]))


def _of_world(scale: str, world: str) -> list[Claim]:
    narrow, *_, wide = LENGTHS[scale]
    label, metric = ASKED[world]
    return [
        greater(
            f"{world.upper()}, at equal KL: the probe of the {label} label is better at width "
            f"{wide} than at {narrow}",
            metric,
            {"world": world, "width": wide},
            than={"world": world, "width": narrow},
            matters=MATTERS,
            paper="better, values only drawn",
            source=ACCURACY,
        ),
        *(
            trend(
                f"{world.upper()}, at equal KL: the trace {COUNTED[name]} is smaller for wider "
                "networks (slope of its logarithm per doubling)",
                name + LOGARITHM,
                {"world": world},
                "width",
                rising=False,
                position=math.log2,
                paper="19.8 to 12.6" if name == "trace_released" else "",
                source=TRACE if name == "trace_released" else OURS,
            )
            for name in COUNTED
        ),
    ]


CLAIMS = {
    scale: [claim for world in WORLDS for claim in _of_world(scale, world)]
    for scale in ("cpu", "paper")
}
