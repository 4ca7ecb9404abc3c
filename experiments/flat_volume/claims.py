"""Claims on the learning coefficients of networks that copy more and less, at equal loss."""

from typing import Any

import numpy as np
import pandas as pd

from experiments.flat_elearn.claims import negative_within
from experiments.flat_volume.probe import MATCHED_CE
from experiments.flat_volume.run import METHODS
from experiments.harness.claims import greater
from experiments.harness.judging import Claim
from experiments.harness.tables import select

LLC, TIGHT, COPIES = "learning_coefficient", "learning_coefficient_tight", "swap_copies"
SCALE = "logit_scale"
EQUAL = f"at {MATCHED_CE:g} nats"


def at(method: str) -> dict[str, Any]:
    """The runs of a method, one on a data set."""
    return {"method": method, "networks": None}


def _fills_more(method: str, than: str, text: str) -> Claim:
    return greater(text, LLC, at(than), at(method), matters=1.0)


def networks_of(results: pd.DataFrame) -> list[np.ndarray]:
    """Logarithm of the coefficient, copying, and logarithm of the logits' scale, ``[n, 3]``.

    One matrix for each data set with several networks of cross-entropy.
    """
    if "networks" not in results:
        return []
    found = select(results, {"method": METHODS[0]}).dropna(subset="networks")
    wide = found.pivot_table(index=["seed", "networks"], columns="metric", values="value")
    columns = [np.log(wide[LLC]), wide[COPIES], np.log(wide[SCALE])]
    rows = pd.concat(columns, axis=1).dropna()
    return [of_set.to_numpy() for _, of_set in rows.groupby("seed")]


CLAIMS = [
    _fills_more(
        "weight decay",
        "cross-entropy",
        f"Heavy decay, which copies more than cross-entropy, has a smaller coefficient {EQUAL}",
    ),
    _fills_more("Muon", "cross-entropy", "So does Muon"),
    _fills_more("weight decay", "Muon", "Heavy decay has a smaller one than Muon"),
    _fills_more("E1", "cross-entropy", "E1 has a smaller one than cross-entropy"),
    greater("Muon copies more than E1", COPIES, at("Muon"), at("E1")),
    Claim(
        "Of networks of cross-entropy on one data set, those that copy more have smaller "
        "coefficients (correlation within data sets, of the logarithm)",
        lambda results: negative_within(
            [rows[:, :2] for rows in networks_of(results)], "networks within data sets"
        ),
    ),
]
