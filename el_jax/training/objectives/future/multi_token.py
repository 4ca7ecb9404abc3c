"""Multi-token prediction: further heads for the tokens after the next one."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.numbers import Number
from el_jax.training.objectives.future.term import Answers, Future, cross_entropy_of, later, matrix
from el_jax.types import Key, Params


def multi_token(
    width: int,
    num_classes: int,
    *,
    num_heads: Annotated[int, Number(3, at_least=1)],
) -> Future:
    """Σ_k CE of the token k places after the next, over heads k (Gloeckle et al. 2024).

    arXiv 2404.19737 gives each head a transformer block; here it is a residual MLP of one hidden
    layer in front of the shared output matrix, as in Medusa (Cai et al. 2024, arXiv 2401.10774).

    Args:
        width: E.
        num_classes: V.
        num_heads: the largest number of tokens predicted after the next one.
    """
    del num_classes

    def init(key: Key) -> Params:
        keys = jax.random.split(key, num_heads)
        out = jnp.zeros((num_heads, width, width))  # each head starts as the next-token head
        return {"in": jnp.stack([matrix(k, width, width) for k in keys]), "out": out}

    def term(own: Params, answers: Answers) -> Float[Array, "S A"]:
        def of_head(places: int) -> Array:
            inner = jax.nn.gelu(answers.hidden @ own["in"][places - 1])
            hidden = answers.hidden + inner @ own["out"][places - 1]
            logits = hidden @ answers.head + answers.bias[None, None]
            loss = cross_entropy_of(logits, later(answers.labels, places))
            return jnp.where(later(answers.mask, places), loss, 0.0)

        most = min(num_heads, answers.labels.shape[1] - 1)
        zero = jnp.zeros(answers.labels.shape)
        return sum((of_head(places) for places in range(1, most + 1)), zero)

    return Future(init, term)
