"""Three optimizers and two losses on facts whose frequencies follow Zipf's law."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from configs.flatness.masked import get_config
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_times.facts import NUM_OCTAVES
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep
from experiments.ntp_times.run import exponent

MODULE = "experiments.el_times.facts"  # registers world and probe
LEVELS = {"exponent": 0.5, "exponent_at_a_quarter": 0.25, "exponent_at_one": 1.0}  # nats
MARGINS = [f"margin_{k}" for k in range(NUM_OCTAVES)]
METRICS = [*LEVELS, "exponent_from_rank_8", "learnt", "margin_spread"]
METRICS += [f"time_{k}" for k in range(NUM_OCTAVES)]
CURVES = [MARGINS[0], MARGINS[4], MARGINS[8]]
# mean probability of a fact in each octave, up to a factor
FREQUENCY = np.array([np.mean(1 / np.arange(2**k, 2 ** (k + 1))) for k in range(NUM_OCTAVES)])

NUM_UPDATES, EVAL_EVERY = 1_000, 5
FAST = 3  # cross-entropy is also run at this multiple of the learning rate


class Optimizer(NamedTuple):
    """An optimizer.

    Attributes:
        name: value of ``optim.name``.
        rates: learning rates that the pilot tries.
        rate: at most the lowest of these: there the pilot learns the rarest facts within 84 (SGD),
            263 (AdamW) and 111 (Muon) updates, and a lower rate is closer to the flow.
        numbers: numbers of its section.
    """

    name: str
    rates: Sequence[float]
    rate: float
    numbers: dict[str, float]


OPTIMIZERS = {
    "SGD": Optimizer("sgd", (0.1, 0.3, 1.0), 0.03, {"momentum": 0.0}),
    "AdamW": Optimizer(
        "adamw", (1e-4, 3e-4, 1e-3), 1e-4, {"b2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
    ),
    "Muon": Optimizer("muon", (3e-4, 1e-3, 3e-3), 1e-4, {}),
}
LOSSES: dict[str, dict[str, float]] = {"cross_entropy": {}, "e1": {"lam": 0.5}}
SEEDS = 6  # eight were planned; stopped for lack of time, before a result was seen


def crossing(
    steps: Int[np.ndarray, " E"], margins: Float[np.ndarray, "E R"], level: float
) -> Float[np.ndarray, " R"]:
    """The update at which each run's margin first reaches a level, by linear interpolation.

    The first evaluation if it is reached by then; infinite if it never is.
    """
    found = []
    for curve in np.asarray(margins).T:
        above = np.flatnonzero(curve >= level)
        if not above.size or above[0] == 0:
            found.append(steps[0] if above.size else np.inf)
            continue
        i = above[0]
        found.append(np.interp(level, curve[i - 1 : i + 1], steps[i - 1 : i + 1]))
    return np.array(found)


def times(history: History) -> Row:
    """Times of octaves, and the b of time ~ π^-b at three levels over the learnt octaves."""
    row: Row = {}
    for name, level in LEVELS.items():
        found = np.stack([crossing(*history.curve(m), level) for m in MARGINS])  # [octaves, R]
        row[name] = np.array([_exponent(of_run) for of_run in found.T])
        if name == "exponent":
            row |= {f"time_{k}": found[k] for k in range(NUM_OCTAVES)}
            row["learnt"] = np.isfinite(found).mean(axis=0)
            row["exponent_from_rank_8"] = np.array([_exponent(of_run, 3) for of_run in found.T])
    return row


def _exponent(found: Float[np.ndarray, " octaves"], first: int = 0) -> float:
    """The b over learnt octaves from ``first`` on; NaN if there are fewer than two."""
    learnt = np.isfinite(found) & (np.arange(NUM_OCTAVES) >= first)
    return exponent(found[learnt], FREQUENCY[learnt]) if learnt.sum() > 1 else float("nan")


def studies(scale: str) -> list[Study]:
    """A study for each optimizer and loss, and for cross-entropy also at a higher rate."""
    if scale == "pilot":
        return on_pilot_data(
            [_study(name, "cross_entropy", one.rates) for name, one in OPTIMIZERS.items()]
        )
    smoke = scale == "smoke"
    return [
        _study(
            name,
            loss,
            (one.rate, FAST * one.rate) if loss == "cross_entropy" else (one.rate,),
            smoke=smoke,
        )
        for name, one in OPTIMIZERS.items()
        for loss in LOSSES
    ]


def _study(name: str, loss: str, rates: Sequence[float], *, smoke: bool = False) -> Study:
    optimizer = OPTIMIZERS[name]
    config = get_config(
        f"task=causal,world=zipf_facts,model=gpt_neox,loss={loss},optimizer={optimizer.name}"
        + ",smoke" * smoke
    )
    config.imports = (MODULE,)
    config.optim.update(schedule="constant", warmup_steps=0, **optimizer.numbers)
    config.loss.update(LOSSES[loss])
    config.sweep.optim.peak_lr = tuple(rates)
    config.train.probes = ("fact_margins",)
    if not smoke:
        config.train.update(
            num_updates=NUM_UPDATES, log_every=EVAL_EVERY, eval_every=EVAL_EVERY, seeds=SEEDS
        )
        config.eval = {"test": 256}
    return Study(config, {"optimizer": name})


run = partial(
    run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=times, max_marks=40
)
