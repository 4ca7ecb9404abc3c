"""Checks of arguments that jax would take in silence, or refuse in words about something else.

Each error is one line with the argument, its value and the allowed values.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.process.errors import require
from el_jax.types import Params


def leaves_by_name(params: Params) -> dict[str, Any]:
    """The leaves of a pytree under names such as ``layer_0/query/kernel``."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def kind_of(leaf: Any) -> str:
    """Dtype and shape, such as ``float32[2,3]``."""
    found = jax.typeof(leaf)
    return f"{found.dtype}[{','.join(map(str, found.shape))}]"


def check_params(params: Params) -> None:
    """Raise if the parameters have no leaf, or a leaf without a derivative.

    Raises:
        ValueError: the message names the leaf.
    """
    leaves = leaves_by_name(params)
    require("params", params, bool(leaves), "a pytree with at least one array")
    for name, leaf in leaves.items():
        if not jnp.issubdtype(jax.typeof(leaf).dtype, jnp.floating):
            raise ValueError(f"params[{name!r}] is {kind_of(leaf)}: must be real and floating")


def check_tangent(params: Params, v: Params, name: str) -> None:
    """Raise unless ``v`` has the same tree, shapes and dtypes as ``params``.

    Raises:
        ValueError: the message names the first leaf that differs.
    """
    check_params(params)
    expected, given = leaves_by_name(params), leaves_by_name(v)
    for leaf in [*expected, *given]:
        if leaf not in expected or leaf not in given:
            what = "missing" if leaf in expected else "not in params"
            raise ValueError(
                f"{name}[{leaf!r}] is {what}: {name} must have the leaves {', '.join(expected)}"
            )
        found, wanted = kind_of(given[leaf]), kind_of(expected[leaf])
        if found != wanted:
            raise ValueError(f"{name}[{leaf!r}] is {found}: must be {wanted}, like params")
    nested, wanted = str(jax.tree.structure(v)), str(jax.tree.structure(params))
    require(name, nested, nested == wanted, f"nested like params, {wanted}")


def check_count(name: str, value: int, least: int = 1) -> None:
    """Raise if a number of probes, steps or contexts is too small.

    Raises:
        ValueError: unless ``value`` is at least ``least``.
    """
    require(name, value, value >= least, f"at least {least}")


def check_examples(name: str, examples: Any, weights: Array | None) -> int:
    """The number of examples of a pytree with leaves ``[N, ...]``.

    Raises:
        ValueError: if leaves or weights disagree, or there are fewer than 2, which have no spread.
    """
    lengths = {jax.typeof(leaf).shape[:1] for leaf in jax.tree.leaves(examples)}
    if len(lengths) != 1 or () in lengths:
        raise ValueError(f"{name} have first axes {sorted(lengths)}: must share one, [N]")
    ((num,),) = lengths
    check_count(f"number of {name}", num, least=2)
    if weights is not None and weights.shape != (num,):
        raise ValueError(f"weights have shape {weights.shape}: must be [N] = {(num,)}")
    return num


def check_labels(name: str, labels: Array, num_classes: int, weights: Array | None) -> None:
    """Raise if a label is no class, as -100 for an ignored token: it would count as a loss of 0.

    Labels of contexts of weight 0 may be anything; traced ones pass, see :func:`check_finite`.

    Raises:
        ValueError: names the first such label.
    """
    wrong = (labels < 0) | (labels >= num_classes)
    wrong = wrong if weights is None else wrong & (weights > 0)
    if not isinstance(wrong, jax.core.Tracer):
        allowed = f"classes, 0 to {num_classes - 1}; leave other contexts out"
        require(name, labels[wrong][:1].tolist(), not wrong.any(), allowed)


def check_finite(what: str, value: Array, cause: str, at: Callable[[], Array]) -> None:
    """Raise if the result, or the loss it was computed from, is not finite.

    A loss may be NaN while its derivatives are finite, so both are checked. Traced numbers (under
    ``jit`` or ``vmap``) have no value yet and pass: a caller who compiles must check the loss.

    Args:
        what: name of the result.
        value: the result, of any shape.
        cause: name of the function whose curvature it is.
        at: returns that function's value at the parameters.

    Raises:
        ValueError: the message says which of the two is not finite.
    """
    if isinstance(value, jax.core.Tracer):
        return
    given = jnp.ravel(at())
    wrong = given[~jnp.isfinite(given)]
    require(cause, wrong[:1].tolist(), not wrong.size, "finite")
    if not jnp.isfinite(value).all():
        raise ValueError(
            f"{what}={value}: must be finite, as {cause} is; is it twice differentiable at params?"
        )
