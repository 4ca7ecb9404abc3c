"""Products with curvature matrices that are never formed.

A loss is any function ``loss(params)`` of one real number. With θ the parameters, P their number
and v a direction of the same tree, shapes and dtypes:

===================  ==============  ==============================  ==========  ======
                                                                     operations  memory
===================  ==============  ==============================  ==========  ======
``hvp``              H v             H = ∇²L, forward over reverse   2.7         2.2
``quadratic_form``   vᵀ H v          forward over forward            1.7         0.7
``ggn_vp``           Jᵀ (∇²ℓ) J v    generalised Gauss-Newton        1.7         1.3
``dense_hessian``    H               P products H v
===================  ==============  ==============================  ==========  ======

Costs are in gradients of the same loss, compiled, of a transformer of 3 layers and width 64 on a
CPU: operations and temporary memory as XLA counts them; of a batch in parts (``parts.py``) memory
is that of one part. All are pure functions of arrays: compile them, and ``vmap`` them over a
leading run axis.

Results have the precision of the parameters. Second derivatives of bfloat16 losses, or of float32
losses whose products are rounded to TF32 or bfloat16, are noise: ask for the highest precision
where the loss is made.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.curvature.arguments import (
    check_params,
    check_scalar,
    check_tangent,
    differentiating_twice,
)
from el_jax.types import Params

Loss = Callable[[Params], Array]


def hvp(loss: Loss, params: Params, v: Params) -> Params:
    """H v, the derivative of the gradient along v (Pearlmutter 1994).

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        v: a direction, like ``params``.

    Returns:
        A tree like ``params``.

    Raises:
        ValueError: if v is not like ``params``, the loss is no single real number, or part of it
            has derivatives backwards alone.
    """
    check_tangent(params, v)
    check_scalar("loss", jax.eval_shape(loss, params))
    with differentiating_twice():
        return jax.jvp(jax.grad(loss), (params,), (v,))[1]


def quadratic_form(loss: Loss, params: Params, v: Params) -> Float[Array, ""]:
    """vᵀ H v, the second derivative of t ↦ L(θ + t v) at 0, forward over forward.

    Less than vᵀ (H v) costs, and a third of its memory: nothing is stored for a backward pass.

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        v: a direction, like ``params``.

    Raises:
        ValueError: as of :func:`hvp`.
    """
    check_tangent(params, v)
    second = second_derivative(loss, params, v)[1]
    check_scalar("loss", second)
    return second


def second_derivative(
    function: Callable[[Params], Any], params: Params, v: Params
) -> tuple[Any, Any]:
    """First and second derivative of t ↦ f(θ + t v) at 0, each like the value of f.

    Raises:
        ValueError: part of f has derivatives backwards alone, as cuDNN's attention has.
    """
    # tied to v, or a loop over v first computes all that needs no v, and keeps every activation:
    # 4.5 times the memory, and 1.35 times the time on a CPU
    params, v = jax.lax.optimization_barrier((params, v))

    def slope(at: Params) -> Any:
        return jax.jvp(function, (at,), (v,))[1]

    with differentiating_twice():
        return jax.jvp(slope, (params,), (v,))


def ggn_vp(
    model_outputs: Callable[[Params], Any],
    loss_of_outputs: Callable[[Any], Array],
    params: Params,
    v: Params,
) -> Params:
    """G v with G = Jᵀ (∇²ℓ) J, J the Jacobian of the outputs (Schraudolph 2002).

    G is H without the curvature of the model. For softmax and cross entropy it is the Fisher
    matrix, whatever the labels.

    Args:
        model_outputs: from parameters to outputs, mostly logits; any pytree.
        loss_of_outputs: ℓ, from those outputs to one number.
        params: θ.
        v: a direction, like ``params``.

    Returns:
        A tree like ``params``.

    Raises:
        ValueError: as of :func:`hvp`.
    """
    check_tangent(params, v)
    with differentiating_twice():
        outputs, along = jax.jvp(model_outputs, (params,), (v,))
    check_scalar("loss_of_outputs", jax.eval_shape(loss_of_outputs, outputs))
    with differentiating_twice():
        curved = jax.jvp(jax.grad(loss_of_outputs), (outputs,), (along,))[1]
    return jax.vjp(model_outputs, params)[1](curved)[0]


def dense_hessian(loss: Loss, params: Params) -> Float[Array, "P P"]:
    """H itself; coordinates are in the order of ``jax.flatten_util.ravel_pytree``.

    Memory is P gradients at least: for models of some thousand parameters.

    Raises:
        ValueError: if a parameter is not real, or the loss is no single real number.
    """
    check_params(params)
    check_scalar("loss", jax.eval_shape(loss, params))
    flat, unravel = ravel_pytree(params)
    rows = jnp.eye(flat.size, dtype=flat.dtype)
    return jax.vmap(lambda row: ravel_pytree(hvp(loss, params, unravel(row)))[0])(rows)
