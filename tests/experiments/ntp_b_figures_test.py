"""Figures and claims on optimisers, dimensions and text, on numbers made up for the purpose."""

import math

import numpy as np
import pytest

from el_jax.config import linear_ntp as ntp_settings
from el_jax.linear_ntp import random_problem
from el_jax.plots import save_figure
from experiments.harness.claims import Verdict
from experiments.harness.tables import values_of, write_curves, write_results
from experiments.ntp_optimizers import (
    claims as optimizers_claims,
    plot as optimizers_plot,
    run as optimizers_run,
    settings as optimizers_settings,
)
from experiments.ntp_phase import claims as phase_claims, plot as phase_plot, run as phase_run
from experiments.ntp_phase.least_dimension import LeastDimension
from experiments.ntp_text import claims as text_claims, plot as text_plot
from tests.experiments.toys import curves_of, results_of

NOISE = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])


def around(mean):
    return mean + NOISE


def exactly(value):
    return np.full(len(NOISE), value)


def keep(figure, folder):
    save_figure(figure, folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 10_000


# ---- the least dimension ------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 4, 5, 9])
def test_the_least_dimension_is_found_and_few_are_looked_at(least):
    search = LeastDimension(random_problem(9, 9, 4, 2), lambda problem: problem.dim >= least)
    assert search.find() == least
    assert len(search.verdicts) <= 1 + math.ceil(math.log2(9))
    assert search.undecided == 0


@pytest.mark.parametrize(("least", "found"), [(1, 4), (4, 4), (5, 8), (9, 9)])
def test_a_least_dimension_is_rounded_up_to_a_multiple_of_the_step(least, found):
    search = LeastDimension(
        random_problem(9, 9, 4, 2), lambda problem: problem.dim >= least, step=4
    )
    assert search.find() == found
    assert set(search.verdicts) <= {4, 8, 9}


def test_a_least_dimension_is_not_guessed():
    problem = random_problem(9, 9, 4, 2)
    search = LeastDimension(problem, lambda cut: None if cut.dim < 6 else True)
    assert math.isnan(search.find())
    assert search.undecided == 1
    assert LeastDimension(problem, lambda cut: False).find() == math.inf
    assert math.isnan(LeastDimension(problem, lambda cut: None).find())


def test_what_is_cut_is_the_embeddings_alone():
    problem = random_problem(5, 7, 4, 2)
    seen = []
    LeastDimension(problem, lambda cut: bool(seen.append(cut)) or cut.dim >= 3).find()
    for cut in seen:
        np.testing.assert_array_equal(cut.embeddings, problem.embeddings[: cut.dim])
        np.testing.assert_array_equal(cut.next_token_probs, problem.next_token_probs)


# ---- optimisers ---------------------------------------------------------------------------------


def optimizer_results(lead=0.1, gap=2.0):
    table = {}
    for method, own in optimizers_settings.OWN_NORM.items():
        for S in (1, 3):
            setting = optimizers_settings.setting_name(method, S)
            for norm in optimizers_settings.NORMS:
                table[setting, f"margin_ratio_{norm}"] = around(0.8 + lead * (norm == own))
            table[setting, "margin_ratio_own_lead"] = around(lead)
            table[setting, "cosine_across_own_lead"] = around(lead)
            table[setting, "log10_excess_loss"] = around(-6.0 + gap * (S == 3))
    return table


def test_every_optimiser_has_a_row_and_every_norm_a_column(tmp_path):
    results, steps = optimizer_results(), np.array([1, 10, 100])
    write_results(tmp_path / "results.csv", results_of(results))
    courses = {
        (setting, "margin_ratio_own"): (steps, 0.3 * np.log10(steps) + NOISE[:, None])
        for setting, _ in results
    }
    write_curves(tmp_path / "curves.csv", curves_of(courses))
    figure = optimizers_plot.plot(tmp_path)
    keep(figure, tmp_path)
    norms = list(optimizers_settings.NORMS)
    for ax in figure.axes[:2]:
        shown = [text.get_text() for text in ax.texts]
        columns = [norms.index(norm) for norm in optimizers_settings.OWN_NORM.values()]
        own = [i * 3 + column for i, column in enumerate(columns)]
        assert len(shown) == 18
        assert {shown[i] for i in own} == {".90"}
        assert {text for i, text in enumerate(shown) if i not in own} == {".80"}
    for ax in figure.axes[2:4]:
        assert [line.get_label() for line in ax.lines] == list(optimizers_settings.NAMES.values())
        np.testing.assert_allclose(ax.lines[2].get_ydata(), [0.0, 0.3, 0.6], atol=1e-6)


@pytest.mark.parametrize(
    ("lead", "gap", "verdict"), [(0.1, 2.0, Verdict.HOLDS), (-0.1, 0.5, Verdict.FAILS)]
)
def test_optimisers_are_judged(lead, gap, verdict):
    claims = optimizers_claims.claims(results_of(optimizer_results(lead, gap)))
    assert [claim.verdict for claim in claims] == [verdict] * 20


def test_the_lead_of_a_norm_is_over_the_better_of_the_others():
    last = {"x_frobenius": 0.7, "x_max": 0.9, "x_spectral": 0.8}
    assert optimizers_run._lead(last, "x", "max") == pytest.approx(0.1)
    assert optimizers_run._lead(last, "x", "frobenius") == pytest.approx(-0.2)


# ---- dimensions of random data ------------------------------------------------------------------


def phase_results(separable=0.55, above=0.0):
    table = {}
    for m in (24, 48):
        for V, S in phase_run.SIZES:
            name = phase_run.Ensemble(m, V, S).name
            table[name, "compatible_from"] = around(0.2)
            table[name, "separable_from"] = around(separable + 0.1 * (S == 6))
            table[name, "separable_above_cover_count"] = around(above - 0.1)
            table[name, "separable_spread"] = around(2.4 / m)
    table[phase_run.POOLED, "compatible_above_count"] = around(above + 0.1)
    table[phase_run.POOLED, "both_at_m"] = exactly(1.0)
    table[phase_run.POOLED, "undecided_share"] = exactly(0.0)
    return table


def test_dimensions_are_judged():
    assert {claim.verdict for claim in phase_claims.claims(results_of(phase_results()))} == {
        Verdict.HOLDS
    }
    late = {
        c.text: c.verdict for c in phase_claims.claims(results_of(phase_results(0.7, above=0.3)))
    }
    assert late["Data become separable near d = .55 m (V=6, S=2, m=24): by .60"] is Verdict.FAILS
    assert list(late.values()).count(Verdict.FAILS) == 4


def test_what_is_counted():
    ensemble = phase_run.Ensemble(num_contexts=24, vocab_size=6, support_size=2)
    assert ensemble.counting_bound == 5  # 24 equations, 5 unknowns a dimension
    assert 5 * ensemble.cover_count - 24 == pytest.approx(24 * (6 - 2) / 2)
    assert phase_run.Ensemble(10, 2, 1).cover_count == 5  # Cover: half as many dimensions


def test_dimensions_are_drawn_as_shares(tmp_path):
    dims, table = np.arange(1, 9), {}
    for V, S in phase_run.SIZES:
        for condition, least in (("compatible", 2), ("separable", 5)):
            values = (dims >= least + np.arange(3)[:, None]).astype(float)
            setting = phase_run.Ensemble(8, V, S).name
            table[setting, condition] = dims, values
    write_curves(tmp_path / "curves.csv", curves_of(table))
    write_results(tmp_path / "results.csv", results_of(phase_results()))
    figure = phase_plot.plot(tmp_path)
    keep(figure, tmp_path)
    assert len(figure.axes) == 3
    for ax in figure.axes:
        compatible, separable, count, cover = ax.get_lines()
        np.testing.assert_allclose(compatible.get_ydata()[:5], [0, 1 / 3, 2 / 3, 1, 1])
        np.testing.assert_allclose(separable.get_ydata()[3:7], [0, 1 / 3, 2 / 3, 1])
        np.testing.assert_allclose(compatible.get_xdata(), dims / 8)
        assert count.get_xdata()[0] < cover.get_xdata()[0] < 1


def test_the_summary_has_distances_from_the_median_and_the_worst_size_of_each_seed():
    rows = results_of(
        {
            ("a", "both_at_m"): [1.0, 1.0],
            ("b", "both_at_m"): [0.0, 1.0],
            ("a", "undecided_share"): [0.1, 0.0],
            ("b", "undecided_share"): [0.0, 0.0],
            ("a", "separable_from"): [0.5, 0.7],
            ("b", "separable_from"): [0.4, math.nan],  # undecided: no median
        }
    )
    found = phase_run.summary(rows)
    assert list(values_of(found, phase_run.POOLED, "both_at_m")) == [0.0, 1.0]
    assert list(values_of(found, phase_run.POOLED, "undecided_share")) == [0.1, 0.0]
    np.testing.assert_allclose(values_of(found, "a", "separable_spread"), 0.1)
    assert values_of(found, "b", "separable_spread").isna().all()


# ---- text ---------------------------------------------------------------------------------------


def text_results(sign=1.0):
    table = {}
    for T in (1, 2, 3):
        table[f"T={T}", "entropy"] = around(2.0 - 0.5 * sign * T)
        table[f"T={T}", "separable_from"] = around(50 + 20 * sign * T)
        table[f"T={T}", "separable_from_share"] = around(0.8 - sign * (0.2 + 0.05 * T))
        table[f"T={T}", "compatible_from_share"] = around(0.3)
        table[f"T={T}", "separable_after_compatible"] = around(0.1 * sign)
        table[f"T={T}", "undecided_share"] = exactly(0.0 if sign > 0 else 0.5)
        for ratio in text_claims.RATIOS:
            share = 0.5 + 0.1 * sign * math.log2(ratio)
            table[f"T={T}, d={ratio:g}m", "margin_share"] = around(share)
            table[f"T={T}, d={ratio:g}m", "margin"] = around(0.5 - 0.1 * sign * T)
    for setting, order in (("bag of words", 0.0), ("one-hot positions", sign)):
        table[f"{setting}, T=2", "separable"] = around(0.5 + 0.4 * order)
        table[f"{setting}, T=2", "entropy"] = around(1.0 - 0.3 * order)
    return table


@pytest.mark.parametrize(("sign", "verdict"), [(1.0, Verdict.HOLDS), (-1.0, Verdict.FAILS)])
def test_text_is_judged(sign, verdict):
    assert {claim.verdict for claim in text_claims.claims(results_of(text_results(sign)))} == {
        verdict
    }


def test_text_is_drawn(tmp_path):
    write_results(tmp_path / "results.csv", results_of(text_results()))
    steps = np.array([100, 150, 200])
    table = {
        (f"T={T}", "margin_share"): (steps, 0.1 * T + NOISE[:, None] + steps / 500)
        for T in (1, 2, 3)
    }
    write_curves(tmp_path / "curves.csv", curves_of(table))
    figure = text_plot.plot(tmp_path)
    keep(figure, tmp_path)
    entropy, dimensions, margins = figure.axes
    np.testing.assert_allclose(entropy.lines[0].get_ydata(), [1.5, 1.0, 0.5])
    assert [label.get_text() for label in dimensions.get_xticklabels()] == ["1", "2", "3"]
    np.testing.assert_allclose(margins.lines[1].get_ydata(), 0.2 + steps / 500)


def test_claims_on_nothing_are_inconclusive():
    for module in (optimizers_claims, phase_claims, text_claims):
        assert {claim.verdict for claim in module.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def test_a_passage_starts_at_its_first_word(monkeypatch):
    words = list("abacabaacb")
    monkeypatch.setattr(ntp_settings, "king_james_words", lambda books: words)

    def passage(first_word, num_words):
        return ntp_settings.text_problem(
            books=(), first_word=first_word, num_words=num_words, context_length=1,
            vocab_limit=3, min_count=1, embedding="bag_of_words", dim=0, seed=0,
        )  # fmt: skip

    cut = passage(2, 6)  # a c a b a a: of its five pairs, three begin with a
    np.testing.assert_allclose(np.sort(cut.context_probs), [1 / 5, 1 / 5, 3 / 5])
    monkeypatch.setattr(ntp_settings, "king_james_words", lambda books: words[2:8])
    np.testing.assert_array_equal(passage(0, 0).next_token_probs, cut.next_token_probs)
    with pytest.raises(ValueError, match="first_word=-1: must be at least 0"):
        passage(-1, 6)
