"""Claims and settings of the copy experiments."""

import numpy as np
import pytest

from experiments.el_copy_anatomy.claims import CE, CLAIMS, E1
from experiments.el_copy_overfit import claims as overfit, plot as overfit_plot, run as overfit_run
from experiments.el_copy_width import run as width_run
from experiments.harness.judging import Verdict, judged
from experiments.harness.tables import write_table
from tests.experiments.toys import table_of

NOISE = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.1, Verdict.HOLDS), (0.4, Verdict.UNDECIDED), (0.8, Verdict.FAILS)]
)
def test_anatomy_compares_the_gap_between_hard_and_easy(gap, verdict):
    results = table_of(
        [
            (CE, "mean_accuracy_gap", 0.4 + NOISE[::-1]),
            (E1, "mean_accuracy_gap", gap + NOISE),
        ]
    )
    found = {claim.text: outcome.verdict for claim, outcome in judged(CLAIMS["cpu"], results)}
    text = "E1 has a smaller gap in accuracy between easy and hard training strings"
    assert found[text] is verdict


def test_the_pilot_of_several_rates_is_drawn(tmp_path):
    rows = [
        (loss | warm_up | overfit.PROTOCOL | {"peak_lr": rate}, metric, [rate * 100, 0.2])
        for loss in (overfit.CE, overfit.E1)
        for warm_up in (overfit.COLD, overfit.WARM)
        for rate in overfit_run.RATES
        for metric in (overfit.HARD, overfit.COPIES, overfit.FITTED)
    ]
    write_table(tmp_path / "results.csv", table_of(rows))
    figure = overfit_plot.plot(tmp_path)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 8
    assert "E1 λ=4 η=0.0016, warm-up" in labels
    assert figure.get_suptitle().startswith("0 of 16 runs fit")
    assert figure.get_suptitle().count(".18") == 4  # the means at the rate that is reported


def test_rate_times_width_is_one_number_at_the_widths_of_the_paper():
    configs = [study.config for study in width_run.studies("paper")]
    rates = [config.optim.peak_lr * config.model.width for config in configs]
    np.testing.assert_allclose(rates, 0.1024)
    assert len(configs) == len(width_run.PAPER_WIDTHS) * len(width_run.PAPER_STRINGS)


def test_decay_times_rate_is_one_number_at_every_width():
    """So that an update shrinks the matrices alike."""
    studies = [s for s in width_run.studies("pilot") if s.factors["method"] == "weight decay"]
    sweeps = [study.config.sweep.optim for study in studies]
    shrinking = [sweep.peak_lr[0] * sweep.weight_decay[0] for sweep in sweeps]
    np.testing.assert_allclose(shrinking, 0.0048)
    assert {sweep.weight_decay for sweep in sweeps} == {(3.0,), (6.0,)}
