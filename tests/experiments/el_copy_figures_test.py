"""The figures and claims of the copy experiments on numbers made up for the purpose."""

import numpy as np
import pytest

from el_jax import build
from experiments.el_copy_anatomy import (
    claims as anatomy_claims,
)
from experiments.el_copy_context import (
    run as context_run,
    settings as context_settings,
)
from experiments.el_copy_width import run as width_run
from experiments.harness.claims import Verdict
from experiments.harness.sweep import setting_name
from tests.experiments.toys import results_of

NOISE = np.array([-0.02, 0.01, 0.0, 0.02, -0.01])
CE = "cross-entropy"


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


RATE_TIMES_WIDTH = {"smoke": 0.096, "quick": 0.192, "cpu": 0.192, "paper": 0.1024}


@pytest.mark.parametrize("scale", RATE_TIMES_WIDTH)
def test_rate_times_width_is_one_number_at_every_scale(scale):
    studies = width_run.studies(scale)
    rates = [study.config.optim.peak_lr * study.config.model.width for study in studies]
    np.testing.assert_allclose(rates, RATE_TIMES_WIDTH[scale])
    contexts = {study.suffix.split(", ")[1] for study in studies}
    assert len(studies) == len(contexts) * len(width_run.WIDTHS[scale])


def names_of(studies):
    """The settings of studies, as the tables name them."""
    return {
        setting_name(study.config, run, study.suffix)
        for study in studies
        for run in build.parse(study.config).rows
    }
