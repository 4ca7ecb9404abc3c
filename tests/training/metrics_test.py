"""Named numbers from moments."""

import numpy as np

from el_jax.training.metrics import summarise
from el_jax.training.moments import Moments
from el_jax.types import Probe

TOKENS = [[[0.0, 1.0, 2.0], [5.0]], [[4.0], [6.0, 8.0]]]  # [run][group] -> values
GROUPS = ("easy", "hard")


def moments(values=TOKENS, scale=1.0):
    """Moments ``[R, G]`` of nested lists of values."""

    def leaf(function):
        return np.array([[function(np.array(group) * scale) for group in run] for run in values])

    def mean(group):
        return group.mean() if len(group) else 0.0

    def m2(group):
        return np.square(group - mean(group)).sum()

    return Moments(leaf(len), leaf(mean), leaf(m2))


def metrics(**changes):
    names = ("loss", "ce", "margin", "gradient", "accuracy", "exact_match")
    return {name: moments() for name in names} | changes


def test_every_number_has_its_name():
    row = summarise(metrics(grad_norm=Moments(*np.ones((3, 2)))), GROUPS, "test")
    kinds = ("loss", "ce", "margin", "gradient", "accuracy", "exact_match")
    expected = {f"test_{group}{kind}" for kind in kinds for group in ("", "easy_", "hard_")}
    expected |= {"test_ce_std", "test_margin_std", "test_grad_norm"}
    expected |= {"test_easy_gradient_share", "test_hard_gradient_share"}
    assert row.keys() == expected
    assert all(values.shape == (2,) and values.dtype == np.float64 for values in row.values())


def test_a_group_in_which_no_answer_begins_has_no_exact_match():
    found = moments()
    none = Moments(*(np.where([True, False], leaf, 0) for leaf in found))
    row = summarise(metrics(exact_match=none), GROUPS, "batch")
    assert "batch_easy_exact_match" in row
    assert "batch_hard_exact_match" not in row
    assert np.isfinite(row["batch_exact_match"]).all()


def test_means_over_all_tokens_weigh_groups_by_their_size():
    row = summarise(metrics(), GROUPS, "train")
    assert row["train_loss"].tolist() == [2, 6]
    assert row["train_easy_loss"].tolist() == [1, 4]
    assert row["train_hard_loss"].tolist() == [5, 7]


def test_spread_over_tokens_is_within_and_between_groups():
    row = summarise(metrics(margin=moments(scale=3.0)), GROUPS, "train")
    flat = [np.concatenate(run) for run in TOKENS]
    np.testing.assert_allclose(row["train_ce_std"], [tokens.std() for tokens in flat])
    np.testing.assert_allclose(row["train_margin_std"], [3 * tokens.std() for tokens in flat])


def test_gradient_shares_are_of_the_summed_squares():
    row = summarise(metrics(), GROUPS, "train")
    np.testing.assert_allclose(row["train_easy_gradient_share"], [3 / 8, 4 / 18])
    total = row["train_easy_gradient_share"] + row["train_hard_gradient_share"]
    np.testing.assert_allclose(total, 1)


def test_vanished_gradients_have_no_share():
    row = summarise(metrics(gradient=moments(scale=0.0)), GROUPS, "train")
    assert row["train_hard_gradient_share"].tolist() == [0, 0]


def test_an_empty_group_has_no_mean_and_no_share():
    empty = moments([[[1.0, 3.0], []], [[2.0], [4.0]]])
    row = summarise(dict.fromkeys(metrics(), empty), GROUPS, "train")
    np.testing.assert_array_equal(row["train_hard_ce"], [np.nan, 4])
    np.testing.assert_array_equal(row["train_ce"], [2, 3])
    np.testing.assert_array_equal(row["train_hard_gradient_share"], [0, 2 / 3])


def test_probes_derive_further_numbers_of_the_split():
    double = Probe(of_split=lambda row: {"double": 2 * row["left_ce"]})
    row = summarise(metrics(), ("left", "right"), "train", [double, Probe()])
    assert row["train_left_ce"].tolist() == [1, 4]
    assert row["train_double"].tolist() == [2, 8]


def test_a_split_without_tokens_has_no_mean_and_no_spread():
    empty = moments([[[], []], [[2.0], [4.0]]])
    row = summarise(dict.fromkeys(metrics(), empty), GROUPS, "train")
    np.testing.assert_array_equal(row["train_ce"], [np.nan, 3])
    np.testing.assert_array_equal(row["train_ce_std"], [np.nan, 1])
