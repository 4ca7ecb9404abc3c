"""Learning-rate sensitivity is that of Wortsman et al. (2023)."""

import numpy as np
import pandas as pd
import pytest

from experiments.el_rates import claims


def test_it_is_the_mean_excess_over_the_least_loss_with_divergence_bounded(monkeypatch):
    monkeypatch.setattr(claims, "UNIFORM", 5.0)
    losses = [2.0, 1.0, 1.0, 3.0, 99.0]
    assert claims.sensitivity(pd.Series(losses)) == pytest.approx(1.4)  # 1, 0, 0, 2, 4
    diverged = [*losses[:-1], np.nan]
    assert claims.sensitivity(pd.Series(diverged)) == pytest.approx(1.4)
