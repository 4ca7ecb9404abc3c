import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.curvature import Hessian, hutch_plus_plus, paired_difference, xtrace
from el_jax.curvature.sampling import mean_over_contexts, numbered_keys
from el_jax.models import transformer
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    example_loss,
    observed,
    quadratic,
    symmetric_matrix,
    tree_of,
)
from tests.models.tiny_models import TINY, batch_of, random_params

KEY = jax.random.key(0)
AT = np.random.default_rng(3).normal(size=19)
MATRIX = symmetric_matrix()


def over_keys(estimate, trials, seed=1):
    """The estimate of each of many independent keys."""
    return jax.jit(jax.vmap(estimate))(jax.random.split(jax.random.key(seed), trials))


def test_probes_in_turn_take_the_memory_of_one():
    config = TINY["gpt_neox"]
    batch = batch_of(np.arange(128).reshape(16, 8) % 11)
    model = transformer(config)
    params = random_params(config)

    def loss(params):
        return jnp.square(model.apply(params, batch)).mean()

    def memory(run, *args):
        return jax.jit(run).lower(*args).compile().memory_analysis().temp_size_in_bytes

    one = memory(lambda v: Hessian(loss, params).quadratic_form(v), params)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(params))
    assert memory(lambda key: Hessian(loss, params).trace(key, 5), KEY) < 1.2 * one + 3 * size


def test_the_exact_trace_and_diagonal_are_those_of_the_matrix():
    with jax.enable_x64(True):
        loss, at = quadratic(MATRIX), tree_of(AT)
        for chunk in (1, 5, 100):
            assert abs(Hessian(loss, at).exact_trace(chunk=chunk) - np.trace(MATRIX)) < 1e-10
        diagonal = Hessian(loss, at).exact_diagonal(chunk=4)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12),
            diagonal,
            tree_of(np.diag(MATRIX)),
        )


def test_the_trace_is_unbiased_with_the_variance_of_its_formula():
    loss, at = quadratic(MATRIX, jnp.float32), tree_of(np.float32(AT))
    found = over_keys(lambda key: Hessian(loss, at).trace(key, 4), 4000)
    variance = 2 * (np.square(MATRIX).sum() - np.square(np.diag(MATRIX)).sum()) / 4
    error = np.sqrt(variance / 4000)
    assert abs(found.mean.mean() - np.trace(MATRIX)) < 4 * error
    np.testing.assert_allclose(found.mean.var(), variance, rtol=0.1)
    np.testing.assert_allclose(np.square(found.sem).mean(), variance, rtol=0.1)


def test_probes_do_not_depend_on_the_chunk_nor_on_how_many_there_are():
    loss, at = quadratic(MATRIX, jnp.float32), tree_of(np.float32(AT))
    few, more = (Hessian(loss, at).trace(KEY, 7, chunk=chunk) for chunk in (1, 3))
    np.testing.assert_allclose(few, more, rtol=1e-5)
    first = numbered_keys(KEY, 7)
    np.testing.assert_array_equal(*map(jax.random.key_data, (first, numbered_keys(KEY, 9)[:7])))
    other = Hessian(loss, at).trace(jax.random.key(1), 7)
    assert other.mean != few.mean


def test_group_traces_add_up_and_a_block_sees_its_entries_only():
    with jax.enable_x64(True):
        loss, params = cross_entropy(contexts(), observed()), classifier_params()
        parts = [
            Hessian(loss, params).restrict(lambda name, part=part: name == part).exact_trace()
            for part in params
        ]
        np.testing.assert_allclose(sum(parts), Hessian(loss, params).exact_trace(), rtol=1e-12)
    matrix = np.zeros((19, 19))
    matrix[:12, 12:] = matrix[12:, :12] = 1  # nothing inside the blocks
    whole = Hessian(quadratic(matrix, jnp.float32), tree_of(np.float32(AT)))
    only = whole.restrict(lambda name: "kern" in name)
    np.testing.assert_allclose(only.trace(KEY, 4), 0, atol=1e-5)


def test_the_scale_free_trace_weighs_blocks_by_their_weights():
    with jax.enable_x64(True):
        at, diagonal = tree_of(AT), np.arange(19.0)
        estimate = Hessian(quadratic(np.diag(diagonal)), at).scale_free_trace(KEY, 2)
        norms = [np.sum(np.square(AT[a:b])) for a, b in ((0, 12), (12, 15), (15, 19))]
        sums = [diagonal[a:b].sum() for a, b in ((0, 12), (12, 15), (15, 19))]
        np.testing.assert_allclose(estimate.mean, np.dot(norms, sums), rtol=1e-10)


def test_paired_differences_err_less_than_two_estimates():
    with jax.enable_x64(True):
        loss, before = cross_entropy(contexts(), observed()), classifier_params()
        after = jax.tree.map(lambda x: 1.01 * x, before)
        dense = jax.jit(lambda at: jnp.trace(Hessian(loss, at).dense()))
        exact = dense(after) - dense(before)
        paired = Hessian(loss, before).difference_to(after).trace(KEY, 50, chunk=50)
        estimate = jax.jit(lambda at: Hessian(loss, at).trace(KEY, 50, chunk=50))
        alone = [estimate(at) for at in (before, after)]
        np.testing.assert_allclose(paired.mean, alone[1].mean - alone[0].mean, rtol=1e-9)
        assert abs(paired.mean - exact) < 3 * paired.sem
        assert paired.sem < 0.1 * np.hypot(alone[0].sem, alone[1].sem)


@settings(max_examples=5)
@given(seed=st.integers(0, 999))
def test_the_two_errors_are_the_components_of_variance(seed):
    rng = np.random.default_rng(seed)
    of_contexts, of_probes = rng.uniform(0.5, 2, 2)
    values = of_contexts * rng.normal(size=(1500, 20, 1)) + of_probes * rng.normal(
        size=(1500, 20, 3)
    )
    found = jax.vmap(mean_over_contexts)(jnp.asarray(values, jnp.float32))
    np.testing.assert_allclose(np.square(found.sem).mean(), values.mean((1, 2)).var(), rtol=0.15)
    np.testing.assert_allclose(np.square(found.probe_sem).mean(), of_probes**2 / 60, rtol=0.1)
    expected = of_contexts**2 / 20
    assert abs(np.square(found.context_sem).mean() - expected) < 0.15 * expected + 0.005


def test_weights_count_contexts():
    values = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)), jnp.float32)
    weights = jnp.array([1.0, 3.0, 0.0, 2.0])
    repeated = jnp.concatenate(
        [jnp.repeat(values[i : i + 1], int(weights[i]), 0) for i in range(4)]
    )
    found = mean_over_contexts(values, weights)
    np.testing.assert_allclose(found.mean, mean_over_contexts(repeated).mean, rtol=1e-6)
    more = mean_over_contexts(values, 7 * weights)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), more[:5], found[:5])
    equal = mean_over_contexts(values, jnp.ones(4))
    unweighted = mean_over_contexts(values)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), equal[:5], unweighted[:5]
    )
    np.testing.assert_allclose(equal.sem, values.mean(1).std(ddof=1) / 2, rtol=1e-6)
    # contexts of weight 0 are padding: they are no evidence, and one context has no spread
    padded = mean_over_contexts(values, jnp.array([1.0, 1.0, 0.0, 0.0]))
    alone = mean_over_contexts(values[:2])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), padded[:4], alone[:4])
    assert np.isnan(mean_over_contexts(values, jnp.array([1.0, 0.0, 0.0, 0.0])).sem)


def test_the_difference_over_the_same_contexts_is_that_of_the_hessians_with_a_smaller_error():
    with jax.enable_x64(True):
        params, examples = classifier_params(), (contexts(num=200), observed(num=200))
        moved = jax.tree.map(lambda x: 1.01 * x, params)
        before, after = (
            Hessian(example_loss, at).over(examples, chunk=50).sampled_trace(KEY, 3)
            for at in (params, moved)
        )
        found = paired_difference(before, after)
        loss = cross_entropy(*examples)
        exact = [Hessian(loss, at).exact_trace(chunk=26) for at in (moved, params)]
        np.testing.assert_allclose(found.mean, after.mean - before.mean, rtol=1e-9)
        assert abs(found.mean - (exact[0] - exact[1])) < 3 * found.probe_sem
        assert found.sem < 0.1 * np.hypot(before.sem, after.sem)
        means = (after.values - before.values).mean(1)
        np.testing.assert_allclose(found.sem, means.std(ddof=1) / 200**0.5, rtol=1e-9)
        weights = jnp.arange(200.0)
        weighed = (mean_over_contexts(x.values, weights) for x in (before, after))
        found = paired_difference(*weighed)
        np.testing.assert_allclose(found.mean, np.average(means, weights=weights), rtol=1e-9)
    fewer = after._replace(values=after.values[:, :2])
    with pytest.raises(ValueError, match=r"contexts and probes=\(200, 2\): must be \(200, 3\)"):
        paired_difference(before, fewer)


def test_numbers_that_measure_nothing_are_refused():
    loss, at = quadratic(MATRIX, jnp.float32), tree_of(np.float32(AT))
    for estimate in (Hessian.trace, Hessian.scale_free_trace):
        for probes in (0, 1):
            with pytest.raises(ValueError, match=f"num_probes={probes}: must be at least 2"):
                estimate(Hessian(loss, at), KEY, probes)
    with pytest.raises(ValueError, match="chunk=0: must be at least 1"):
        Hessian(loss, at).trace(KEY, 2, chunk=0)
    for exact in (Hessian.exact_trace, Hessian.exact_diagonal):
        with pytest.raises(ValueError, match="chunk=-1: must be at least 1"):
            exact(Hessian(loss, at), chunk=-1)
    with pytest.raises(ValueError, match=r"after\['head'\] is missing"):
        Hessian(loss, at).difference_to({"layer": at["layer"]}).trace(KEY, 2)
    with pytest.raises(ValueError, match="scale_free_trace of a difference: take"):
        Hessian(loss, at).difference_to(at).scale_free_trace(KEY, 2)
    one = (contexts()[:1], observed()[:1])
    with pytest.raises(ValueError, match="number of examples=1: must be at least 2"):
        Hessian(example_loss, classifier_params()).over(one).sampled_trace(KEY)
    uneven = (contexts(), observed()[:3])
    with pytest.raises(ValueError, match=r"examples have first axes \[\(3,\), \(8,\)\]: must"):
        Hessian(example_loss, classifier_params()).over(uneven).sampled_trace(KEY)
    with pytest.raises(ValueError, match=r"weights have shape \(3,\): must be \[N\] = \(8,\)"):
        Hessian(example_loss, classifier_params()).over(
            (contexts(), observed()), weights=jnp.ones(3)
        ).sampled_trace(KEY)


def test_a_loss_that_is_not_finite_is_told_from_one_without_curvature():
    at = {"w": jnp.ones(2)}

    def broken(params):
        return jnp.sqrt(-params["w"]).sum()

    def kinked(params):
        return jnp.sqrt(params["w"] - 1).sum()

    for measure in (
        lambda loss: Hessian(loss, at).trace(KEY, 2),
        lambda loss: Hessian(loss, at).exact_trace(),
    ):
        with pytest.raises(ValueError, match=r"^loss\(params\)=\[nan\]: must be finite$"):
            measure(broken)
        with pytest.raises(ValueError, match=r"=-?(nan|inf): must be finite, as loss\(params\) is"):
            measure(kinked)


def test_a_nan_loss_with_a_finite_hessian_is_told():
    def lost(params):
        return jnp.square(params["w"]).sum() + jnp.nan

    at, said = {"w": jnp.ones(2)}, r"^loss\(params\)=\[nan\]: must be finite$"
    for measure in (Hessian.trace, Hessian.scale_free_trace, hutch_plus_plus, xtrace):
        with pytest.raises(ValueError, match=said):
            measure(Hessian(lost, at), KEY, 2)
    compiled = jax.jit(lambda at: Hessian(lost, at).trace(KEY, 2))(at)
    assert compiled.mean == 4  # traced numbers have no value yet, as check_finite says
