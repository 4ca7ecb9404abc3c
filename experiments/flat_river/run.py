"""A table of bigrams under five schedules, and a transformer under three of them."""

from functools import partial

import jax.numpy as jnp

from configs.flatness.masked import get_config
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

RIVER, HILL = "log10_kl_river", "log10_kl_hill"
METRICS = [RIVER, HILL, "log10_kl", "decay_lowers_hill", "half_before_lowers_hill"]
CURVES = ["kl_river", "kl_hill"]

NUM_UPDATES, EVAL_EVERY = 4_000, 100
DECAY = 0.1  # share of the updates
PEAK, LOW = 20.0, 2.0  # SGD's rates for the table
SCHEDULES = {  # schedule and its peak, as a multiple of the high one
    "WSD": ("wsd_inverse", 1.0),
    "WSD-S": ("wsd_s", 1.0),
    "constant": ("constant", 1.0),
    "low": ("constant", LOW / PEAK),
    "cosine": ("cosine", 1.0),
}
TRANSFORMER_PEAKS = (1e-3, 3e-3, 1e-2)  # AdamW's learning rates in the pilot
TRANSFORMER_PEAK = 3e-3  # the one with the least divergence
SEEDS = 16


def ends(history: History) -> Row:
    """Log divergences at the end, and the gains from the decay and from the half before it."""
    rows = {name: history.curve(name)[1] for name in ("kl_river", "kl_hill", "kl")}
    hill, steps = rows["kl_hill"], history.curve("kl_hill")[0]
    last = steps[-1]

    def at(share: float) -> int:
        return max(i for i, step in enumerate(steps) if step <= share * last)

    before, halfway = (hill[at(share)] for share in (1 - DECAY, 0.5))
    return {
        **{f"log10_{name}": jnp.log10(values[-1]) for name, values in rows.items()},
        "decay_lowers_hill": before / hill[-1],
        "half_before_lowers_hill": halfway / before,
    }


def studies(scale: str) -> list[Study]:
    """A study for each model and schedule; in the pilot, over the transformer's rates."""
    if scale == "smoke":
        return [_study("table", "WSD", smoke=True), _study("table", "low", smoke=True)]
    if scale == "pilot":
        return on_pilot_data([_study("transformer", "WSD", peaks=TRANSFORMER_PEAKS)])
    tables = [_study("table", name) for name in SCHEDULES]
    return tables + [_study("transformer", name) for name in ("WSD", "constant", "low")]


def _study(model: str, name: str, peaks: tuple[float, ...] = (), *, smoke: bool = False) -> Study:
    """A model under a schedule; a window has 16 words, an update 64 words."""
    kind = "lookup_table,optimizer=sgd" if model == "table" else "gpt_neox,optimizer=adamw"
    config = get_config(f"task=causal,world=bigram_river,model={kind}" + ",smoke" * smoke)
    schedule, factor = SCHEDULES[name]
    config.optim.update(schedule=schedule, decay_fraction=DECAY)
    peak = PEAK if model == "table" else TRANSFORMER_PEAK
    config.sweep.optim.peak_lr = peaks or (factor * peak,)
    config.train.probes = ("true_conditional", "river_hill")
    config.task.sentences_per_update = 4
    if not smoke:
        config.optim.warmup_steps = NUM_UPDATES * 2 // 100
        config.train.update(
            num_updates=NUM_UPDATES, log_every=EVAL_EVERY, eval_every=EVAL_EVERY, seeds=SEEDS
        )
    return Study(config, {"model": model, "schedule": name})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=ends)
