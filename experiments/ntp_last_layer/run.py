"""Methods of el_methods and SGD, and the margins of their last layers along training."""

from functools import partial

import numpy as np

from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_methods.run import config_of, study_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

PROBE = "experiments.ntp_last_layer.probe"  # registers head_margins
ADAMW, E1, DECAY, SIGNUM = "cross-entropy", "E1", "weight decay", "Signum"
SGD, UNTRAINED = "SGD", "untrained"
METHODS = ADAMW, E1, DECAY, SIGNUM, SGD, UNTRAINED
SGD_RATE = 0.1  # with momentum .9: the pilot fits in 2,000 updates, at .3 in 4,000
SHARES = FROBENIUS, MAX = "share_frobenius", "share_max"
GAIN, LEAD = "gain_after_fit", "lead_of_max"
METRICS = ["errs", "separable", *SHARES, GAIN, LEAD]
CURVES = ["errs", "separable", *SHARES]
SEEDS, FIRST_SEED = 10, 240  # data sets that no experiment has trained on


def differences(history: History) -> Row:
    """Changes of the shares, ``[R]`` by name.

    ``gain_after_fit`` is that of the Frobenius share from the first evaluation without an error to
    the end, NaN without one; ``lead_of_max`` is the max norm's share less the Frobenius one, at
    the end.
    """
    share, errs = history.curve(FROBENIUS)[1], history.curve("errs")[1]
    first = (errs == 0).argmax(axis=0)
    gain = share[-1] - np.take_along_axis(share, first[None], axis=0)[0]
    fitted = (errs == 0).any(axis=0)
    return {
        GAIN: np.where(fitted, gain, np.nan),
        LEAD: history.curve(MAX)[1][-1] - share[-1],
    }


def studies(scale: str) -> list[Study]:
    """A study for each method."""
    names = (ADAMW, UNTRAINED) if scale == "smoke" else METHODS
    found = [_study(name, smoke=scale == "smoke") for name in names]
    return on_pilot_data(found) if scale == "pilot" else found


def _study(name: str, *, smoke: bool) -> Study:
    if name == SGD:
        config = config_of("optimizer=sgd", smoke=smoke)
        config.sweep.optim.peak_lr = (SGD_RATE,)
    else:
        method, rates = (ADAMW, (1e-9,)) if name == UNTRAINED else (name, ())
        config = study_of(method, rates=rates, smoke=smoke).config
    config.seed = config.task.data_seed = FIRST_SEED
    config.imports = (PROBE,)
    config.train.probes = ("head_margins",)
    if not smoke:
        config.train.seeds = SEEDS
    if name == UNTRAINED:  # except for one update at the lowest rate
        config.optim.warmup_steps = 0
        config.train.update(num_updates=1, log_every=1, eval_every=1, checkpoint_every=1)
    return Study(config, {"method": name})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=differences)
