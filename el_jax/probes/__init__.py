"""Measurements of a model besides its loss, chosen by name in ``train.probes``.

A probe is one file and one line of ``PROBES``: a function from task and model to a ``Probe``.

``linear_probe.linear_probe`` is not one of these: it trains a classifier on features (from
``downstream.sentence_features`` of a model) and labels (from ``labels`` of a world). The probes in
``downstream.py`` use it.
"""

from collections.abc import Callable

from el_jax.probes.belief import belief
from el_jax.probes.contexts import context_logits, contexts_of
from el_jax.probes.copy_mechanism import attention_mass, swap_test
from el_jax.probes.curvature import curvature
from el_jax.probes.curvature_report import Curvature
from el_jax.probes.downstream import by_naive_bayes, downstream, fine_tuned
from el_jax.probes.greedy_path import greedy_goal
from el_jax.probes.measurement import NotFiniteError, measurement
from el_jax.probes.perplexity import perplexity
from el_jax.probes.prefix_matching import prefix_matching
from el_jax.probes.river_hill import river_hill
from el_jax.probes.stratification import stratification, when_fitted
from el_jax.probes.true_conditional import true_conditional
from el_jax.tasks import Task
from el_jax.types import ModelFns, Probe

PROBES: dict[str, Callable[[Task, ModelFns], Probe]] = {
    "attention_mass": attention_mass,
    "belief": belief,
    "curvature": curvature,
    "downstream": downstream,
    "fine_tuned": fine_tuned,
    "greedy_goal": greedy_goal,
    "naive_bayes": by_naive_bayes,
    "perplexity": perplexity,
    "prefix_matching": prefix_matching,
    "river_hill": river_hill,
    "stratification": stratification,
    "swap": swap_test,
    "true_conditional": true_conditional,
}
