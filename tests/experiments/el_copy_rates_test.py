"""The claims and the picture of losses over learning rates, on made-up tables."""

import numpy as np
import pytest

from experiments.el_copy_rates.claims import claims
from experiments.el_copy_rates.plot import answer, plot
from experiments.el_copy_rates.settings import LABELS, LONGER, NONE, WARM, named, rates_of
from experiments.harness.claims import Verdict
from experiments.harness.tables import results_frame, write_results

UNSEEN, FITTED, EASY = (
    "test_precise_hard_accuracy",
    "train_hard_accuracy",
    "test_precise_easy_accuracy",
)


ALL = tuple(LABELS.values())


def table(rates, losses=ALL, seeds=5):
    """The E-losses copy with warm-up at every rate; cross-entropy at none."""
    noise = np.random.default_rng(0)
    rows = []

    def add(setting, value, metric=UNSEEN):
        rows.extend((setting, seed, metric, value + 1e-3 * noise.normal()) for seed in range(seeds))

    for loss in losses:
        for rate in rates:
            for warm_up in (NONE, WARM):
                copies = warm_up == WARM and loss != "cross-entropy"
                add(named(loss, rate, warm_up), 0.995 + 1e-3 * rate if copies else 0.2)
                add(named(loss, rate, warm_up), 0.996, FITTED)
                add(named(loss, rate, warm_up), 0.996, EASY)
    if len(rates) > 1:
        add(named("E2 λ=4", rates[-1], WARM) + LONGER, 0.995)
        add(named("cross-entropy", rates[-1], WARM) + LONGER, 0.3)
    return results_frame(rows)


def test_rates_are_read_from_the_names():
    assert rates_of(table((0.003, 0.01, 1e-4))) == [1e-4, 0.003, 0.01]


@pytest.mark.parametrize(("rates", "number"), [((0.003, 0.01), 23), ((0.01,), 5)])
def test_what_the_paper_claims_holds_where_it_is_so(rates, number):
    losses = ALL if len(rates) > 1 else ("cross-entropy", "E2 λ=4")
    judged = claims(table(rates, losses))
    assert len(judged) == number
    undecided = [claim.text for claim in judged if claim.verdict is not Verdict.HOLDS]
    assert undecided == ["E2 λ=4 adds more to warm-up at η = 0.01 than at 0.003"] * (number == 23)


def test_nothing_holds_where_warm_up_alone_does_it():
    results = table((0.003, 0.01))
    warmed = results["setting"].str.contains("warm-up") & (results["metric"] == UNSEEN)
    results.loc[warmed & results["setting"].str.startswith("cross"), "value"] = 1.0
    failing = [claim.text for claim in claims(results) if claim.verdict is Verdict.FAILS]
    assert any("Warm-up alone" in text for text in failing)
    assert any("adds to warm-up" in text for text in failing)


@pytest.mark.parametrize("rates", [(0.003, 0.01), (0.01,)])
def test_the_title_has_the_means_of_the_table(tmp_path, rates):
    results = table(rates)
    write_results(tmp_path / "results.csv", results)
    figure = plot(tmp_path)
    assert figure.get_suptitle() == answer(results)
    if len(rates) == 1:
        assert "from .20 to .20 of" in answer(results)
        assert "on .20 without and on 1.00 with" in answer(results)
    else:
        assert answer(results).count("cross-entropy .20 and .20, E2 .20 and 1.00") == len(rates)
