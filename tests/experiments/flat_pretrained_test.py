"""Forms of both matrices against their definitions; claims and figure on made-up numbers."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import ggn_vp, quadratic_form
from el_jax.curvature.sampling import signs
from el_jax.models import PRESETS, transformer
from el_jax.tasks.text_windows import reading_windows
from experiments.flat_pretrained import claims, plot, run, settings
from experiments.harness.claims import Verdict
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

VOCAB, LENGTH = 7, 4
PROBES = 30
MODEL = transformer(
    dataclasses.replace(
        PRESETS["llama"], vocab_size=VOCAB, width=8, num_layers=1, num_heads=2, num_kv_heads=1,
        matmul_precision="highest",
    )
)  # fmt: skip
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

    @jax.jit
    def expected(v):
        at = [
            quadratic_form(lambda p, labels=labels: cross_entropy(outputs(p), labels), params, v)
            for labels in (text, other)
        ]
        product = ggn_vp(outputs, lambda logits: cross_entropy(logits, text), params, v)
        return jnp.stack([*at, sum(jax.tree.leaves(jax.tree.map(jnp.vdot, v, product)))])

    places = [settings.LABELS.index(kind) for kind in (settings.TEXT, settings.OTHER)]
    for i, probe in enumerate(jax.random.split(jax.random.split(key)[1], PROBES)[:2]):
        of_text, of_other, gauss_newton = expected(signs(probe, params))
        forms = found.hessian[i, jnp.array(places)]
        np.testing.assert_allclose(forms, [of_text, of_other], rtol=1e-3)
        np.testing.assert_allclose(found.fisher[i], gauss_newton, rtol=1e-3)
    nats = cross_entropy(outputs(params), text)
    np.testing.assert_allclose(found.cross_entropy[0], nats, rtol=1e-5)


def test_both_matrices_are_one_at_the_networks_own_labels(params, windows):
    found = run.forms(MODEL, params, windows, jax.random.key(0), PROBES)
    own = found.hessian[:, settings.LABELS.index(settings.OWN)]
    assert float(own.mean() / found.fisher.mean()) == pytest.approx(1, abs=0.1)


def test_traces_of_layers_are_of_every_layer_and_positive(params, windows):
    scored, _ = run.contexts_of(windows, most=5)
    found = run.layer_traces(MODEL, params, scored, jax.random.key(0), 2)
    assert set(found) == {"layers_0", "outside layers"}
    assert all(value > 0 for value in found.values())


# ---- claims and figure on made-up numbers --------------------------------------------------------

NOISE = 1e-3 * np.array([0, 1, 1.5, 3])
RATIOS = {
    (settings.PRETRAINED, settings.TEXT): 0.9,
    (settings.PRETRAINED, settings.OWN): 1.0,
    (settings.PRETRAINED, settings.OTHER): 0.2,
    (settings.FRESH, settings.TEXT): 0.4,
    (settings.FRESH, settings.OWN): 1.0,
    (settings.FRESH, settings.OTHER): 0.3,
}


def made_up(spoilt=None):
    """Results at which every claim holds; some ratios spoilt."""
    table = {}
    for key, ratio in (RATIOS | (spoilt or {})).items():
        values = ratio + NOISE * (1 + (key[0] == settings.FRESH))
        table[settings.named(*key), settings.RATIO] = values
        table[settings.named(*key), settings.GAP] = abs(values - 1)
    return results_of(table)


def verdicts(spoilt=None):
    return [(claim.text, claim.verdict) for claim in claims.claims(made_up(spoilt))]


def test_all_claims_hold_where_they_should():
    found = verdicts()
    assert len(found) == 5
    assert {verdict for _, verdict in found} == {Verdict.HOLDS}


@pytest.mark.parametrize(
    ("key", "ratio", "start"),
    [
        ((settings.PRETRAINED, settings.TEXT), 0.5, "A pretrained network is near"),
        ((settings.FRESH, settings.OWN), 1.6, "Tr H is Tr F at labels that the network draws (f"),
        ((settings.PRETRAINED, settings.OTHER), 0.95, "... and it is not on labels"),
        ((settings.FRESH, settings.TEXT), 0.95, "Before its training"),
    ],
)
def test_a_spoilt_number_fails_its_claim(key, ratio, start):
    failing = [text for text, verdict in verdicts({key: ratio}) if verdict is Verdict.FAILS]
    assert any(text.startswith(start) for text in failing)


def test_claims_on_nothing_are_inconclusive():
    assert {claim.verdict for claim in claims.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def test_the_figure_says_its_answer(tmp_path):
    write_results(tmp_path / "results.csv", made_up())
    layers = np.arange(3), np.tile([0.2, 0.3, 0.4], (4, 1))
    curves = {(network, "share"): layers for network in settings.NETWORKS}
    write_curves(tmp_path / "curves.csv", curves_of(curves))
    figure = plot.plot(tmp_path)
    assert "Tr H is .90 Tr F on text" in figure.get_suptitle()
    assert "and .20 Tr F where labels" in figure.get_suptitle()
