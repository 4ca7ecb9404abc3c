"""A training in which one run gets a NaN at chosen updates, recognised by the key of dropout."""

import dataclasses

import jax
import jax.numpy as jnp

PARTS = ("loss", "gradient")


def poisoned_from(program, bad_step):
    """``program``, with parameters of every run that are NaN from ``bad_step`` on."""

    def advance(state, num_updates):
        factor = jnp.where(state.step >= bad_step, jnp.nan, 1.0)
        params = jax.tree.map(lambda leaf: leaf * factor, state.params)
        return program.advance(state._replace(params=params), num_updates)

    return dataclasses.replace(program, advance=advance)


def poisoned(training, seed, steps, part, group=None):
    """``training`` built again, with ``part`` of the run of ``seed`` not finite at ``steps``.

    If the windows of an update are split over devices, the fault is in ``group`` of them only.
    """
    own = jax.random.key(jnp.uint32(seed))
    met = [jax.random.fold_in(own, step) for step in steps]
    met = met if group is None else [jax.random.fold_in(key, group) for key in met]
    keys = [jax.random.key_data(key).tolist() for key in met]
    targets = jnp.asarray(keys or [[0, 0]], jnp.uint32)
    apply = training.spec.objective.head.model.apply

    def poison(params, batch, key=None):
        logits = apply(params, batch)
        if key is None:
            return logits
        hit = (jax.random.key_data(key)[None] == targets).all(-1).any() & bool(steps)
        logits = logits * jnp.where(hit & (part == "loss"), jnp.nan, 1.0)
        # the square root is finite at 0, its derivative is not
        root = jnp.sqrt(jnp.where(hit & (part == "gradient"), logits * 0, 1.0))
        return logits + (root - 1.0)

    head = training.spec.objective.head
    return training.with_head(head._replace(model=head.model._replace(apply=poison)))
