"""Curvature of any loss: it sees only ``loss(params)``, or log-probabilities of single contexts.

    params, loss = ..., lambda params: ...  # one real number, float32 or float64
    curved = hvp(loss, params, v)

Functions are pure, compile inside the caller's ``jit``, and ``vmap`` over a leading run axis, so
the curvature of several seeds is one program. Losses are in nats, traces in nats over squared
units of the parameters.
"""

from el_jax.curvature.blocks import restrict
from el_jax.curvature.products import dense_hessian, ggn_vp, hvp, quadratic_form

__all__ = ["dense_hessian", "ggn_vp", "hvp", "quadratic_form", "restrict"]
