"""Make one of four runs meet a NaN, at a random update and under each policy.

    python -m tests.campaigns.nan_injections [--injections=20]

Good: the part, the update, the run and its seed are named; under "raise" training ends there, under
"stop" that run keeps its last finite update, under "rewind" it ends finite; and every other run has
the bits, in parameters, optimizer state and metrics, of a training that met no NaN.
"""

import argparse
import logging
import random
from typing import NamedTuple

import jax
import numpy as np

from el_jax.training.fit import fit
from el_jax.training.non_finite import NonFiniteError
from el_jax.training.sinks import History
from tests.campaigns.tally import Tally
from tests.training.poisoning import PARTS, poisoned
from tests.training.small_training import built, small_config

NUM_RUNS, NUM_UPDATES = 4, 20
GOOD = "named, kept apart"


class Injection(NamedTuple):
    """A NaN injected into one run at one update, under one policy."""

    policy: str
    run_axis: str
    part: str
    run: int
    step: int

    def training(self):
        config = small_config(seeds=NUM_RUNS, on_non_finite=self.policy, run_axis=self.run_axis)
        return built(config)


class _Messages(logging.Handler):
    def __init__(self):
        super().__init__()
        self.told = []

    def emit(self, record):
        self.told.append(record.getMessage())


def _fitted(training):
    """Final state, or the error that was raised in its place, with history and warnings."""
    history, messages = History(), _Messages()
    logger = logging.getLogger("el_jax.training.non_finite")
    logger.addHandler(messages)
    try:
        state = fit(training, sinks=[history])
    except NonFiniteError as error:
        return error, history, [str(error)]
    finally:
        logger.removeHandler(messages)
    return jax.device_get(state), history, messages.told


def _neighbours_differ(injection, ours, clean):
    others = [run for run in range(NUM_RUNS) if run != injection.run]
    pairs = [
        *zip(jax.tree.leaves(ours[0][1:3]), jax.tree.leaves(clean[0][1:3]), strict=True),
        *(
            (row[name], expected[name])
            for row, expected in zip(ours[1].rows, clean[1].rows, strict=True)
            for name in row
        ),
    ]
    return any(np.asarray(a)[others].tobytes() != np.asarray(b)[others].tobytes() for a, b in pairs)


def _outcome(injection, ours, clean):
    result, _, told = ours
    start = f"{injection.part} is not finite at step {injection.step} in run {injection.run} (seed"
    if len(told) != 1 or not told[0].startswith(start):
        return f"told {told}"
    if injection.policy == "raise":
        raised = isinstance(result, NonFiniteError) and result.run == injection.run
        return GOOD if raised else "went on"
    if isinstance(result, NonFiniteError):
        return f"raised {result}"
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result.params)):
        return "NaN applied"
    stopped = [-1] * NUM_RUNS
    if injection.policy == "stop":
        stopped[injection.run] = injection.step
    if result.health.stopped_at.tolist() != stopped:
        return f"stopped at {result.health.stopped_at.tolist()}"
    return "neighbours differ" if _neighbours_differ(injection, ours, clean) else GOOD


def run(num_injections, seed=0, progress=0):
    """Run the campaign: policies and axes in turn, the rest drawn."""
    tally, rng, clean = Tally("nan_injections", [GOOD], progress), random.Random(seed), {}
    for trial in range(num_injections):
        injection = Injection(
            policy=("stop", "rewind", "raise")[trial % 3],
            run_axis=("vmap", "map")[trial // 3 % 2],
            part=rng.choice(PARTS),
            run=rng.randrange(NUM_RUNS),
            step=rng.randrange(NUM_UPDATES),
        )
        training = injection.training()
        kind = injection.policy, injection.run_axis
        if kind not in clean:
            clean[kind] = _fitted(poisoned(training, injection.run, [], injection.part))
        ours = _fitted(poisoned(training, injection.run, [injection.step], injection.part))
        name = f"{injection.policy}, {injection.run_axis}"
        tally.add(name, _outcome(injection, ours, clean[kind]), injection)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--injections", type=int, default=20)
    run(parser.parse_args().injections, progress=5).finish()
