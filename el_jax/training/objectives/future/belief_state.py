"""Belief-state pairs: from what came before and what comes after, predict the tokens at the gap."""

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from el_jax.training.objectives.future.term import Answers, Future, cross_entropy_of, matrix
from el_jax.types import Key, Params


def belief_state(width: int, num_classes: int) -> Future:
    """Mean over later places of CE(next token) + CE(token before that place) (Hu et al. 2024).

    The Belief State Transformer, arXiv 2410.23506, reads a prefix forwards and a suffix backwards,
    and predicts from both the token after the prefix and the one before the suffix, for every pair
    of them, the empty suffix included. A prefix's state must therefore hold all that follows from
    it. Here only suffixes of the answer are read, by a gated recurrent unit (the paper has a second
    transformer), and the heads, which share one hidden layer, add to the prefix's state in front of
    the model's output matrix. An answer of A places has A (A + 1) / 2 pairs.

    Args:
        width: E.
        num_classes: V.
    """

    def init(key: Key) -> Params:
        sizes = {"gate": width, "fresh": width, "inner": 4 * width}
        tokens, *keys = jax.random.split(key, 1 + len(sizes))
        draw = jax.nn.initializers.lecun_normal()
        drawn = zip(sizes.items(), keys, strict=True)
        out = jnp.zeros((4 * width, width))  # both ends start as the next-token head
        return {name: draw(one, (2 * width, size)) for (name, size), one in drawn} | {
            "tokens": matrix(tokens, num_classes, width),
            "next": out,
            "previous": out,
        }

    def term(own: Params, answers: Answers) -> Float[Array, "S A"]:
        after = _suffixes(own, answers)  # after[:, j] has read the labels from j + 1 on

        def of_place(here: Array, label: Array, place: Array) -> Array:
            """The mean loss of one prefix of every answer, over the suffixes that follow it."""
            before = jnp.broadcast_to(here[:, None], after.shape)
            inner = jax.nn.gelu(jnp.concatenate([before, after], axis=-1) @ own["inner"])
            both = jnp.stack([before + inner @ own["next"], before + inner @ own["previous"]])
            logits = both @ answers.head + answers.bias[None, None, None]
            following = jnp.broadcast_to(label[:, None], answers.labels.shape)
            losses = cross_entropy_of(logits, jnp.stack([following, answers.labels])).sum(0)
            ahead = answers.mask & (jnp.arange(after.shape[1]) >= place)[None]
            return jnp.where(ahead, losses, 0).sum(1) / jnp.maximum(ahead.sum(1), 1)

        places = jnp.arange(answers.labels.shape[1])
        return jax.vmap(of_place, (1, 1, 0), 1)(answers.hidden, answers.labels, places)

    return Future(init, term)


def _suffixes(own: Params, answers: Answers) -> Float[Array, "S A E"]:
    """The state that has read, from the end, all labels after each place."""
    tokens = jax.nn.standardize(own["tokens"][answers.labels])

    def read(state: Array, here: tuple[Array, Array]) -> tuple[Array, Array]:
        token, counts = here
        gate = jax.nn.sigmoid(jnp.concatenate([state, token], axis=-1) @ own["gate"])
        fresh = jnp.tanh(jnp.concatenate([gate * state, token], axis=-1) @ own["fresh"])
        return jnp.where(counts[:, None], state + gate * (fresh - state), state), state

    none = jnp.zeros_like(answers.hidden[:, 0])
    over = tokens.swapaxes(0, 1), answers.mask.T
    _, states = lax.scan(read, none, over, reverse=True)
    return jax.nn.standardize(states.swapaxes(0, 1))
