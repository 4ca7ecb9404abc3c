"""Main effects and interactions of a factorial, as a linear model over cells and seeds."""

import itertools

import numpy as np
import pandas as pd
import statsmodels.api as sm
from jaxtyping import Float

from experiments.el_copy_attribution.settings import E_LOSSES, LONG, NARROW
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import with_parts

Factors = dict[str, dict[str, Float[np.ndarray, " rows"]]]  # factor -> effect -> its regressor


def effects(results: pd.DataFrame, metric: str, place: str) -> pd.DataFrame:
    """Ordinary least squares of a metric on main effects and interactions of two factors.

    Regressors are centred: a main effect is the mean over the levels of all other factors, an
    interaction the difference of one factor's effect between two levels of another. Errors are
    clustered by seed, since the cells of a seed share their data; intervals are Student's, with one
    degree of freedom less than there are seeds.

    Args:
        results: the values.
        metric: the metric.
        place: ``NARROW`` or ``FEW``; all cells must have all seeds.

    Returns:
        Rows ``mean``, ``low``, ``high`` and ``p`` by effect.
    """
    table = _cells(results, metric, place)
    design = pd.DataFrame(_regressors(_factors(table, place)))
    fitted = sm.OLS(table["value"].to_numpy(), sm.add_constant(design)).fit(
        cov_type="cluster", cov_kwds={"groups": table["seed"].to_numpy()}, use_t=True
    )
    ends = fitted.conf_int(1 - CONFIDENCE)
    found = pd.DataFrame(
        {"mean": fitted.params, "low": ends[0], "high": ends[1], "p": fitted.pvalues}
    )
    return found.drop(index="const")


def _cells(results: pd.DataFrame, metric: str, place: str) -> pd.DataFrame:
    """A row per cell and seed, with its factors."""
    pattern = rf"(?P<loss>.+) β₂=(?P<b2>[.\d]+) wd=(?P<wd>[.\d]+)(?P<warm>(?:, warm-up)?){place}"
    return with_parts(results[results["metric"] == metric], pattern).astype({"b2": float})


def _factors(table: pd.DataFrame, place: str) -> Factors:
    factors: Factors = {
        "loss": {_short(loss): table["loss"] == loss for loss in E_LOSSES},
        "warm-up": {"warm-up": table["warm"] != ""},
        "memory": {
            f"β₂ {b2:g}".replace("0.", "."): table["b2"] == b2
            for b2 in sorted(table["b2"].unique())
            if b2 != LONG
        },
    }
    if place == NARROW:
        factors["decay"] = {"weight decay": table["wd"].astype(float) > 0}
    return {
        name: {effect: (level - level.mean()).to_numpy() for effect, level in levels.items()}
        for name, levels in factors.items()
    }


def _short(loss: str) -> str:
    return loss.split(" ")[0]


def _regressors(factors: Factors) -> dict[str, Float[np.ndarray, " rows"]]:
    main = {effect: column for levels in factors.values() for effect, column in levels.items()}
    products = {
        f"{a} × {b}": first * second
        for one, other in itertools.combinations(factors.values(), 2)
        for a, first in one.items()
        for b, second in other.items()
    }
    return main | products
