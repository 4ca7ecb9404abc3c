"""The figures and claims of the copy experiments on numbers made up for the purpose."""

from pathlib import Path

import numpy as np
import pytest

from el_jax.plots import Curve, SeedValues, save_figure
from experiments.claims import Verdict
from experiments.el_copy_anatomy import claims as anatomy_claims, plot as anatomy_plot
from experiments.el_copy_context import claims as context_claims, plot as context_plot
from experiments.el_copy_losses import claims as losses_claims, plot as losses_plot
from experiments.results import write_curves, write_results

SEEDS = tuple(range(5))
NOISE = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])
HARD_ACCURACY = {
    "cross-entropy": 0.3,
    "cross-entropy, warm-up": 0.4,
    "E1 λ=4": 0.6,
    "E1 λ=4, warm-up": 0.9,
    "E2 λ=4, warm-up": 0.95,
    "E3 b=1, warm-up": 0.7,
    "cross-entropy, V=500": 0.2,
    "E1 λ=1, warm-up, V=500": 1.0,
}


def seeds_around(mean):
    return SeedValues(SEEDS, np.clip(mean + NOISE, 0, 1) if mean < 1 else np.ones(len(SEEDS)))


def loss_results():
    table = {}
    for setting, accuracy in HARD_ACCURACY.items():
        table[setting, "test_precise_hard_accuracy"] = seeds_around(accuracy)
        table[setting, "test_precise_easy_accuracy"] = seeds_around(0.97)
        table[setting, "train_hard_accuracy"] = seeds_around(1.0)
    return table


def context_results(slope=-0.2):
    table = {}
    for place, context in enumerate((55, 110, 220, 440)):
        setting = f"cross-entropy, context {context}"
        table[setting, "test_precise_hard_accuracy"] = seeds_around(0.5 + slope * (place - 1.5))
        table[setting, "train_hard_accuracy"] = seeds_around(1.0)
        for split in ("train", "test_precise"):
            table[setting, f"{split}_easy_accuracy"] = seeds_around(1.0)
        table[f"E1 λ=1, warm-up, context {context}", "test_precise_hard_accuracy"] = SeedValues(
            SEEDS, np.array([0.04, 0.97, 0.95, 0.99, 0.3])
        )
        for metric in ("test_precise_easy_accuracy", "train_easy_accuracy", "train_hard_accuracy"):
            table[f"E1 λ=1, warm-up, context {context}", metric] = seeds_around(0.98)
    return table


def anatomy_curves():
    steps = np.unique(np.round(np.geomspace(1, 4000, 50)).astype(int))
    table = {}
    for setting, delay in {"cross-entropy": 1, "E1 λ=1, warm-up": 10, "E3 b=1, warm-up": 5}.items():
        jitter = 1 + NOISE[:, None]
        easy, hard = np.exp(-steps / (8 * delay)), np.exp(-steps / 700)
        table[setting, "train_easy_ce"] = Curve(SEEDS, steps, jitter * (3.3 * easy + 1e-3))
        table[setting, "train_hard_ce"] = Curve(SEEDS, steps, jitter * (3.3 * hard + 1e-3))
        table[setting, "test_easy_accuracy"] = Curve(SEEDS, steps, jitter * (1 - 0.96 * easy))
        values = jitter * (0.04 + 0.09 * delay * (1 - hard))
        for metric in ("test_hard_accuracy", "swap_copies", "train_hard_gradient_share"):
            table[setting, metric] = Curve(SEEDS, steps, values)
        table[setting, "swap_undoes_shift"] = Curve(SEEDS, steps, 1 - values)
    return table


def test_losses_are_drawn_by_alphabet_and_group(tmp_path):
    write_results(tmp_path / "results.csv", loss_results())
    figure = losses_plot.plot(tmp_path)
    assert len(figure.axes) == 4
    keep(figure, tmp_path)
    rows = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes]
    assert rows == [list(HARD_ACCURACY)[:6], [], list(HARD_ACCURACY)[6:], []]


def test_losses_are_judged():
    verdicts = [claim.verdict for claim in losses_claims.claims(loss_results())]
    assert verdicts == [Verdict.HOLDS] * 8
    swapped = loss_results()
    first, second = "cross-entropy", "E1 λ=4, warm-up"
    for metric in ("test_precise_hard_accuracy", "test_precise_easy_accuracy"):
        swapped[first, metric], swapped[second, metric] = (
            swapped[second, metric],
            swapped[first, metric],
        )
    fails = {
        claim.text for claim in losses_claims.claims(swapped) if claim.verdict is Verdict.FAILS
    }
    assert "E1 gains from warm-up (λ=4)" in fails
    assert "E1 λ=4, warm-up copies unseen hard strings better than cross-entropy" in fails


def test_anatomy_has_a_column_per_setting(tmp_path):
    write_curves(tmp_path / "curves.csv", anatomy_curves())
    figure = anatomy_plot.plot(tmp_path)
    assert [ax.get_title(loc="left") for ax in figure.axes[:3]] == [
        "cross-entropy",
        "E1 λ=1, warm-up",
        "E3 b=1, warm-up",
    ]
    bands = [len(ax.collections) for ax in figure.axes]
    assert bands == [2] * 3 + [1] * 3 + [2] * 6  # the gradient's share is of hard strings only
    keep(figure, tmp_path)


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.1, Verdict.HOLDS), (0.4, Verdict.INCONCLUSIVE), (0.8, Verdict.FAILS)]
)
def test_anatomy_compares_the_gap_between_hard_and_easy(gap, verdict):
    results = {
        ("cross-entropy", "mean_ce_gap"): SeedValues(SEEDS, 0.4 + NOISE[::-1]),
        ("E2 λ=4, warm-up", "mean_ce_gap"): SeedValues(SEEDS, gap + NOISE),
    }
    judged = {claim.text: claim.verdict for claim in anatomy_claims.claims(results)}
    text = "E2 λ=4, warm-up has a smaller gap between hard and easy training loss"
    assert judged[text] is verdict


def test_context_is_drawn_per_split(tmp_path):
    write_results(tmp_path / "results.csv", context_results())
    figure = context_plot.plot(tmp_path)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["training strings", "unseen strings"]
    for ax in figure.axes:
        assert [label.get_text() for label in ax.get_xticklabels()] == ["55", "110", "220", "440"]
    keep(figure, tmp_path)


@pytest.mark.parametrize(("slope", "verdict"), [(-0.2, Verdict.HOLDS), (0.2, Verdict.FAILS)])
def test_context_is_judged_by_its_trend(slope, verdict):
    claims = context_claims.claims(context_results(slope))
    assert [claim.verdict for claim in claims] == [verdict, Verdict.HOLDS, Verdict.HOLDS]
    assert f"slope {slope:+.3f}" in claims[0].detail


def test_claims_on_nothing_are_inconclusive():
    for module in (losses_claims, anatomy_claims, context_claims):
        assert {claim.verdict for claim in module.claims({})} == {Verdict.INCONCLUSIVE}


def keep(figure, folder: Path):
    save_figure(figure, folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 10_000
