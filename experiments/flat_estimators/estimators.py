"""Every estimator of ``el_jax.curvature``, as tested, with its cost and its exact value.

Costs are in gradients of the population loss (all n contexts). By the operation counts in
``curvature/operator.py``, a product H v costs 2.7 of them and a form vᵀ H v 1.7; a forward pass
costs a third and a backward pass two thirds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.curvature import Fisher, Hessian, SampledEstimate, hutch_plus_plus, xtrace
from el_jax.types import Estimate, Key, Params
from experiments.flat_estimators.network import WORDS, Context, Given, divergence, logits
from experiments.harness.written_out import Problem

PRODUCT, FORM, FORWARD, BACKWARD = 2.7, 1.7, 1 / 3, 2 / 3
CONTEXTS = 27  # n, T V^(T - 1)
# number of probes of each kind, chosen so that the first three cost the same
PROBES, SKETCH, LEFT_OUT, PAIRS = 60, 17, 19, 30
EXAMPLES = 64  # drawn from the world
EACH = 2  # probes for each example
EACH_OF_ALL = 4  # probes for each context where all are used
LABELS = 4  # drawn for each example; the paper draws 50, of 200 words
SHARE = EXAMPLES / CONTEXTS
EVERY_LABEL = FORWARD + WORDS * BACKWARD


class Estimator(NamedTuple):
    """One way to estimate a trace.

    Attributes:
        estimate: from a network and a key.
        exact: the field of ``Exact`` that it estimates.
        price: cost in gradients of the population loss.
        freedom: degrees of freedom of its stated error, for its interval.
    """

    estimate: Callable[[Given, Key], Estimate]
    exact: str
    price: float
    freedom: int


def _hessian(problem: Problem, params: Params) -> Hessian:
    return Hessian(lambda params: divergence(params, problem), params)


def _example_loss(params: Params, example: tuple[Context, Array]) -> Array:
    context, label = example
    return -jax.nn.log_softmax(logits(params, context))[label]


def _drawn(problem: Problem, key: Key) -> tuple[Context, Array]:
    """Fresh examples of the world: contexts, each with its hidden word."""
    context_key, label_key = jax.random.split(key)
    index = jax.random.categorical(context_key, jnp.log(problem.weights), shape=(EXAMPLES,))
    contexts = jax.tree.map(lambda leaf: leaf[index], problem.contexts)
    return contexts, jax.random.categorical(label_key, jnp.log(problem.truth[index]))


def _hutchinson(given: Given, key: Key) -> Estimate:
    return _hessian(given.problem, given.params).trace(key, PROBES, chunk=PROBES)


def _hutch_plus_plus(given: Given, key: Key) -> Estimate:
    return hutch_plus_plus(_hessian(given.problem, given.params), key, SKETCH, chunk=SKETCH)


def _xtrace(given: Given, key: Key) -> Estimate:
    return xtrace(_hessian(given.problem, given.params), key, LEFT_OUT, chunk=LEFT_OUT)


def _scale_free(given: Given, key: Key) -> Estimate:
    return _hessian(given.problem, given.params).scale_free_trace(key, PROBES, chunk=PROBES)


def _difference(given: Given, key: Key) -> Estimate:
    difference = _hessian(given.problem, given.other).difference_to(given.params)
    return difference.trace(key, PAIRS, chunk=PAIRS)


def _examples(given: Given, key: Key) -> Estimate:
    draw_key, probe_key = jax.random.split(key)
    examples = _drawn(given.problem, draw_key)
    hessian = Hessian(_example_loss, given.params).over(examples, chunk=EXAMPLES)
    return _with_sampling(hessian.sampled_trace(probe_key, EACH))


def _controlled_examples(given: Given, key: Key) -> Estimate:
    draw_key, probe_key = jax.random.split(key)
    contexts, labels = _drawn(given.problem, draw_key)
    fisher = Fisher(logits, given.params, contexts, chunk=EXAMPLES, label_chunk=WORDS)
    return _with_sampling(fisher.controlled_hessian_trace(labels, probe_key, EACH))


def _controlled(given: Given, key: Key) -> Estimate:
    """All contexts and the true distributions of their words; only the probes add error."""
    problem = given.problem
    fisher = Fisher(
        logits,
        given.params,
        problem.contexts,
        weights=problem.weights,
        chunk=CONTEXTS,
        label_chunk=WORDS,
    )
    found = fisher.controlled_hessian_trace(problem.truth, key, EACH_OF_ALL)
    return Estimate(found.mean, found.probe_sem)


def _fisher(
    trace: Callable[[Fisher, Array, Key], SampledEstimate],
) -> Callable[[Given, Key], Estimate]:
    def estimate(given: Given, key: Key) -> Estimate:
        draw_key, label_key = jax.random.split(key)
        contexts, observed = _drawn(given.problem, draw_key)
        fisher = Fisher(logits, given.params, contexts, chunk=EXAMPLES, label_chunk=LABELS)
        return _with_sampling(trace(fisher, observed, label_key))

    return estimate


def _all_labels(fisher: Fisher, _: Array, __: Key) -> SampledEstimate:
    return fisher.all_labels_trace()


def _sampled_labels(fisher: Fisher, _: Array, key: Key) -> SampledEstimate:
    return fisher.sampled_trace(key, LABELS)


def _observed_labels(fisher: Fisher, observed: Array, _: Key) -> SampledEstimate:
    return fisher.empirical_trace(observed)


def _with_sampling(found: Any) -> Estimate:
    """The estimate with the combined error from contexts and probes."""
    return Estimate(found.mean, found.sem)


ESTIMATORS = {
    "Hutchinson": Estimator(_hutchinson, "hessian", PROBES * FORM, PROBES - 1),
    "Hutch++": Estimator(_hutch_plus_plus, "hessian", SKETCH * (PRODUCT + 2 * FORM), SKETCH - 1),
    "XTrace": Estimator(_xtrace, "hessian", 2 * LEFT_OUT * PRODUCT, LEFT_OUT - 1),
    "controlled": Estimator(
        _controlled, "hessian", EVERY_LABEL + EACH_OF_ALL * FORM, CONTEXTS * (EACH_OF_ALL - 1)
    ),
    "examples": Estimator(_examples, "hessian", SHARE * EACH * FORM, EXAMPLES - 1),
    "controlled examples": Estimator(
        _controlled_examples, "hessian", SHARE * (EVERY_LABEL + EACH * FORM), EXAMPLES - 1
    ),
    "difference": Estimator(_difference, "difference", 2 * PAIRS * FORM, PAIRS - 1),
    "scale-free": Estimator(_scale_free, "scale_free", PROBES * FORM, PROBES - 1),
    "Fisher, all labels": Estimator(
        _fisher(_all_labels), "fisher", SHARE * EVERY_LABEL, EXAMPLES - 1
    ),
    "Fisher, sampled labels": Estimator(
        _fisher(_sampled_labels), "fisher", SHARE * (FORWARD + LABELS * BACKWARD), EXAMPLES - 1
    ),
    "Fisher, observed labels": Estimator(
        _fisher(_observed_labels), "empirical_fisher", SHARE * (FORWARD + BACKWARD), EXAMPLES - 1
    ),
}
