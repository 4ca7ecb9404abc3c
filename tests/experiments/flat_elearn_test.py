"""Losses are matched, curvature equals that of dense matrices, correlations are within settings."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.curvature import Hessian
from el_jax.models import LookupTableConfig, lookup_table
from el_jax.process.compilation import Once
from experiments.flat_elearn import claims, probe, run
from experiments.harness.judging import Verdict, judged
from tests.experiments.toys import table_of


@pytest.mark.parametrize("nats", [0.5, 0.05])
def test_scaled_logits_have_the_cross_entropy_asked_for(nats):
    logits = jax.random.normal(jax.random.key(0), (16, 5))
    labels = logits.argmax(1)
    scale = probe.matching_scale(logits, labels, nats)
    assert float(probe.cross_entropy(scale * logits, labels)) == pytest.approx(nats, rel=1e-3)


def test_the_least_scale_is_taken_where_two_match():
    logits = jnp.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    labels = jnp.array([0, 0, 0, 1])  # the loss is least at scale log 3 and rises above .6 beyond
    scale = float(probe.matching_scale(logits, labels, 0.6))
    assert 0 < scale < np.log(3)
    assert float(probe.cross_entropy(scale * logits, labels)) == pytest.approx(0.6, rel=1e-3)


def test_a_loss_out_of_reach_is_not_a_number():
    logits, labels = jnp.array([[1.0, 0.0], [1.0, 0.0]]), jnp.array([0, 1])
    assert np.isnan(probe.matching_scale(logits, labels, 0.5))  # never below log 2


def test_measures_are_those_of_dense_matrices(monkeypatch):
    task = build.parse(run.studies("smoke")[0].config).task
    model = lookup_table(LookupTableConfig(vocab_size=task.vocab_size))
    batch = Once(lambda: task.pack(task.train_set()))()
    windows, labels = probe.contexts_of(batch, 32)
    few, of_few = probe.contexts_of(batch, 8)
    seen = jnp.take_along_axis(windows.tokens, windows.supervised, 1)[:, 0]
    shape = jax.eval_shape(model.init, jax.random.key(0))["logits"].shape
    noise = jax.random.normal(jax.random.key(0), shape)
    own = 0.3 * noise.at[seen, labels].add(5.0)  # better than guessing, so that a scale matches
    z = model.apply({"logits": own}, windows)[:, 0]
    monkeypatch.setattr(probe, "MATCHED_CE", float(probe.cross_entropy(0.2 * z, labels)))
    monkeypatch.setattr(probe, "NUM_LABELS", 400)
    monkeypatch.setattr(probe, "LANCZOS_STEPS", 60)
    measured = probe.matched_curvature(task, model, 32).of_params({"logits": own[None]})
    found = {name: float(value[0]) for name, value in measured.items()}
    assert found["logit_scale"] == pytest.approx(0.2, rel=1e-3)
    assert found["training_ce"] == pytest.approx(float(probe.cross_entropy(z, labels)), rel=1e-4)
    for scale, start in ((1.0, ""), (found["logit_scale"], probe.MATCHED)):
        p = np.asarray(jax.nn.softmax(scale * z), np.float64)
        trace = scale**2 * (1 - (p**2).sum(1)).mean()  # diag(p) - p pᵀ, in one row of W each
        assert np.exp(found[start + probe.FISHER]) == pytest.approx(trace, rel=0.05)
        length = float(jnp.sum(own**2))
        assert np.exp(found[start + probe.SCALE_FREE]) == pytest.approx(trace * length, rel=0.05)

        def loss(params, scale=scale):
            return probe.cross_entropy(scale * model.apply(params, few)[:, 0], of_few)

        hessian = Once(lambda params, loss=loss: Hessian(loss, params).dense())({"logits": own})
        top = float(jnp.linalg.eigvalsh(hessian)[-1])
        assert np.exp(found[start + probe.TOP]) == pytest.approx(top, rel=1e-3)


def table(factor, *, right=0.0, seeds=12):
    """Accuracy falls by ``right`` for each e-fold of curvature among the networks of a loss."""
    rng = np.random.default_rng(0)

    def entries():
        for where in claims.SETTINGS:
            level = np.log(factor) * (
                (where["loss"] != "cross_entropy") + (where["warmup_steps"] > 0)
            )
            flat = rng.normal(size=seeds)
            for measure in probe.MEASURES:
                for start in ("", probe.MATCHED):
                    yield where, start + measure, level + 0.01 * flat
            yield where, claims.HARD, 0.5 - right * flat + 0.01 * rng.normal(size=seeds)
            yield where, "train_hard_accuracy", np.full(seeds, 1.0)

    return table_of(entries())


@pytest.mark.parametrize("joint", [False, True])
def test_a_correlation_is_judged_by_all_exchanges_of_rows(joint):
    rng = np.random.default_rng(3)
    groups = [rng.normal(size=(4, 2)) * spread for spread in (1.0, 5.0)]
    groups = [rows - rows.mean(0) for rows in groups]
    orders = [[*order] for order in itertools.permutations(range(4))]
    pairs = [(o, o) for o in orders] if joint else [*itertools.product(orders, orders)]
    of_all = [
        sum(rows[:, 0] @ rows[order, 1] for rows, order in zip(groups, pair, strict=True))
        for pair in pairs
    ]
    expected = np.mean(np.abs(of_all) >= abs(of_all[0]) - 1e-12)
    found = claims.negative_within(groups, "", joint=joint).p
    assert found == pytest.approx(expected, abs=0.01)


def test_a_correlation_is_within_settings():
    results = table(0.5, right=0.0)
    rows = (results["metric"] == claims.HARD) & (results["loss"] != "cross_entropy")
    results.loc[rows, "value"] += 10.0  # across settings, flatter networks are far better
    _, outcome = judged(claims.CLAIMS, results)[-1]
    assert outcome.verdict is Verdict.UNDECIDED
