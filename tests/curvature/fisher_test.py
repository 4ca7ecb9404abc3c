from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import (
    controlled_hessian_trace,
    exact_hessian_trace,
    fisher_trace,
    fisher_traces,
    restrict,
)
from tests.curvature.small_losses import (
    NUM_CLASSES,
    classifier_params,
    contexts,
    cross_entropy,
    logits,
    observed,
)

KEY = jax.random.key(0)


def log_probs(params, context):
    return jax.nn.log_softmax(logits(params, context))


def square_norms(params, inputs):
    """‖∇ log p_y(x)‖² of every context and label, one gradient at a time, ``[N, V]``."""
    score = jax.jit(jax.grad(lambda p, x, y: log_probs(p, x)[y]))
    norm = lambda tree: sum(float(jnp.square(leaf).sum()) for leaf in tree.values())  # noqa: E731
    return np.array([[norm(score(params, x, y)) for y in range(NUM_CLASSES)] for x in inputs])


def test_each_kind_of_labels_is_its_formula():
    with jax.enable_x64(True):
        params, inputs, labels = classifier_params(), contexts(), observed()
        norms, probs = (
            square_norms(params, inputs),
            np.exp(jax.vmap(log_probs, (None, 0))(params, inputs)),
        )
        every = (probs * norms).sum(1)
        found = fisher_trace(logits, params, inputs, labels="all", chunk=4, label_chunk=2)
        np.testing.assert_allclose(found.mean, every.mean(), rtol=1e-12)
        np.testing.assert_allclose(found.sem, every.std(ddof=1) / np.sqrt(8), rtol=1e-12)
        assert found.probe_sem == 0
        data = fisher_trace(logits, params, inputs, labels="data", observed=labels)
        np.testing.assert_allclose(data.mean, norms[np.arange(8), labels].mean(), rtol=1e-12)
        weights = jnp.arange(8.0)
        found = fisher_trace(logits, params, inputs, labels="all", weights=weights)
        np.testing.assert_allclose(found.mean, np.average(every, weights=weights), rtol=1e-12)


@pytest.mark.parametrize("labels", ["all", "sampled", "data"])
def test_sums_over_leaves_are_those_of_each_leaf_alone(labels):
    with jax.enable_x64(True):
        params, inputs = classifier_params(), contexts()
        asked = {"labels": labels, "key": KEY, "observed": observed(), "num_labels": 3}
        rates = dict(zip(params, (0.5, -2.0, 3.0), strict=False))
        alone = {}
        for name in params:
            merged, block = restrict(lambda full: full, params, name.__eq__)

            def of_block(block, context, merged=merged):
                return logits(merged(block), context)

            alone[name] = fisher_trace(of_block, block, inputs, **asked).mean
        parts = {name: {leaf: float(leaf == name) for leaf in params} for name in params}
        found = fisher_traces(logits, params, inputs, {**parts, "sum": rates}, **asked)
        for name, value in alone.items():
            np.testing.assert_allclose(found[name].mean, value, rtol=1e-12)
        expected = sum(rates[name] * alone[name] for name in params)
        np.testing.assert_allclose(found["sum"].mean, expected, rtol=1e-12)


def test_log_probabilities_serve_as_logits():
    with jax.enable_x64(True):
        found = [
            fisher_trace(model, classifier_params(), contexts(), labels="all").mean
            for model in (logits, log_probs)
        ]
        np.testing.assert_allclose(*found, rtol=1e-12)


def test_sampled_labels_are_unbiased_and_their_error_is_apart():
    params, inputs = classifier_params(), contexts()
    exact = fisher_trace(logits, params, inputs, labels="all")

    def sampled(key):
        return fisher_trace(
            logits, params, inputs, labels="sampled", key=key, num_labels=4, label_chunk=4
        )

    found = jax.jit(jax.vmap(sampled))(jax.random.split(KEY, 800))
    spread = found.mean.var()
    assert abs(found.mean.mean() - exact.mean) < 4 * np.sqrt(spread / 800)
    np.testing.assert_allclose(np.square(found.probe_sem).mean(), spread, rtol=0.15)
    np.testing.assert_allclose(
        np.square(found.sem).mean(), exact.sem**2 + spread, rtol=0.15
    )  # contexts are the same in every trial, so the spread shows labels only


def test_a_weight_used_twice_is_one_parameter():
    def tied(params, context):
        return jnp.tanh(context @ params["w"]) @ params["w"].T

    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        params, inputs = {"w": jnp.asarray(rng.normal(size=(3, 2)))}, contexts(num=2)
        found = fisher_trace(tied, params, inputs, labels="all").mean
        expected = 0.0
        for x in inputs:
            u = lambda w, x=x: jax.nn.log_softmax(tied({"w": w}, x))  # noqa: E731
            scores = np.asarray(jax.jacrev(u)(params["w"])).reshape(3, -1)
            expected += np.exp(u(params["w"])) @ np.square(scores).sum(1) / 2
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_controlled_trace_is_that_of_the_hessian():
    params, inputs, labels = classifier_params(), contexts(), observed()
    exact = exact_hessian_trace(cross_entropy(inputs, labels), params, chunk=26)

    def trial(key):
        return controlled_hessian_trace(logits, params, inputs, labels, key, 3)

    found = jax.jit(jax.vmap(trial))(jax.random.split(KEY, 500))
    spread = found.mean.var()
    assert abs(found.mean.mean() - exact) < 4 * np.sqrt(spread / 500)
    np.testing.assert_allclose(np.square(found.probe_sem).mean(), spread, rtol=0.2)


def test_control_leaves_no_error_of_probes_where_the_model_is_the_truth():
    with jax.enable_x64(True):
        params, inputs = classifier_params(), contexts()
        truth = jnp.exp(jax.vmap(lambda x: log_probs(params, x))(inputs))
        found = controlled_hessian_trace(logits, params, inputs, truth, KEY, 2)
        fisher = fisher_trace(logits, params, inputs, labels="all")
        np.testing.assert_allclose(found.mean, fisher.mean, rtol=1e-12)
        assert found.probe_sem < 1e-12


def test_fisher_traces_of_several_runs_are_one_program():
    runs = [classifier_params(seed) for seed in range(3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *runs)
    inputs, labels = contexts(), observed()
    measures = (
        lambda p: fisher_trace(logits, p, inputs, labels="sampled", key=KEY, num_labels=3),
        lambda p: controlled_hessian_trace(logits, p, inputs, labels, KEY, chunk=4),
    )
    for measure in measures:
        together = jax.jit(jax.vmap(measure))(stacked)
        alone = [measure(params) for params in runs]
        stacked_alone = jax.tree.map(lambda *values: jnp.stack(values), *alone)
        jax.tree.map(
            partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-4), together, stacked_alone
        )


REFUSED = {
    "labels='true': must be one of all, sampled, data": {"labels": "true"},
    "key=None: must be a key, for labels='sampled'": {"labels": "sampled"},
    "observed=None: must be one label a context": {"labels": "data"},
    "num_labels=1: must be at least 2": {"labels": "sampled", "key": KEY, "num_labels": 1},
    "chunk=0: must be at least 1": {"labels": "all", "chunk": 0},
    "label_chunk=0: must be at least 1": {"labels": "all", "label_chunk": 0},
    r"contexts and observed have first axes \[\(3,\), \(8,\)\]": {
        "labels": "data",
        "observed": jnp.zeros(3, int),
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_arguments_that_do_not_fit_are_refused(message):
    with pytest.raises(ValueError, match=message):
        fisher_trace(logits, classifier_params(), contexts(), **REFUSED[message])


def test_a_model_that_is_not_finite_is_named():
    broken = classifier_params() | {"bias": jnp.full(3, jnp.nan)}
    message = r"^logits\(params, context\)=\[nan\]: must be finite$"
    with pytest.raises(ValueError, match=message):
        fisher_trace(logits, broken, contexts(), labels="all")
    with pytest.raises(ValueError, match=message):
        controlled_hessian_trace(logits, broken, contexts(), observed(), KEY)
