"""The figures and claims of the copy experiments on numbers made up for the purpose."""

from pathlib import Path

import numpy as np
import pytest

from el_jax.plots import save_figure
from experiments.el_copy_anatomy import claims as anatomy_claims, plot as anatomy_plot
from experiments.el_copy_context import claims as context_claims, plot as context_plot
from experiments.el_copy_losses import claims as losses_claims, plot as losses_plot
from experiments.el_copy_width import claims as width_claims, plot as width_plot, run as width_run
from experiments.harness.claims import Verdict
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

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
    return np.clip(mean + NOISE, 0, 1) if mean < 1 else np.ones(len(NOISE))


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
        table[f"E1 λ=1, warm-up, context {context}", "test_precise_hard_accuracy"] = np.array(
            [0.04, 0.97, 0.95, 0.99, 0.3]
        )
        for metric in ("test_precise_easy_accuracy", "train_easy_accuracy", "train_hard_accuracy"):
            table[f"E1 λ=1, warm-up, context {context}", metric] = seeds_around(0.98)
    return table


def width_results(fall=0.05, growth=2.0, contexts=(55,)):
    """Ten seeds, the spread ``growth`` times as large with each doubling of the width."""
    table = {}
    noise = np.linspace(-1, 1, 10)
    for place, width in enumerate((16, 32, 64, 128)):
        for context in contexts:
            setting = f"cross-entropy, context {context}, width {width}"
            values = 0.5 - fall * place + 0.03 * growth**place * noise
            table[setting, "test_precise_hard_accuracy"] = values
            for metric in ("test_precise_easy_accuracy", "train_hard_accuracy"):
                table[setting, metric] = np.ones(10)
    return table


def anatomy_curves():
    steps = np.unique(np.round(np.geomspace(1, 4000, 50)).astype(int))
    table = {}
    for setting, delay in {"cross-entropy": 1, "E1 λ=1, warm-up": 10, "E3 b=1, warm-up": 5}.items():
        jitter = 1 + NOISE[:, None]
        easy, hard = np.exp(-steps / (8 * delay)), np.exp(-steps / 700)
        table[setting, "train_easy_accuracy"] = steps, jitter * (1 - 0.96 * easy)
        table[setting, "train_hard_accuracy"] = steps, jitter * (1 - 0.96 * hard)
        table[setting, "test_easy_accuracy"] = steps, jitter * (1 - 0.96 * easy)
        values = jitter * (0.04 + 0.09 * delay * (1 - hard))
        for metric in ("test_hard_accuracy", "swap_copies", "train_hard_gradient_share"):
            table[setting, metric] = steps, values
        table[setting, "swap_undoes_shift"] = steps, 1 - values
    return table


def test_losses_are_drawn_by_alphabet_and_group(tmp_path):
    write_results(tmp_path / "results.csv", results_of(loss_results()))
    figure = losses_plot.plot(tmp_path)
    keep(figure, tmp_path)
    rows = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes]
    assert rows == [list(HARD_ACCURACY)[:6], list(HARD_ACCURACY)[6:]]
    assert figure.get_suptitle() == (
        "Best on unseen hard strings is E2 λ=4, warm-up: .95; cross-entropy: .30"
    )
    assert "unseen easy strings: right on at least .97 (V = 26)" in figure.get_supxlabel()


def test_losses_are_drawn_when_training_was_fitted_too(tmp_path):
    table = loss_results()
    table |= {(s, "hard_accuracy_when_fitted"): seeds_around(0.2) for s in list(HARD_ACCURACY)[:3]}
    write_results(tmp_path / "results.csv", results_of(table))
    figure = losses_plot.plot(tmp_path)
    assert [len(ax.containers) for ax in figure.axes] == [6, 3, 2, 0]


def test_losses_are_judged():
    verdicts = [claim.verdict for claim in losses_claims.claims(results_of(loss_results()))]
    assert verdicts == [Verdict.HOLDS] * 8
    swapped = loss_results()
    first, second = "cross-entropy", "E1 λ=4, warm-up"
    for metric in ("test_precise_hard_accuracy", "test_precise_easy_accuracy"):
        swapped[first, metric], swapped[second, metric] = (
            swapped[second, metric],
            swapped[first, metric],
        )
    fails = {
        claim.text
        for claim in losses_claims.claims(results_of(swapped))
        if claim.verdict is Verdict.FAILS
    }
    assert "E1 gains from warm-up (λ=4)" in fails
    assert "E1 λ=4, warm-up copies unseen hard strings better than cross-entropy" in fails


def test_anatomy_has_a_row_per_setting(tmp_path):
    write_curves(tmp_path / "curves.csv", curves_of(anatomy_curves()))
    figure = anatomy_plot.plot(tmp_path)
    assert [ax.get_ylabel() for ax in figure.axes[::4]] == [
        "cross-entropy",
        "E1 λ=1, warm-up",
        "E3 b=1, warm-up",
    ]
    bands = [len(ax.collections) for ax in figure.axes]
    assert bands == [2, 1, 2, 2] * 3  # the gradient's share is of hard strings only
    for ax in figure.axes[3::4]:  # one kind of string: one line style, two colours
        answers = [line for line in ax.lines if line.get_gid() != "chance"]
        assert {line.get_linestyle() for line in answers} == {"-"}
        assert len({line.get_color() for line in answers}) == 2
    keep(figure, tmp_path)


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.1, Verdict.HOLDS), (0.4, Verdict.INCONCLUSIVE), (0.8, Verdict.FAILS)]
)
def test_anatomy_compares_the_gap_between_hard_and_easy(gap, verdict):
    results = {
        ("cross-entropy", "mean_ce_gap"): 0.4 + NOISE[::-1],
        ("E2 λ=4, warm-up", "mean_ce_gap"): gap + NOISE,
    }
    judged = {claim.text: claim.verdict for claim in anatomy_claims.claims(results_of(results))}
    text = "E2 λ=4, warm-up has a smaller gap between hard and easy training loss"
    assert judged[text] is verdict


def test_context_is_drawn_per_loss_and_group(tmp_path):
    write_results(tmp_path / "results.csv", results_of(context_results()))
    figure = context_plot.plot(tmp_path)
    (ax,) = figure.axes
    assert ax.get_legend_handles_labels()[1] == [
        f"{loss}, {group} strings"
        for loss in ("cross-entropy", "E1 λ=1, warm-up")
        for group in ("hard", "easy")
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["55", "110", "220", "440"]
    (mean, *_) = ax.containers[0].lines
    np.testing.assert_allclose(mean.get_ydata(), [0.8, 0.6, 0.4, 0.2], atol=1e-6)
    shown = figure.get_suptitle().split("\n")[1]
    assert shown == "cross-entropy: .80 to .20; E1 λ=1, warm-up: .65 to .65 (chance .04)"
    keep(figure, tmp_path)


@pytest.mark.parametrize(("slope", "verdict"), [(-0.2, Verdict.HOLDS), (0.2, Verdict.FAILS)])
def test_context_is_judged_by_its_trend(slope, verdict):
    claims = context_claims.claims(results_of(context_results(slope)))
    assert [claim.verdict for claim in claims] == [verdict, Verdict.HOLDS, Verdict.HOLDS]
    assert f"slope {slope:+.3f}" in claims[0].detail


def test_width_is_drawn_with_a_row_per_context(tmp_path):
    write_results(tmp_path / "results.csv", results_of(width_results(contexts=(55, 440))))
    figure = width_plot.plot(tmp_path)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[0::2] == ["(a) unseen strings, context 55", "(c) unseen strings, context 440"]
    for ax in figure.axes[2:]:
        assert [label.get_text() for label in ax.get_xticklabels()] == ["16", "32", "64", "128"]
    worst = next(line for line in figure.axes[0].lines if "worst" in str(line.get_label()))
    np.testing.assert_allclose(worst.get_ydata(), [0.47, 0.39, 0.28, 0.11], atol=1e-6)
    keep(figure, tmp_path)


@pytest.mark.parametrize(
    ("fall", "said"), [(0.1, "? Yes:\n−.100 a"), (-0.1, "? No:\n+.100 a"), (0.0, "? No:\n+.000 a")]
)
def test_the_title_says_whether_width_costs_accuracy(fall, said):
    assert said in width_plot.answer(results_of(width_results(fall)))


def test_the_title_does_not_guess_from_one_width_or_one_seed():
    alone = {key: value for key, value in width_results().items() if "width 16" in key[0]}
    single = {key: values[:1] for key, values in width_results().items()}
    for table in (alone, single):
        assert width_plot.answer(results_of(table)).endswith("strings?")


@pytest.mark.parametrize(
    ("fall", "growth", "verdicts"),
    [
        (0.1, 2.0, [Verdict.HOLDS, Verdict.HOLDS, Verdict.HOLDS]),
        (-0.1, 0.5, [Verdict.FAILS, Verdict.FAILS, Verdict.FAILS]),
        (0.05, 1.0, [Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.FAILS]),
    ],
)
def test_width_is_judged_by_mean_spread_and_worst_seed(fall, growth, verdicts):
    results = width_results(fall, growth)
    last = ("cross-entropy, context 55, width 128", "test_precise_hard_accuracy")
    results[last] = np.maximum(results[last], 0.04)
    claims = width_claims.claims(results_of(results))
    assert [claim.verdict for claim in claims[:3]] == verdicts
    assert [claim.verdict for claim in claims[3:]] == [Verdict.HOLDS] * 2


def test_one_width_or_one_seed_is_judged_as_far_as_it_can_be():
    results = {key: value for key, value in width_results().items() if "width 16" in key[0]}
    undecided = [
        claim.verdict is Verdict.INCONCLUSIVE for claim in width_claims.claims(results_of(results))
    ]
    assert undecided == [True, True, False, False, False]
    alone = results_of({key: values[:1] for key, values in width_results().items()})
    undecided = [claim.verdict is Verdict.INCONCLUSIVE for claim in width_claims.claims(alone)]
    assert undecided == [True, True, False, True, True]


@pytest.mark.parametrize("scale", ["smoke", "quick", "cpu", "paper"])
def test_rate_times_width_is_one_number_at_every_scale(scale):
    studies = width_run.studies(scale)
    rates = [study.config.optim.peak_lr * study.config.model.width for study in studies]
    np.testing.assert_allclose(rates, 0.1024 if scale == "paper" else 0.096)
    contexts = {study.suffix.split(", ")[1] for study in studies}
    assert len(studies) == len(contexts) * len(width_run.WIDTHS[scale])


def test_claims_on_nothing_are_inconclusive():
    for module in (losses_claims, anatomy_claims, context_claims, width_claims):
        assert {claim.verdict for claim in module.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def keep(figure, folder: Path):
    save_figure(figure, folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 10_000
