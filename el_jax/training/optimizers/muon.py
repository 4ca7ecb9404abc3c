"""Muon: momentum, orthogonalised matrix by matrix."""

from typing import Annotated, Any

import jax
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix

_RMS = 0.2  # root mean square of an update's entries, close to AdamW's


def muon(
    learning_rate: optax.Schedule,
    *,
    momentum: Annotated[ScalarLike, Number(0.95, at_least=0, below=1)],
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
    epsilon: Annotated[ScalarLike, Number(1e-8, above=0, symbol="ε")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """Muon for the matrices of layers, AdamW for all else (Jordan 2024; Liu et al. 2025).

    Queries, keys and values of all heads are one matrix each, and so is the attention output.
    Updates are scaled to AdamW's size (arXiv 2502.16982), so that learning rates are comparable.
    As in optax, AdamW takes Nesterov's step here, unlike ``adamw``.

    Args:
        learning_rate: function of the number of earlier updates.
        momentum: decay of the mean gradient that is orthogonalised, with Nesterov's step.
        b1: AdamW's decay of the first moment.
        b2: AdamW's decay of the second moment.
        epsilon: AdamW's; also added to the norm by which a momentum is first divided.
        weight_decay: decoupled decay of matrices, never of biases or norms.
    """
    ascent = optax.contrib.muon(
        -1.0,  # flip the sign; optax's own decay omits tables or includes biases
        beta=momentum,
        eps=epsilon,
        adam_b1=b1,
        adam_b2=b2,
        muon_weight_dimension_numbers=_matrices,
        consistent_rms=_RMS,
    )
    return optax.chain(
        ascent,
        optax.add_decayed_weights(weight_decay, mask=is_matrix),
        optax.scale_by_learning_rate(learning_rate),
    )


def _matrices(params: optax.Params) -> optax.Params:
    """Input and output axes of each layer matrix; None for every other parameter."""
    heads = {
        "q": optax.contrib.MuonDimensionNumbers(-3, (-2, -1)),
        "o": optax.contrib.MuonDimensionNumbers((-3, -2), -1),
    }
    heads |= {"k": heads["q"], "v": heads["q"]}
    plain = optax.contrib.MuonDimensionNumbers(-2, -1)

    def axes(path: tuple[Any, ...], _: jax.Array) -> optax.contrib.MuonDimensionNumbers | None:
        names = [jax.tree_util.keystr((key,), simple=True) for key in path]
        if names[-1] != "kernel" or not names[0].startswith("layers"):
            return None
        return heads.get(names[-2], plain)

    return jax.tree_util.tree_map_with_path(axes, params)
