"""The figures and claims of the copy experiments on numbers made up for the purpose."""

from pathlib import Path

import numpy as np
import pytest

from el_jax import build
from el_jax.plots import save_figure
from experiments.el_copy_anatomy import (
    claims as anatomy_claims,
    plot as anatomy_plot,
    run as anatomy_run,
)
from experiments.el_copy_context import (
    claims as context_claims,
    plot as context_plot,
    run as context_run,
    settings as context_settings,
)
from experiments.el_copy_losses import (
    claims as losses_claims,
    plot as losses_plot,
    run as losses_run,
)
from experiments.el_copy_width import claims as width_claims, plot as width_plot, run as width_run
from experiments.harness.claims import Verdict
from experiments.harness.sweep import setting_name
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

NOISE = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])
CE = "cross-entropy"
HARD_ACCURACY = {
    "cross-entropy": 0.3,
    "cross-entropy, warm-up": 0.2,
    "E1 λ=2": 0.08,
    "E1 λ=4": 0.7,
    "E1 λ=4, warm-up": 0.9,
    "E1 λ=8, warm-up": 0.8,
    "E2 λ=10, warm-up": 1.0,
    "E3 b=1, warm-up": 0.6,
    "cross-entropy, warm-up, L_c=5, V=500": 0.2,
    "E1 λ=1, warm-up, L_c=5, V=500": 1.0,
    "E3 b=1, warm-up, L_c=5, V=500": 0.4,
}
FEW_LETTERS = 8  # settings at the head of the table


def seeds_around(mean):
    return np.clip(mean + NOISE, 0, 1) if mean < 1 else np.ones(len(NOISE))


def loss_results():
    table = {}
    for setting, accuracy in HARD_ACCURACY.items():
        for metric in ("test_precise_hard_accuracy", "test_precise_hard_exact_match"):
            table[setting, metric] = seeds_around(accuracy)
        table[setting, "test_precise_easy_accuracy"] = seeds_around(0.97)
        table[setting, "train_hard_accuracy"] = seeds_around(1.0)
    return table


def context_results(slope=-0.2, steps=1.0):
    """Cross-entropy changes by ``slope`` with each step of a factor; warm-up makes it .2 more."""
    table = {}
    for loss, lead in {CE: 0.0, f"{CE}, warm-up": 0.2, "E2 λ=4, warm-up": 0.3}.items():
        for factor in context_settings.VALUES if loss.startswith(CE) else ["context"]:
            values = context_settings.VALUES[factor]
            base = values.index(context_settings.BASE[factor])
            for place, value in enumerate(values):
                setting = context_settings.named(loss, factor, value)
                hard = 0.5 + lead + slope * (place - base) * steps
                table[setting, "test_precise_hard_accuracy"] = hard + NOISE
                for metric in ("train_hard_accuracy", "test_precise_easy_accuracy"):
                    table[setting, metric] = seeds_around(1.0)
    table[f"{CE}, all tokens, context 110", "test_precise_hard_accuracy"] = 0.5 + NOISE[::-1]
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
    for setting, delay in {CE: 1, "E2 λ=4": 10, "E2 λ=4, warm-up": 5}.items():
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
    rows = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes[::2]]
    few, many = list(HARD_ACCURACY)[:FEW_LETTERS], list(HARD_ACCURACY)[FEW_LETTERS:]
    assert rows == [few, many]
    assert figure.get_suptitle() == (
        "Best on unseen hard strings is E2 λ=10, warm-up: 1.00\n"
        "cross-entropy: .30; cross-entropy, warm-up: .20"
    )
    assert "unseen easy strings: right on at least .97 (V = 26)" in figure.get_supxlabel()


def test_losses_are_drawn_on_training_strings_too(tmp_path):
    table = loss_results()
    table = {
        key: values for key, values in table.items() if key != ("E1 λ=2", "train_hard_accuracy")
    }
    write_results(tmp_path / "results.csv", results_of(table))
    figure = losses_plot.plot(tmp_path)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[0] == "(a) unseen hard strings, V = 26"
    assert titles[3] == "(d) hard training strings, V = 500"
    assert [len(ax.containers) for ax in figure.axes] == [FEW_LETTERS, FEW_LETTERS - 1, 3, 3]


def test_losses_are_judged():
    verdicts = [claim.verdict for claim in losses_claims.claims(results_of(loss_results()))]
    assert verdicts == [Verdict.HOLDS] * 19
    swapped = loss_results()
    for setting, other in {CE: "E1 λ=4, warm-up", "E1 λ=2": "E1 λ=8, warm-up"}.items():
        key, its = ((name, "test_precise_hard_accuracy") for name in (setting, other))
        swapped[key], swapped[its] = swapped[its], swapped[key]
    fails = {
        claim.text
        for claim in losses_claims.claims(results_of(swapped))
        if claim.verdict is Verdict.FAILS
    }
    assert fails == {
        "Cross-entropy does not copy unseen hard strings",
        "E1 λ=2 without warm-up does not copy them",
        "E1 λ=4 with warm-up is better than cross-entropy",
        "E1 λ=4 gains from warm-up",
        "E1 λ=4, warm-up is right on 0.780 of them, or more",
        "E1 λ=8, warm-up is right on 0.693 of them, or more",
        "E3 b=1 with warm-up is better than cross-entropy",
    }


@pytest.mark.parametrize("scale", ["quick", "cpu", "paper"])
def test_every_claim_on_a_loss_has_its_setting_at_the_scale(scale):
    names = names_of(losses_run.studies(scale))
    measured = {
        (name, metric): seeds_around(0.5)
        for name in names
        for metric in ("train_hard_accuracy", losses_claims.HARD, losses_claims.EXACT)
    }
    found = losses_claims.claims(results_of(measured))
    assert len(found) == (11 if scale == "quick" else 19)
    assert not [claim.text for claim in found if claim.detail.startswith("not measured")]


def test_anatomy_has_a_row_per_setting(tmp_path):
    write_curves(tmp_path / "curves.csv", curves_of(anatomy_curves()))
    figure = anatomy_plot.plot(tmp_path)
    assert [ax.get_ylabel() for ax in figure.axes[::4]] == [CE, "E2 λ=4", "E2 λ=4, warm-up"]
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
        (CE, "mean_accuracy_gap"): 0.4 + NOISE[::-1],
        ("E2 λ=4, warm-up", "mean_accuracy_gap"): gap + NOISE,
    }
    judged = {claim.text: claim.verdict for claim in anatomy_claims.claims(results_of(results))}
    text = "E2 λ=4, warm-up has a smaller gap in accuracy between easy and hard training"
    assert judged[text] is verdict


def test_every_claim_on_the_course_has_its_setting():
    measured = {
        (name, metric): seeds_around(0.5)
        for name in names_of(anatomy_run.studies("cpu"))
        for metric in anatomy_run.METRICS
    }
    found = anatomy_claims.claims(results_of(measured))
    assert len(found) == 12
    assert not [claim.text for claim in found if claim.detail.startswith("not measured")]


def test_each_factor_of_the_data_has_a_panel_and_each_loss_a_line(tmp_path):
    write_results(tmp_path / "results.csv", results_of(context_results()))
    figure = context_plot.plot(tmp_path)
    assert [[label.get_text() for label in ax.get_xticklabels()] for ax in figure.axes] == [
        ["55", "110", "220", "440"],
        ["10", "25", "50", "100"],
        ["0", "0.5", "0.8", "0.9"],
    ]
    lines = [ax.get_legend_handles_labels()[1] for ax in figure.axes]
    losses = list(context_settings.LOSSES)
    assert lines == [losses, losses[:2], losses[:2]]
    (mean, *_) = figure.axes[0].containers[0].lines
    np.testing.assert_allclose(mean.get_ydata(), [0.7, 0.5, 0.3, 0.1], atol=1e-6)
    assert figure.get_suptitle().split("\n")[1] == (
        "cross-entropy: .70 to .10; cross-entropy, warm-up: .90 to .30; "
        "E2 λ=4, warm-up: 1.00 to .40"
    )
    keep(figure, tmp_path)


@pytest.mark.parametrize(("slope", "verdict"), [(-0.2, Verdict.HOLDS), (0.2, Verdict.FAILS)])
def test_the_factors_of_the_data_are_judged_by_their_trends(slope, verdict):
    found = context_claims.claims(results_of(context_results(slope)))
    trends = [claim for claim in found if "slope" in claim.text]
    assert [claim.verdict for claim in trends] == [verdict] * 7
    assert all(f"slope {slope:+.3f}" in claim.detail for claim in trends[:3])
    others = [claim.verdict for claim in found if "slope" not in claim.text]
    copies = Verdict.HOLDS if slope < 0 else Verdict.FAILS  # .9 or .1 without easy strings
    assert others[:-1] == [Verdict.HOLDS] * 6
    assert others[-1] in (copies, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("scale", ["smoke", "quick", "cpu", "paper"])
def test_names_of_the_factors_are_those_that_are_trained(scale):
    names = names_of(context_run.studies(scale))
    found = context_settings.measured(names, CE, context_settings.CONTEXT)
    assert len(found) == len(context_run.STRINGS_PER_WINDOW[scale])
    if scale == "cpu":
        everything = {
            context_settings.named(loss, factor, value)
            for loss in context_settings.LOSSES
            for factor, values in context_settings.VALUES.items()
            for value in values
            if loss.startswith(CE) or factor == "context"
        }
        assert names == everything | {f"{CE}, all tokens, context 110"}


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


RATE_TIMES_WIDTH = {"smoke": 0.096, "quick": 0.192, "cpu": 0.192, "paper": 0.1024}


@pytest.mark.parametrize("scale", RATE_TIMES_WIDTH)
def test_rate_times_width_is_one_number_at_every_scale(scale):
    studies = width_run.studies(scale)
    rates = [study.config.optim.peak_lr * study.config.model.width for study in studies]
    np.testing.assert_allclose(rates, RATE_TIMES_WIDTH[scale])
    contexts = {study.suffix.split(", ")[1] for study in studies}
    assert len(studies) == len(contexts) * len(width_run.WIDTHS[scale])


def test_claims_on_nothing_are_inconclusive():
    for module in (losses_claims, anatomy_claims, context_claims, width_claims):
        assert {claim.verdict for claim in module.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def names_of(studies):
    """The settings of studies, as the tables name them."""
    return {
        setting_name(study.config, run, study.suffix)
        for study in studies
        for run in build.parse(study.config).rows
    }


def keep(figure, folder: Path):
    save_figure(figure, folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 10_000
