import numpy as np
import pytest

from el_jax.training.moments import Moments
from el_jax.training.summary import summarise, when_fitted

GROUPS = ("easy", "hard")


def moments(easy, hard, num=(8.0, 2.0)):
    """One run whose groups have the given means and no spread."""
    return Moments(np.array([num]), np.array([[easy, hard]]), np.zeros((1, 2)))


def metrics(easy_ce=0.1, hard_ce=3.0, easy_accuracy=1.0, hard_accuracy=0.2):
    return {
        "ce": moments(easy_ce, hard_ce),
        "accuracy": moments(easy_accuracy, hard_accuracy),
        "gradient": moments(0.05, 0.8),
        "grad_norm": Moments(np.array([50.0]), np.array([1.5]), np.array([0.0])),
    }


def test_names_and_numbers():
    row = summarise(metrics(), GROUPS, "train")
    assert row["train_easy_ce"] == pytest.approx(0.1)
    assert row["train_ce"] == pytest.approx(0.8 * 0.1 + 0.2 * 3.0)
    assert row["train_ce_gap"] == pytest.approx(2.9)
    # two values with shares .8 and .2: the standard deviation is .4 of their distance
    assert row["train_ce_std"] == pytest.approx(0.4 * 2.9)
    assert row["train_grad_norm"] == pytest.approx(1.5)
    assert row["train_hard_gradient_share"] == pytest.approx(1.6 / 2.0)
    shares = row["train_hard_gradient_share"] + row["train_easy_gradient_share"]
    assert shares == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "stratified", "by_accuracy"),
    [
        ({"easy_ce": 0.005, "hard_ce": 2.0}, 1, 1),
        ({"easy_ce": 0.02, "hard_ce": 2.0}, 0, 1),
        ({"easy_ce": 0.005, "hard_ce": 0.9}, 0, 1),
        ({"easy_ce": 0.005, "hard_accuracy": 0.6}, 1, 0),
        ({"easy_ce": 2.0, "easy_accuracy": 0.98}, 0, 0),
    ],
)
def test_stratified(changes, stratified, by_accuracy):
    row = summarise(metrics(**changes), GROUPS, "train")
    assert row["train_stratified"] == stratified
    assert row["train_stratified_by_accuracy"] == by_accuracy


def test_group_without_tokens_has_no_mean():
    empty = metrics() | {"ce": moments(0.1, 0.0, num=(8.0, 0.0))}
    row = summarise(empty, GROUPS, "batch")
    assert np.isnan(row["batch_hard_ce"]).all()
    assert row["batch_ce"] == pytest.approx(0.1)


def test_other_groups_have_no_gap():
    row = summarise(metrics(), ("a", "b"), "test")
    assert "test_a_ce" in row
    assert "test_ce_gap" not in row


def test_when_fitted_tells_memory_from_mechanism():
    # run 0 memorises at step 2 and stays; 1 rectifies; 2 memorises and rectifies later; 3 never
    train = [[0.1, 0.2, 0.1, 0.1], [1.0, 0.99, 1.0, 0.5], [1.0, 1.0, 1.0, 0.98]]
    test = [[0.0, 0.1, 0.0, 0.0], [0.1, 0.95, 0.2, 0.4], [0.1, 1.0, 0.9, 0.5]]
    rows = [
        {"train_hard_accuracy": np.array(a), "test_hard_accuracy": np.array(b)}
        for a, b in zip(train, test, strict=True)
    ]
    found = when_fitted([1, 2, 3], rows)
    np.testing.assert_array_equal(found["fitted_step"], [2, 2, 2, np.nan])
    np.testing.assert_allclose(found["hard_accuracy_when_fitted"], [0.1, 0.95, 0.2, np.nan])
    np.testing.assert_allclose(found["rectified_afterwards"], [0.0, 0.05, 0.7, np.nan])
