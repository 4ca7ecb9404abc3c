"""Token statistics found without the logits matrix, compared with those of the matrix."""

import functools
import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.sharding import NamedSharding, PartitionSpec
from loss_definitions import DEFINITIONS

from el_jax.losses import (
    TOKEN_LOSSES,
    TokenStats,
    choose_path,
    confidence_penalty,
    cross_entropy,
    e1,
    e3,
    fused_stats_and_moments,
    masked_mean,
    reads,
)

FIELDS = TokenStats._fields[:-2]  # no fused path has the entropy
T, D, V = 7, 3, 11
PATHS = ("gram", "chunked")
# blocks of classes: single ones, a remainder, all at once, more than there are
CHUNKS = (1, 4, V, 64)


def problem(seed=0, shape=(T, D, V), dtype=np.float64, offset=0.0):
    """Hidden states, head, bias and labels."""
    tokens, width, classes = shape
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(tokens, width))
    head = rng.normal(size=(width, classes)) + offset
    bias = rng.normal(size=classes)
    labels = jnp.asarray(rng.integers(classes, size=tokens), jnp.int32)
    return (*(jnp.asarray(x, dtype) for x in (hidden, head, bias)), labels)


def all_fields(hidden, head, bias, labels, **options):
    stats, _ = fused_stats_and_moments(hidden, head, labels, bias=bias, **options)
    return {name: getattr(stats, name) for name in FIELDS}


def fields_and_gradients(hidden, head, bias, labels, **options):
    """Every statistic, and the gradients of a sum of all of them with unequal weights."""
    weights = np.random.default_rng(9).normal(size=(len(FIELDS), *labels.shape))

    def weighted(hidden, head, bias):
        fields = all_fields(hidden, head, bias, labels, **options)
        return sum((w * f).sum() for w, f in zip(weights, fields.values(), strict=True)), fields

    gradients, fields = jax.grad(weighted, (0, 1, 2), has_aux=True)(hidden, head, bias)
    return fields, gradients


@functools.cache
def compiled(path, vocab_chunk=4):
    options = {"path": path, "vocab_chunk": vocab_chunk}
    return jax.jit(partial(fields_and_gradients, **options))


def assert_close(actual, expected, tolerance):
    """Assert that each array agrees to within ``tolerance`` of its own largest entry."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        a, e = np.asarray(a, np.float64), np.asarray(e, np.float64)
        np.testing.assert_allclose(a, e, rtol=0, atol=tolerance * np.abs(e).max())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("with_bias", [True, False])
def test_statistics_and_gradients_are_those_of_the_logits(path, chunk, with_bias):
    with jax.enable_x64(True):
        hidden, head, bias, labels = problem()
        bias = bias if with_bias else None
        expected = compiled("plain")(hidden, head, bias, labels)
        assert_close(compiled(path, chunk)(hidden, head, bias, labels), expected, 1e-12)


@settings(max_examples=20)
@given(
    path=st.sampled_from(PATHS),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e4, 1e4),
    seed=st.integers(0, 2**31),
)
def test_float32_fields_are_right_at_any_scale_and_shift(path, scale, shift, seed):
    hidden, head, bias, labels = problem(seed, dtype=np.float32)
    operands = (hidden, scale * head, bias + shift)
    logits = np.float64(hidden) @ np.float64(operands[1]) + np.float64(operands[2])
    wrong = np.where(np.eye(V)[labels], -np.inf, logits)
    top = wrong.max(axis=1)
    expected = {
        "label_logit": logits[np.arange(T), labels],
        "logsumexp_other": top + np.log(np.exp(wrong - top[:, None]).sum(axis=1)),
        "mean": logits.mean(axis=1),
        "max_other": top,
    }
    actual, _ = compiled(path)(*operands, labels)
    terms = (np.abs(hidden) @ np.abs(operands[1])).max() + np.abs(operands[2]).max()
    rounding = 8 * np.finfo(np.float32).eps * terms
    for name, field in expected.items():
        np.testing.assert_allclose(actual[name], field, rtol=1e-6, atol=rounding, err_msg=name)
    spread = np.abs(logits - expected["mean"][:, None]).max()
    np.testing.assert_allclose(
        actual["variance"], logits.var(axis=1), rtol=1e-5, atol=rounding * (spread + rounding)
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(jnp.float32, 1e-5), (jnp.bfloat16, 2e-2)])
def test_in_fewer_bits(path, dtype, tolerance):
    hidden, head, bias, labels = problem(1, (64, 16, 96), jnp.float32)
    hidden, head = hidden.astype(dtype), head.astype(dtype)
    with jax.enable_x64(True):
        exact = tuple(x.astype(jnp.float64) for x in (hidden, head, bias))
        expected = compiled("plain")(*exact, labels)
    fields, gradients = compiled(path, 40)(hidden, head, bias, labels)
    assert {f.dtype for f in fields.values()} == {jnp.dtype(jnp.float32)}
    assert [g.dtype for g in gradients] == [dtype, dtype, jnp.float32]
    assert_close(fields, expected[0], 1e-5)  # sums are in float32 for all operands
    assert_close(gradients, expected[1], tolerance)


@functools.cache
def loss_gradients(name, **options):
    """Compiled mean loss and its gradients with respect to hidden states, head and bias."""
    loss = partial(TOKEN_LOSSES[name], **DEFINITIONS[name][1])

    def mean(hidden, head, bias, labels, mask):
        stats, _ = fused_stats_and_moments(
            hidden, head, labels, bias=bias, softmax=reads(loss), **options
        )
        return masked_mean(loss(stats), mask)

    return jax.jit(jax.value_and_grad(mean, argnums=(0, 1, 2)))


def test_losses_without_softmax():
    without = {n for n in TOKEN_LOSSES if not reads(partial(TOKEN_LOSSES[n], **DEFINITIONS[n][1]))}
    assert without == {
        "e3",
        "rescaled_square",
        "z_spherical",
        "taylor_softmax",
        "spherical_softmax",
    }


def test_a_loss_reads_the_softmax_by_which_it_chooses():
    assert reads(lambda stats: jnp.where(stats.max_other > 0, stats.mean, 0.0))
    assert not reads(lambda stats: jnp.where(stats.mean > 0, stats.mean, 0.0))
    assert not reads(lambda stats: jnp.float32(1))


def test_a_loss_of_traced_strength_reads_the_softmax():
    found = []

    @jax.jit
    def of(strength):
        found.append(reads(lambda stats: strength * stats.logsumexp))
        found.append(reads(lambda stats: strength * stats.mean))
        return strength

    of(1.0)
    assert found == [True, False]


@pytest.mark.parametrize("path", PATHS)
def test_what_all_classes_have_in_common_costs_few_more_digits_than_in_the_logits(path):
    """A part common to all classes leaves the loss as it is; its rounding in logits is harmless."""
    name = "e2"
    hidden, head, bias, labels = problem(3, (32, 8, 64), np.float32, offset=1e4)
    mask = labels >= 0
    with jax.enable_x64(True):
        exact = tuple(x.astype(jnp.float64) for x in (hidden, head, bias))
        _, truth = loss_gradients(name, path="plain")(*exact, labels, mask)
    errors = {}
    for p in ("plain", path):
        _, found = loss_gradients(name, path=p, vocab_chunk=24)(hidden, head, bias, labels, mask)
        errors[p] = [
            np.abs(np.asarray(f) - np.asarray(t)).max() for f, t in zip(found, truth, strict=True)
        ]
    for ours, plain in zip(errors[path], errors["plain"], strict=True):
        assert ours <= 3 * plain + 1e-6


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["e1", "max_sup"])
def test_finite_at_extreme_logits(path, name):
    hidden = jnp.asarray([[1e4], [-1e4], [0.0]])
    head = jnp.asarray([[1.0, -1.0, -1.0, 0.5, 1.0]])
    labels, mask = jnp.zeros(3, jnp.int32), jnp.ones(3, bool)
    run = loss_gradients(name, path=path, vocab_chunk=2)
    for leaf in jax.tree.leaves(run(hidden, head, jnp.zeros(5), labels, mask)):
        assert jnp.isfinite(leaf).all()


def equations(function, *operands):
    """Every equation of a program and of its inner programs."""
    todo = [jax.make_jaxpr(function)(*operands).jaxpr]
    while todo:
        for eqn in todo.pop().eqns:
            yield eqn
            for value in jax.tree.leaves(eqn.params, is_leaf=lambda p: hasattr(p, "eqns")):
                inner = getattr(value, "jaxpr", value)
                todo += [inner] if hasattr(inner, "eqns") else []


def sizes_and_loops(function, *operands):
    """Size of the largest array a program computes, and the number of its loops."""
    found = list(equations(function, *operands))
    loops = sum(eqn.primitive.name in ("scan", "while") for eqn in found)
    return max(v.aval.size for eqn in found for v in eqn.outvars), loops


@pytest.mark.parametrize("path", ["plain", *PATHS])
def test_precision_reaches_every_product(path):
    run = partial(fields_and_gradients, path=path, precision="highest")
    products = [
        e for e in equations(run, *problem(dtype=np.float32)) if e.primitive.name == "dot_general"
    ]
    assert len(products) >= 3
    highest = jax.lax.Precision.HIGHEST
    assert all(eqn.params["precision"] == (highest, highest) for eqn in products)


@pytest.mark.parametrize("path", ["plain", *PATHS])
def test_products_of_bfloat16_are_summed_in_float32(path):
    # the values would not show it: XLA may keep more digits than it is asked for
    hidden, head, bias, labels = problem(dtype=np.float32)
    operands = (hidden.astype(jnp.bfloat16), head.astype(jnp.bfloat16), bias, labels)
    run = partial(all_fields, path=path)
    products = [e for e in equations(run, *operands) if e.primitive.name == "dot_general"]
    assert {eqn.outvars[0].aval.dtype for eqn in products} == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize("path", ["plain", *PATHS])
def test_bias_in_bfloat16_is_that_of_its_values(path):
    hidden, head, bias, labels = problem(dtype=np.float32)
    short = (bias + 10).astype(jnp.bfloat16)
    run = partial(all_fields, hidden, head, labels=labels, path=path, temperature=3.0)
    assert_close(run(bias=short), run(bias=short.astype(jnp.float32)), 1e-6)


@pytest.mark.parametrize("path", ["plain", *PATHS])
@pytest.mark.parametrize("classes", [256, 300])
def test_labels_in_bytes_are_not_taken_modulo_256(path, classes):
    hidden, head, bias, _ = problem(shape=(4, D, classes), dtype=np.float32)
    labels = jnp.array([1, 43, 44, 255], jnp.uint8)
    run = partial(fused_stats_and_moments, hidden, head, bias=bias, path=path)
    jax.tree.map(np.testing.assert_array_equal, run(labels), run(labels.astype(jnp.int32)))


@pytest.mark.parametrize(
    ("name", "path", "loops"),
    [("e3", "auto", 0), ("e1", "auto", 2), ("e1", "gram", 2)],
)
def test_the_logits_never_exist(name, path, loops):
    tokens, _, classes = shape = (512, 4, 256)
    operands = (*problem(4, shape, np.float32), jnp.ones(tokens, bool))
    fused = loss_gradients(name, path=path, vocab_chunk=32)
    largest, found = sizes_and_loops(fused, *operands)
    assert found == loops
    assert largest <= tokens * 32
    plain, _ = sizes_and_loops(loss_gradients(name, path="plain"), *operands)
    assert plain == tokens * classes


@pytest.mark.parametrize(("name", "path"), [("e3", "gram")])
def test_hessian_vector_products_in_forward_mode(name, path):
    with jax.enable_x64(True):
        *operands, labels = problem(5)
        direction = tuple(jnp.cos(jnp.arange(x.size)).reshape(x.shape) for x in operands)
        mask = labels >= 0

        def product(path):
            def gradient(*o):
                return loss_gradients(name, path=path)(*o, labels, mask)[1]

            return jax.jvp(gradient, tuple(operands), direction)[1]

        assert_close(product(path), product("plain"), 1e-12)


@pytest.mark.parametrize("path", ["chunked", "gram"])
def test_the_pass_is_differentiated_twice_in_reverse_mode_only(path):
    with jax.enable_x64(True):
        *operands, labels = problem(6)
        mask = labels >= 0

        def slope(path):
            gradient = loss_gradients("e1", path=path, vocab_chunk=4)
            return lambda *o: sum(jnp.sin(g).sum() for g in gradient(*o, labels, mask)[1])

        second = [jax.grad(slope(p), argnums=(0, 1, 2))(*operands) for p in (path, "plain")]
        assert_close(*second, 1e-12)
        with pytest.raises(TypeError, match="custom_vjp"):
            jax.jvp(slope(path), tuple(operands), tuple(operands))


@pytest.mark.parametrize("path", PATHS)
def test_runs_with_heads_of_their_own(path):
    with jax.enable_x64(True):
        runs = [problem(seed) for seed in (7, 8, 9)]
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *runs)
        one = compiled(path)
        expected = jax.tree.map(lambda *x: np.stack(x), *(one(*run) for run in runs))
        assert_close(jax.jit(jax.vmap(one))(*stacked), expected, 1e-13)
        mapped = jax.jit(lambda runs: jax.lax.map(lambda run: one(*run), runs))(stacked)
        assert_close(mapped, expected, 1e-13)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("sharded", ["tokens", "classes"])
def test_operands_may_be_sharded(path, sharded):
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    tokens, classes = ("x", None) if sharded == "tokens" else (None, "x")
    specs = [(tokens, None), (None, classes), (classes,), (tokens,)]
    with jax.enable_x64(True):
        operands = problem(10, (8, 3, 12))
        run = compiled(path, 5)
        spread = (
            jax.device_put(x, NamedSharding(mesh, PartitionSpec(*spec)))
            for x, spec in zip(operands, specs, strict=True)
        )
        assert_close(run(*spread), run(*operands), 1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_temperature_and_leading_axes(path):
    with jax.enable_x64(True):
        hidden, head, bias, labels = problem(11, (6, D, V))
        hidden, labels = hidden.reshape(2, 3, D), labels.reshape(2, 3)
        hot = jax.jit(lambda *o: [all_fields(*o, path=p, temperature=2.5) for p in ("plain", path)])
        expected, actual = hot(hidden, head, bias, labels)
        assert_close(actual, expected, 1e-13)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("wrong", [-1, V])
def test_label_outside_the_vocabulary_is_seen(path, wrong):
    hidden, head, bias, labels = problem(12, dtype=np.float32)
    fields, _ = compiled(path)(hidden, head, bias, labels.at[1].set(wrong))
    stats = TokenStats(**fields, entropy_other=fields["mean"], num_classes=V)
    bad = np.arange(T) == 1
    np.testing.assert_array_equal(jnp.isnan(cross_entropy(stats)), bad)
    np.testing.assert_array_equal(jnp.isnan(e3(stats, b=1.0)), bad)


def test_what_is_not_computed_is_nan():
    hidden, head, _, labels = problem(13, dtype=np.float32)
    stats, _ = fused_stats_and_moments(hidden, head, labels, path="gram", softmax=False)
    assert stats.num_classes == V
    for name in FIELDS:
        assert jnp.isnan(getattr(stats, name)).all() == ("other" in name or name == "logsumexp")
    assert jnp.isnan(e1(stats, lam=1.0)).all()
    for path in PATHS:
        stats, _ = fused_stats_and_moments(hidden, head, labels, path=path)
        assert jnp.isnan(confidence_penalty(stats, beta=0.1)).all()


def test_the_path_is_a_rule_of_sizes():
    assert choose_path(64, 255) == "plain"
    assert choose_path(64, 2048) == "plain"  # one block has all the logits
    assert choose_path(64, 2049) == "chunked"
    assert choose_path(1024, 4095) == "plain"
    assert choose_path(64, 256, softmax=False) == "gram"


def test_arguments_that_make_no_sense_are_refused():
    # unwrapped: the type checker of the test run would refuse some of these first
    stats = inspect.unwrap(fused_stats_and_moments)
    hidden, head, _, labels = problem(14, dtype=np.float32)
    with pytest.raises(ValueError, match=r"hidden \(7, 3\): .* labels \(6,\)"):
        stats(hidden, head, labels[:-1])
    with pytest.raises(ValueError, match=r"hidden \(7, 3\): .* head \(11, 3\)"):
        stats(hidden, head.T, labels)
    with pytest.raises(ValueError, match=r"head \(3, 1\) must have at least 2 classes"):
        stats(hidden, head[:, :1], labels)
    with pytest.raises(ValueError, match="vocab_chunk=0 must be positive"):
        stats(hidden, head, labels, vocab_chunk=0)
    with pytest.raises(ValueError, match="path='fast' must be"):
        stats(hidden, head, labels, path="fast")
