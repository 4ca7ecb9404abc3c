"""Easy tokens fitted while hard ones are not, and the later fit of a run's hard strings."""

import numpy as np
import pytest

from el_jax.probes import stratification, when_fitted
from el_jax.tasks import PaddedCopy
from el_jax.types import ModelFns

TASK, MODEL = PaddedCopy(), ModelFns(dict, dict)


class OtherTask(PaddedCopy):
    group_names = ("left", "right")


def found(easy_ce=0.0, hard_ce=0.0, easy_accuracy=0.0, hard_accuracy=0.0):
    numbers = {"easy_ce": easy_ce, "hard_ce": hard_ce}
    numbers |= {"easy_accuracy": easy_accuracy, "hard_accuracy": hard_accuracy}
    row = {name: np.full(2, value) for name, value in numbers.items()}
    return stratification(TASK, MODEL).of_split(row)


@pytest.mark.parametrize(
    ("easy", "hard", "stratified"),
    [(0.009, 1.01, 1), (0.011, 1.01, 0), (0.009, 0.99, 0), (1.01, 0.009, 0), (0.0, np.nan, 0)],
)
def test_stratified_is_easy_fitted_and_hard_not(easy, hard, stratified):
    row = found(easy_ce=easy, hard_ce=hard)
    assert row["stratified"].tolist() == [stratified] * 2
    np.testing.assert_array_equal(row["ce_gap"], [hard - easy] * 2)


@pytest.mark.parametrize(
    ("easy", "hard", "stratified"), [(0.99, 0.5, 1), (0.98, 0.5, 0), (0.99, 0.51, 0)]
)
def test_stratified_by_accuracy_has_its_own_thresholds(easy, hard, stratified):
    row = found(easy_accuracy=easy, hard_accuracy=hard)
    assert row["stratified_by_accuracy"].tolist() == [stratified] * 2


def test_other_groups_have_no_stratification():
    with pytest.raises(ValueError, match="groups easy and hard, not left, right"):
        stratification(OtherTask(), MODEL)


def test_when_fitted_tells_memory_from_mechanism():
    train = [[0.2, 0.2, 0.2, 0.2], [0.99, 0.5, 0.98, 1.0], [1.0, 1.0, 0.98, 0.3]]
    test = [[0.1, 0.1, 0.1, 0.1], [0.05, 0.9, 0.5, 0.2], [0.15, 0.95, 0.9, 0.8]]
    rows = [
        {"train_hard_accuracy": np.array(a), "test_hard_accuracy": np.array(b)}
        for a, b in zip(train, test, strict=True)
    ]
    found = when_fitted([10, 20, 30], rows)
    # memorised; rectified; never fitted; fitted for a moment, rectified later
    np.testing.assert_array_equal(found["fitted_step"], [20, 30, np.nan, 20])
    np.testing.assert_array_equal(found["hard_accuracy_when_fitted"], [0.05, 0.95, np.nan, 0.2])
    np.testing.assert_allclose(found["rectified_afterwards"], [0.1, 0, np.nan, 0.6], atol=1e-12)
