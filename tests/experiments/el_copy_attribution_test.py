"""Adam's second moment with a memory that changes, and the effects read from a factorial."""

import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest

from el_jax.training.sinks import History
from experiments.el_copy_attribution.claims import claims
from experiments.el_copy_attribution.effects import effects
from experiments.el_copy_attribution.memory import adamw_switched
from experiments.el_copy_attribution.plot import answer, plot
from experiments.el_copy_attribution.run import course, studies
from experiments.el_copy_attribution.settings import (
    FEW,
    LABELS,
    LONG,
    NARROW,
    NONE,
    SHORT,
    WARM,
    cells,
    main,
    switched,
)
from experiments.harness.claims import Verdict, difference
from experiments.harness.discovery import ExperimentError
from experiments.harness.statistics import contrast
from experiments.harness.tables import (
    curves_frame,
    read_results,
    results_frame,
    values_of,
    write_curves,
    write_results,
)

GRADIENTS = np.random.default_rng(0).normal(size=(12, 3, 2))
NUMBERS = {"b1": 0.8, "epsilon": 1e-3, "weight_decay": 0.3}


def updated(optimizer):
    """A matrix after an update for each gradient."""
    params = {"kernel": jnp.ones((3, 2))}
    state = optimizer.init(params)
    for gradient in GRADIENTS:
        change, state = optimizer.update({"kernel": jnp.float32(gradient)}, state, params)
        params = optax.apply_updates(params, change)
    return params["kernel"]


@pytest.mark.parametrize("switch_at", [0, 5, 12])
def test_a_memory_that_does_not_change_is_adamw(switch_at):
    ours = adamw_switched(lambda _: 0.1, b2=0.9, b2_later=0.9, switch_at=switch_at, **NUMBERS)
    theirs = optax.adamw(0.1, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.3)
    np.testing.assert_allclose(updated(ours), updated(theirs), rtol=1e-5)


def test_the_second_moment_is_a_mean_with_the_memory_of_each_update():
    before, after, switch_at = 0.99, 0.5, 7
    w, m, v, weights = np.ones((3, 2)), 0.0, 0.0, np.zeros(0)
    for t, g in enumerate(GRADIENTS):
        b2 = before if t < switch_at else after
        m = 0.8 * m + 0.2 * g
        weights = np.append(weights * b2, 1 - b2)
        v = np.tensordot(weights, GRADIENTS[: t + 1] ** 2, 1) / weights.sum()
        w = w - 0.1 * (m / (1 - 0.8 ** (t + 1)) / (np.sqrt(v) + 1e-3) + 0.3 * w)
    ours = adamw_switched(lambda _: 0.1, b2=before, b2_later=after, switch_at=switch_at, **NUMBERS)
    np.testing.assert_allclose(updated(ours), w, rtol=1e-5)


def test_the_course_tells_the_deepest_fall_and_the_steps_at_the_peak_rate():
    hard = np.array([[0.2, 0.3], [0.995, 0.5], [0.4, 0.6], [1.0, 0.7], [1.0, 0.8]])
    update = np.array([[9.0, 9.0], [9.0, 9.0], [2.0, 4.0], [6.0, 8.0], [9.0, 9.0]])
    history = History()
    for i in range(5):
        row = {"batch_hard_accuracy": hard[i], "batch_update_norm": update[i]}
        row |= {"train_hard_accuracy": hard[i], "test_hard_accuracy": hard[i]}
        history.write(20 * (i + 1), row | {"batch_grad_norm": np.array([2.0, 2.0])})
    found = course(history)
    np.testing.assert_array_equal(found["lowest_once_fitted"], [0.4, np.nan])
    np.testing.assert_array_equal(found["update_over_gradient"], [2.0, 3.0])


def factorial(place, accuracy, seeds=4):
    """Results in which every cell of a factorial has the accuracy a function gives it."""
    noise = np.random.default_rng(1)
    return [
        (name, seed, "test_precise_hard_accuracy", accuracy(name, seed) + 0.01 * noise.normal())
        for name in cells(place, list(LABELS.values()))
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("place", [NARROW, FEW])
def test_effects_are_the_contrasts_of_the_claims(place):
    def accuracy(name, seed):
        gain = 0.2 if name.startswith("E1") and "β₂=0.999" in name else 0.0
        return gain + 0.1 * ("warm-up" in name) + 0.05 * seed

    results = results_frame(factorial(place, accuracy))
    found = effects(results, "test_precise_hard_accuracy", place)
    everything = list(LABELS.values())
    warm_up = difference(
        cells(place, everything, warm_up=(WARM,)), cells(place, everything, warm_up=(NONE,))
    )
    entries = [values_of(results, name, "test_precise_hard_accuracy") for name in warm_up]
    expected = contrast(entries, list(warm_up.values()))
    row = found.loc["warm-up"]
    assert row["mean"] == pytest.approx(expected.mean, abs=1e-12)
    assert row["high"] - row["low"] == pytest.approx(expected.high - expected.low, rel=0.15)
    assert found.loc["E1 × β₂ .95", "mean"] == pytest.approx(-0.2, abs=0.02)
    assert found.loc["E2 × warm-up", "low"] < 0 < found.loc["E2 × warm-up", "high"]


def as_claimed():
    """A table in which everything is as the claims say."""

    def accuracy(name, _):
        short, loss = "β₂=0.95" in name, not name.startswith("cross")
        good = 0.1 * ("warm-up" in name) + 0.1 * short + 0.1 * ("wd=0.1" in name)
        return 0.3 + good + loss * (0.1 if short else 0.2)

    noise = np.random.default_rng(2)

    def rows(name, value, metric="test_precise_hard_accuracy"):
        return [(name, seed, metric, value + 1e-3 * noise.normal()) for seed in range(4)]

    table = [*factorial(NARROW, accuracy, 8), *factorial(FEW, accuracy, 8)]
    for name in cells(FEW, list(LABELS.values())):
        table += rows(name, 0.9 if "β₂=0.95" in name else 0.4, "lowest_once_fitted")
    for before, after, value in ((LONG, LONG, 0.4), (LONG, SHORT, 0.7), (SHORT, LONG, 0.5)):
        table += rows(switched(before, after), value)
    table += rows(switched(SHORT, SHORT), 0.8)
    for memory, ratio in ((SHORT, 3.0), (LONG, 1.0)):
        table += rows(switched(memory, memory), ratio, "update_over_gradient")
    for loss in LABELS.values():
        table += rows(main(loss, WARM), 0.3 if loss == "cross-entropy" else 0.995)
    table += rows(main("cross-entropy", NONE), 0.2)
    table += rows(main("cross-entropy", NONE), 0.995, "train_hard_accuracy")
    return results_frame(table)


def test_a_table_in_which_everything_is_as_claimed_holds_and_its_mirror_fails():
    results = as_claimed()
    judged = claims(results)
    assert len(judged) == 27
    assert [claim.text for claim in judged if claim.verdict is not Verdict.HOLDS] == []
    results["value"] *= -1  # the two claims that something stays low hold then, too
    assert [claim.verdict for claim in claims(results)].count(Verdict.FAILS) == 25


def test_the_quickstart_judges_warm_up_against_the_loss():
    accuracy = {("cross-entropy", NONE): 0.3, ("cross-entropy", WARM): 0.8}
    accuracy |= {("E2 λ=4", NONE): 0.2, ("E2 λ=4", WARM): 0.9}
    noise = np.random.default_rng(3)
    table = [
        (main(*name), seed, "test_precise_hard_accuracy", value + 0.01 * noise.normal())
        for name, value in accuracy.items()
        for seed in range(5)
    ]
    table += [(main("cross-entropy", NONE), seed, "train_hard_accuracy", 1.0) for seed in range(5)]
    judged = claims(results_frame(table))
    assert [claim.verdict for claim in judged] == [Verdict.HOLDS] * 4
    assert judged[2].detail.startswith("contrast +0.6")  # .6 of warm-up and 0 of the loss


def test_the_figure_draws_every_part_of_the_tables(tmp_path):
    results = as_claimed()
    for loss in LABELS.values():  # the claims need no run without warm-up of the E-losses
        for seed in range(4):
            if main(loss, NONE) not in set(results["setting"]):
                row = (main(loss, NONE), seed, "test_precise_hard_accuracy", 0.1)
                results = pd.concat([results, results_frame([row])])
    write_results(tmp_path / "results.csv", results)
    steps = (100, 3_700, 7_500)
    metrics = ("test_hard_accuracy", "batch_grad_norm", "batch_update_norm")
    marks = [
        (switched(a, b), seed, step, metric, 0.5 + 0.1 * seed)
        for a in (SHORT, LONG)
        for b in (SHORT, LONG)
        for seed in range(4)
        for step in steps
        for metric in metrics
    ]
    write_curves(tmp_path / "curves.csv", curves_frame(marks))
    figure = plot(tmp_path)
    assert len(figure.axes) == 6
    assert figure.get_suptitle() == answer(read_results(tmp_path / "results.csv"))
    rows = [text.get_text() for text in figure.axes[2].get_yticklabels()]
    assert rows[:4] == ["E1", "E2", "E3", "warm-up"]
    assert "weight decay" in rows
    assert not any("weight decay" in text.get_text() for text in figure.axes[3].get_yticklabels())


def test_the_paper_has_no_such_table():
    with pytest.raises(ExperimentError, match="el_copy_attribution has no paper scale"):
        studies("paper")
