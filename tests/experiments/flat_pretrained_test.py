"""Quadratic forms of the Hessian and the Gauss-Newton matrix, compared with their definitions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import GaussNewton, Hessian
from el_jax.curvature.sampling import signs
from el_jax.models import PRESETS, transformer
from el_jax.process.compilation import Once
from el_jax.tasks.text_windows import reading_windows
from experiments.flat_pretrained import run

VOCAB, LENGTH = 7, 4
PROBES = 30
MODEL = transformer(
    dataclasses.replace(
        PRESETS["llama"],
        vocab_size=VOCAB,
        width=8,
        num_layers=1,
        num_heads=2,
        num_kv_heads=1,
        matmul_precision="highest",
    )
)
TOKENS = np.random.default_rng(0).integers(VOCAB, size=6 * (LENGTH + 1) + 2)


@pytest.fixture(scope="module")
def params():
    return jax.jit(MODEL.init)(jax.random.key(1))


@pytest.fixture(scope="module")
def windows():
    return reading_windows(TOKENS, LENGTH)


def test_windows_ask_for_their_second_half(windows):
    np.testing.assert_array_equal(windows.tokens[1], TOKENS[5:9])
    np.testing.assert_array_equal(windows.supervised[1], [2, 3])
    np.testing.assert_array_equal(windows.labels[1], TOKENS[8:10])
    assert windows.tokens.shape == (6, LENGTH)
    assert windows.mask.all()


def test_forms_are_those_of_the_hessian_and_of_the_gauss_newton_matrix(params, windows):
    key = jax.random.key(0)
    found = run.forms(MODEL, params, windows, key, PROBES)
    text = windows.labels.ravel()
    other = jnp.roll(text, len(text) // 2)

    def cross_entropy(logits, labels):
        laws = jax.nn.log_softmax(logits.reshape(len(text), VOCAB))
        return -jnp.take_along_axis(laws, labels[:, None], 1).mean()

    def outputs(params):
        return MODEL.apply(params, windows)

    @Once
    def expected(v):
        at = [
            Hessian(
                lambda p, labels=labels: cross_entropy(outputs(p), labels), params
            ).quadratic_form(v)
            for labels in (text, other)
        ]
        product = GaussNewton(outputs, lambda logits: cross_entropy(logits, text), params).matvec(v)
        return jnp.stack([*at, sum(jax.tree.leaves(jax.tree.map(jnp.vdot, v, product)))])

    places = [run.LABELS.index(kind) for kind in ("text", "other")]
    for i, probe in enumerate(jax.random.split(jax.random.split(key)[1], PROBES)[:2]):
        of_text, of_other, gauss_newton = expected(signs(probe, params))
        forms = found.hessian[i, jnp.array(places)]
        np.testing.assert_allclose(forms, [of_text, of_other], rtol=1e-3)
        np.testing.assert_allclose(found.fisher[i], gauss_newton, rtol=1e-3)
    nats = Once(lambda params: cross_entropy(outputs(params), text))(params)
    np.testing.assert_allclose(found.cross_entropy[0], nats, rtol=1e-5)


def test_both_matrices_are_one_at_the_networks_own_labels(params, windows):
    found = run.forms(MODEL, params, windows, jax.random.key(0), PROBES)
    own = found.hessian[:, run.LABELS.index("own")]
    assert float(own.mean() / found.fisher.mean()) == pytest.approx(1, abs=0.1)
