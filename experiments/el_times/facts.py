"""A world of facts with unequal frequencies, and a probe of how well a model knows each.

The experiment's runs import this module; their config names it.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.losses import token_stats
from el_jax.probes import PROBES
from el_jax.probes.over_runs import over_runs
from el_jax.process.errors import require
from el_jax.tasks import CausalWords, Task
from el_jax.types import Batch, ModelFns, Params, Probe
from el_jax.worlds import HMM, WORLDS, Sentences

NUM_OCTAVES = 9  # ranks 1, 2 to 3, 4 to 7, ..., 256 to 511


def zipf_facts(*, num_facts: int = 511, num_answers: int = 16, seed: int = 0) -> HMM:
    """Sentences of two words, a fact's subject and its answer, as a hidden Markov model.

    Subject j = 1 .. ``num_facts`` has probability ~ 1 / j and is the word j - 1; its answer is one
    of ``num_answers`` further words, drawn once.

    Raises:
        ValueError: a number is out of range.
    """
    require("num_facts", num_facts, num_facts >= 1, "at least 1")
    require("num_answers", num_answers, num_answers >= 1, "at least 1")
    words = num_facts + num_answers
    initial = np.zeros(words)
    initial[:num_facts] = 1 / np.arange(1, num_facts + 1)
    transition = np.eye(words)  # answers end the sentence
    transition[:num_facts] = 0
    answers = np.random.default_rng(seed).integers(num_answers, size=num_facts)
    transition[np.arange(num_facts), num_facts + answers] = 1
    return HMM(initial / initial.sum(), transition, np.eye(words), length=2)


def fact_margins(task: Task, model: ModelFns) -> Probe:
    """Probe ``margin_k``: mean margin, in nats, of the facts with ranks 2^k to 2^(k+1) - 1.

    A fact's margin is the logit of its answer less the largest other one. Also ``margin_spread``,
    the standard deviation of all facts' margins over their mean.

    Raises:
        ValueError: the task is not causal on ``zipf_facts``.
    """
    if not isinstance(task, CausalWords) or task.world.name != "zipf_facts":
        raise ValueError("needs the task causal on the world zipf_facts")
    world = task.world.make()
    assert isinstance(world, HMM)
    transition = np.asarray(world.transition)
    num_facts = int((np.diag(transition) == 0).sum())
    answers = transition[:num_facts].argmax(axis=1)
    batch = task.pack(Sentences(jnp.stack([jnp.arange(num_facts), jnp.asarray(answers)], axis=1)))
    octave = np.log2(np.arange(1, num_facts + 1)).astype(int)

    def of_run(params: Params, batch: Batch) -> dict[str, Array]:
        stats = token_stats(model.apply(params, batch)[:, 1], batch.labels[:, 1])
        margins = stats.label_logit - stats.max_other
        means = {f"margin_{k}": margins[octave == k].mean() for k in range(octave.max() + 1)}
        return means | {"margin_spread": margins.std() / margins.mean()}

    return over_runs(of_run, batch)


WORLDS["zipf_facts"] = zipf_facts
PROBES["fact_margins"] = fact_margins
