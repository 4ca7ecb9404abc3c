"""A loss computed over parts of the windows is the whole loss, with its gradient and metrics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.training.objectives import in_parts
from el_jax.training.objectives.in_parts import InParts
from tests.training.small_training import small_config


@pytest.fixture
def in_four(monkeypatch):
    monkeypatch.setattr(in_parts, "num_parts", lambda *_: 4)


def test_loss_gradient_and_metrics_of_every_run_are_those_at_once(in_four):
    config = small_config("loss=e2,smoke", seeds=2)
    config.task.supervise = "all"
    config.sweep.loss.lam = (1.0, 4.0)
    spec = build.make_spec(build.parse(config))
    assert isinstance(spec.objective, InParts)
    task, head = spec.task, spec.objective.head
    batch = task.batch_at(task.train_set(), jnp.int32(0), jax.random.key(0))
    masked = batch._replace(mask=batch.mask.at[0].set(False).at[2, ::2].set(False))
    params = jax.vmap(head.model.init)(jax.random.split(jax.random.key(1), 4))

    def outcome(objective):
        def of_run(params, numbers):
            of_params = jax.value_and_grad(objective.loss, has_aux=True)
            (loss, (metrics, _)), grads = of_params(params, masked, (), numbers, None)
            return loss, grads, metrics

        return jax.jit(jax.vmap(of_run))(params, spec.hypers.loss)

    ours, theirs = outcome(spec.objective), outcome(spec.objective.base)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_training_with_dropout_and_sam_takes_parts(in_four):
    config = small_config("loss=e1,optimizer=sam,smoke", seeds=2)
    config.model.residual_dropout = 0.1
    program = build.build(build.parse(config)).program
    before = program.init().params
    before = jax.tree.map(np.asarray, before)
    state, metrics, health = program.advance(program.init(), 10)
    assert (health.stopped_at == -1).all()
    assert np.isfinite(metrics["loss"].mean).all()
    assert all(
        (np.asarray(a) != b).any()
        for a, b in zip(jax.tree.leaves(state.params), jax.tree.leaves(before), strict=True)
    )
