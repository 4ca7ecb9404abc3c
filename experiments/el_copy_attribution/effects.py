"""Main effects and interactions of a factorial, as a linear model over cells and seeds.

python -m experiments.el_copy_attribution.effects

prints those that README.md gives, of the committed table.
"""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from jaxtyping import Float

from experiments.el_copy_attribution.claims import E_LOSSES, FEW, HARD, LONG, NARROW
from experiments.harness.names import loss_name
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import Where, read_table, select

Factors = dict[str, dict[str, Float[np.ndarray, " rows"]]]  # factor -> effect -> its regressor


def effects(results: pd.DataFrame, metric: str, where: Where) -> pd.DataFrame:
    """Ordinary least squares of a metric on main effects and interactions of two factors.

    Regressors are centred: a main effect is the mean over the levels of all other factors, an
    interaction the difference of one factor's effect between two levels of another. Errors are
    clustered by seed, since the cells of a seed share their data; intervals are Student's, with one
    degree of freedom less than there are seeds.

    Args:
        results: the values.
        metric: the metric.
        where: ``NARROW`` or ``FEW``; all cells must have all seeds.

    Returns:
        Rows ``mean``, ``low``, ``high`` and ``p`` by effect.
    """
    table = select(results, where, metric).dropna(subset=["b2", "weight_decay"])
    design = pd.DataFrame(_regressors(_factors(table)))
    fitted = sm.OLS(table["value"].to_numpy(), sm.add_constant(design)).fit(
        cov_type="cluster", cov_kwds={"groups": table["seed"].to_numpy()}, use_t=True
    )
    ends = fitted.conf_int(1 - CONFIDENCE)
    found = pd.DataFrame(
        {"mean": fitted.params, "low": ends[0], "high": ends[1], "p": fitted.pvalues}
    )
    return found.drop(index="const")


def _factors(table: pd.DataFrame) -> Factors:
    factors: Factors = {
        "loss": {loss_name(str(one["loss"])): table["loss"] == one["loss"] for one in E_LOSSES},
        "warm-up": {"warm-up": table["warmup_steps"] > 0},
        "memory": {
            f"β₂ {b2:g}".replace("0.", "."): table["b2"] == b2
            for b2 in sorted(table["b2"].unique())
            if b2 != LONG
        },
    }
    if table["weight_decay"].nunique() > 1:
        factors["decay"] = {"weight decay": table["weight_decay"] > 0}
    return {
        name: {effect: (level - level.mean()).to_numpy() for effect, level in levels.items()}
        for name, levels in factors.items()
    }


def _regressors(factors: Factors) -> dict[str, Float[np.ndarray, " rows"]]:
    main = {effect: column for levels in factors.values() for effect, column in levels.items()}
    products = {
        f"{a} × {b}": first * second
        for one, other in itertools.combinations(factors.values(), 2)
        for a, first in one.items()
        for b, second in other.items()
    }
    return main | products


if __name__ == "__main__":
    results = read_table(Path(__file__).parent / "results.csv")
    for where in (NARROW, FEW):
        print(where, effects(results, HARD, where).round(3).to_string(), sep="\n")
