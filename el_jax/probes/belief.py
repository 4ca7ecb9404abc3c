"""Belief states of a hidden Markov model, and how well hidden states predict them linearly.

Shai et al. 2024 (arXiv 2405.15943) find that the distribution of the hidden state, given the tokens
so far, is an affine image of the residual stream of a transformer trained on next tokens.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.models.look import look
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, Task
from el_jax.types import Batch, ModelFns, Params, Probe
from el_jax.worlds import HMM, Sentences

# Directions below this share of the largest are dropped: hidden states after a norm span fewer
# dimensions than their width, and float32 has no digits for the others.
_LEAST = 1e-5


def belief(task: Task, model: ModelFns, num: int = 1024) -> Probe:
    """Probe ``belief_r2``, the share of belief states' variance that an affine map explains.

    The map is fitted on the hidden states of half of ``num`` test sentences, after the last layer
    and its norm, and evaluated on the other half. The last word of a sentence, after which nothing
    is predicted, is left out.

    Much of a belief is linear in the last words, so even an untrained network represents it:
    ``belief_r2_of_word`` is the share that the current word alone explains, and
    ``belief_r2_untrained`` the share for hidden states of untrained networks, the mean of four.
    ``belief_left`` is the run's unexplained share divided by that of the untrained networks.

    For a transformer, ``belief_r2_of_layers`` is the share that the residual streams of all layers,
    including embeddings, explain together; ``belief_r2_of_layers_untrained`` as above.

    Raises:
        ValueError: the task is not causal on a hidden Markov model, or the model has no features.
    """
    if not isinstance(task, CausalWords):
        raise ValueError(f"needs the task causal, not {type(task).__name__}")
    world = task.world.make()
    if not isinstance(world, HMM):
        raise ValueError(f"needs a hidden Markov model, not {type(world).__name__}")
    features = model.features
    if features is None:
        raise ValueError("needs a model with hidden states")

    def draw() -> tuple[Batch, Array, Array]:
        tokens = task.test_set(num).tokens
        states = world.belief(tokens)[:, :-1]
        words = jax.nn.one_hot(tokens[:, :-1], world.vocab_size)
        return task.pack(Sentences(tokens)), states, explained(words, states)

    batch, states, of_word = Once(draw)()

    def of_run(params: Params, batch: Any, states: Array) -> dict[str, Array]:
        hidden = features(params, batch)[:, 1 : 1 + states.shape[1]]  # the first token is BEGIN
        found = {"belief_r2": explained(hidden, states)}
        if model.look is not None:
            streams = jnp.moveaxis(look(model, params, batch).residual, 0, -2)  # [N, T, layers, D]
            streams = streams.reshape(*streams.shape[:2], -1)[:, 1 : 1 + states.shape[1]]
            found["belief_r2_of_layers"] = explained(streams, states)
        return found

    # Run by run: two independent batches of LAPACK calls may hang on two cores
    # (el_jax/process/README.md).
    @jax.jit
    def over_runs(params: Params, batch: Batch, states: Array) -> dict[str, Array]:
        return jax.lax.map(lambda one: of_run(one, batch, states), params)

    fresh = Once(jax.vmap(model.init))(jax.random.split(jax.random.key(0), 4))
    untrained = {
        f"{name}_untrained": value.mean() for name, value in over_runs(fresh, batch, states).items()
    }
    alike = {"belief_r2_of_word": of_word, **untrained}

    def of_params(params: Params) -> dict[str, Array]:
        found = over_runs(params, batch, states)
        left = (1 - found["belief_r2"]) / (1 - untrained["belief_r2_untrained"])
        known = {name: jnp.full_like(left, value) for name, value in alike.items()}
        return {**found, **known, "belief_left": left}

    return Probe(of_params)


def explained(inputs: Float[Array, "N T D"], outputs: Float[Array, "N T S"]) -> Float[Array, ""]:
    """Share of the outputs' variance in the second half of N that a map of the first explains."""
    flat = [leaf.reshape(2, -1, leaf.shape[-1]) for leaf in (inputs, outputs)]
    (x, x_new), (y, y_new) = flat
    x_mean, y_mean = x.mean(0, keepdims=True), y.mean(0, keepdims=True)
    slope = jnp.linalg.lstsq(x - x_mean, y - y_mean, rcond=_LEAST)[0]
    left = y_new - y_mean - (x_new - x_mean) @ slope
    return 1 - jnp.square(left).sum() / jnp.square(y_new - y_new.mean(0, keepdims=True)).sum()
