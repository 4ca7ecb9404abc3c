from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import Fisher
from tests.curvature.small_losses import (
    NUM_CLASSES,
    classifier_params,
    contexts,
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
        found = Fisher(logits, params, inputs, chunk=4, label_chunk=2).all_labels_trace()
        np.testing.assert_allclose(found.mean, every.mean(), rtol=1e-12)
        np.testing.assert_allclose(found.sem, every.std(ddof=1) / np.sqrt(8), rtol=1e-12)
        assert found.probe_sem == 0
        data = Fisher(logits, params, inputs).empirical_trace(labels)
        np.testing.assert_allclose(data.mean, norms[np.arange(8), labels].mean(), rtol=1e-12)
        weights = jnp.arange(8.0)
        found = Fisher(logits, params, inputs, weights=weights).all_labels_trace()
        np.testing.assert_allclose(found.mean, np.average(every, weights=weights), rtol=1e-12)


def test_sums_over_leaves_are_those_of_each_leaf_alone():
    with jax.enable_x64(True):
        params = classifier_params()
        fisher = Fisher(logits, params, contexts())
        rates = dict(zip(params, (0.5, -2.0, 3.0), strict=False))
        alone = {n: fisher.restrict(n.__eq__).sampled_trace(KEY, 3).mean for n in params}
        parts = {name: {leaf: float(leaf == name) for leaf in params} for name in params}
        found = fisher.sampled_traces({**parts, "sum": rates}, KEY, 3)
        for name, value in alone.items():
            np.testing.assert_allclose(found[name].mean, value, rtol=1e-12)
        expected = sum(rates[name] * alone[name] for name in params)
        np.testing.assert_allclose(found["sum"].mean, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "trace", [Fisher.all_labels_trace, lambda fisher: fisher.empirical_trace(observed())]
)
def test_traces_of_leaves_add_up(trace):
    with jax.enable_x64(True):
        params = classifier_params()
        fisher = Fisher(logits, params, contexts())
        parts = [trace(fisher.restrict(name.__eq__)).mean for name in params]
        np.testing.assert_allclose(sum(parts), trace(fisher).mean, rtol=1e-12)


def test_products_and_traces_are_of_one_matrix():
    with jax.enable_x64(True):
        weights = jnp.arange(8.0)
        fisher = Fisher(logits, classifier_params(), contexts(), weights=weights, chunk=3)
        whole = fisher.all_labels_trace().mean
        np.testing.assert_allclose(fisher.exact_trace(chunk=8), whole, rtol=1e-12)
        values = np.linalg.eigvalsh(fisher.dense())
        np.testing.assert_allclose(values.sum(), whole, rtol=1e-12)
        top = fisher.eigenvalues(KEY, 1)
        np.testing.assert_allclose(top.values[0], values[-1], rtol=1e-12)


def test_log_probabilities_serve_as_logits():
    with jax.enable_x64(True):
        found = [
            Fisher(model, classifier_params(), contexts()).all_labels_trace().mean
            for model in (logits, log_probs)
        ]
        np.testing.assert_allclose(*found, rtol=1e-12)


def test_a_weight_used_twice_is_one_parameter():
    def tied(params, context):
        return jnp.tanh(context @ params["w"]) @ params["w"].T

    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        params, inputs = {"w": jnp.asarray(rng.normal(size=(3, 2)))}, contexts(num=2)
        found = Fisher(tied, params, inputs).all_labels_trace().mean
        expected = 0.0
        for x in inputs:
            u = lambda w, x=x: jax.nn.log_softmax(tied({"w": w}, x))  # noqa: E731
            scores = np.asarray(jax.jacrev(u)(params["w"])).reshape(3, -1)
            expected += np.exp(u(params["w"])) @ np.square(scores).sum(1) / 2
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_control_leaves_no_error_of_probes_where_the_model_is_the_truth():
    with jax.enable_x64(True):
        params, inputs = classifier_params(), contexts()
        truth = jnp.exp(jax.vmap(lambda x: log_probs(params, x))(inputs))
        found = Fisher(logits, params, inputs).controlled_hessian_trace(truth, KEY, 2)
        fisher = Fisher(logits, params, inputs).all_labels_trace()
        np.testing.assert_allclose(found.mean, fisher.mean, rtol=1e-12)
        assert found.probe_sem < 1e-12


REFUSED = {
    "num_labels=1: must be at least 2": lambda make: make().sampled_trace(KEY, 1),
    "num_probes=1: must be at least 2": lambda make: make().controlled_hessian_trace(
        observed(), KEY, 1
    ),
    "chunk=0: must be at least 1": lambda make: make(chunk=0),
    "label_chunk=0: must be at least 1": lambda make: make(label_chunk=0),
    r"contexts and observed have first axes \[\(3,\), \(8,\)\]": lambda make: (
        make().empirical_trace(jnp.zeros(3, int))
    ),
    r"observed=\[-100\]: must be classes, 0 to 3": lambda make: make().empirical_trace(
        observed().at[5].set(-100)
    ),
    r"targets=\[4\]: must be classes, 0 to 3": lambda make: make(
        weights=jnp.arange(8.0)
    ).controlled_hessian_trace(observed().at[jnp.array([0, 5])].set(jnp.array([-100, 4])), KEY),
}


@pytest.mark.parametrize("message", REFUSED)
def test_arguments_that_do_not_fit_are_refused(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message](partial(Fisher, logits, classifier_params(), contexts()))


def test_a_model_that_is_not_finite_is_named():
    broken = classifier_params() | {"bias": jnp.full(3, jnp.nan)}
    message = r"^logits\(params, context\)=\[nan\]: must be finite$"
    with pytest.raises(ValueError, match=message):
        Fisher(logits, broken, contexts()).all_labels_trace()
    with pytest.raises(ValueError, match=message):
        Fisher(logits, broken, contexts()).controlled_hessian_trace(observed(), KEY)
