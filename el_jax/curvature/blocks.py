"""Curvature of some of the parameters: a layer, a kind of matrix, all but the biases."""

from collections.abc import Callable

import jax
from jax import Array

from el_jax.curvature.arguments import check_params, leaves_by_name
from el_jax.curvature.products import Loss
from el_jax.types import Params


def restrict(
    loss: Loss, params: Params, belongs: Callable[[str], bool]
) -> tuple[Loss, dict[str, Array]]:
    """The loss as a function of some leaves, the others being held.

    Its Hessian is the diagonal block of H that belongs to those leaves, so every quantity of this
    room has a version for a group of parameters::

        hessian_trace(*restrict(loss, params, lambda name: name.endswith("kernel")), key, 100)

    A tied weight is one leaf and belongs to one group. The traces of groups that share out the
    leaves add up to Tr H. Probes of a block do not see the entries of H outside it, so block
    traces have smaller errors than the matching parts of one trace.

    Args:
        loss: a function of all parameters.
        params: θ.
        belongs: True for names such as ``layer_0/query/kernel`` that are in the group.

    Returns:
        The function of the group, and the group: name -> leaf.

    Raises:
        ValueError: if no name belongs.
    """
    merged, block = split_params(params, belongs)
    return lambda block: loss(merged(block)), block


def blocks(
    loss: Loss, params: Params, group_of: Callable[[str], str]
) -> dict[str, tuple[Loss, dict[str, Array]]]:
    """The results of :func:`restrict` for every group of leaves, by the group's name.

    Blockwise spectra, as Zhang et al. 2024 (arXiv 2402.16788) compare them between the matrices of
    a transformer, are a line::

        of_block = blocks(loss, params, lambda name: name.rpartition("/")[0])
        {name: spectral_density(*block, key) for name, block in of_block.items()}

    Args:
        loss: a function of all parameters.
        params: θ.
        group_of: the group of a leaf named such as ``layer_0/query/kernel``.
    """
    check_params(params)
    groups = {name: group_of(name) for name in leaves_by_name(params)}
    return {
        group: restrict(loss, params, lambda name, group=group: groups[name] == group)  # type: ignore[misc]
        for group in dict.fromkeys(groups.values())
    }


def split_params(
    params: Params, belongs: Callable[[str], bool]
) -> tuple[Callable[[dict[str, Array]], Params], dict[str, Array]]:
    """The function from some leaves to all parameters, the others being held, and those leaves.

    Arguments and errors are those of :func:`restrict`.
    """
    check_params(params)
    leaves = leaves_by_name(params)
    block = {name: leaf for name, leaf in leaves.items() if belongs(name)}
    if not block:
        raise ValueError(
            f"belongs={getattr(belongs, '__name__', belongs)!r}: must be true for at least one of "
            f"{', '.join(leaves)}"
        )

    def merged(block: dict[str, Array]) -> Params:
        return jax.tree.unflatten(jax.tree.structure(params), list((leaves | block).values()))

    return merged, block
