"""Curvature matrices as operators, defined by their products and never formed.

With P parameters θ and a direction v of the same tree, shapes and dtypes:

=======================  ================================  ==========  ======
                                                           operations  memory
=======================  ================================  ==========  ======
``matvec``, Hessian      H v, forward over reverse         2.7         2.2
``quadratic_form``       vᵀ H v, forward over forward      1.7         0.7
``matvec``, GaussNewton  Jᵀ (∇²ℓ) J v                      1.7         1.3
``dense``                P products
=======================  ================================  ==========  ======

Costs are in gradients of the same loss, compiled, of a transformer of 3 layers and width 64 on a
CPU: operations and temporary memory as XLA counts them; for a batch in parts (``parts.py``), memory
is that of one part. Results have the precision of the parameters. Second derivatives of bfloat16
losses, or of float32 losses whose products are rounded to TF32 or bfloat16, are noise: request the
highest precision in the loss.
"""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int

from el_jax.curvature.arguments import (
    check_count,
    check_finite,
    check_params,
    leaves_by_name,
)
from el_jax.curvature.sampling import map_in_chunks, mean_and_sem, numbered_keys, signs
from el_jax.curvature.spectra import (
    Eigenpairs,
    Product,
    SpectralDensity,
    extreme_eigenpairs,
    quadrature,
)
from el_jax.process.errors import require
from el_jax.types import Estimate, Key, Params

SomeOperator = TypeVar("SomeOperator", bound="Operator")
Draw = Callable[[Key, Params], Params]


class Operator(abc.ABC):
    """A symmetric matrix A over the parameters θ, defined by its products.

    Every estimate raises ``ValueError`` if the function or the result is not finite, unless the
    numbers are traced.

    Attributes:
        params: θ.
        source: name of the function whose curvature A is, for messages.
    """

    params: Params
    source: ClassVar[str]

    def __post_init__(self) -> None:
        check_params(self.params)

    @abc.abstractmethod
    def matvec(self, v: Params) -> Params:
        """A v, a tree like the parameters.

        jax refuses a direction unlike the parameters, a loss that is not one number, and functions
        without derivatives forwards: use plain attention (``model.attention_impl="xla"``, not
        cuDNN's) and plain logits (``loss.path="plain"``).
        """

    @abc.abstractmethod
    def quadratic_form(self, v: Params) -> Float[Array, ""]:
        """vᵀ A v, cheaper than ``matvec``: nothing is stored for a backward pass.

        Errors are those of :meth:`matvec`.
        """

    @abc.abstractmethod
    def value(self) -> Array:
        """The function at θ whose curvature A is, of any shape."""

    @abc.abstractmethod
    def of_block(
        self: SomeOperator, merged: Callable[[Any], Params], block: dict[str, Array]
    ) -> SomeOperator:
        """The operator of some leaves, which ``merged`` completes to all parameters."""

    def restrict(self: SomeOperator, belongs: Callable[[str], bool]) -> SomeOperator:
        """The diagonal block of A for some leaves, with the others fixed.

        A tied weight is one leaf and belongs to one group. The traces of groups that partition the
        leaves add up to Tr A. Probes of a block do not see entries outside it, so block traces have
        smaller errors than the corresponding parts of one trace.

        Args:
            belongs: True for names such as ``layer_0/query/kernel`` that are in the block.

        Raises:
            ValueError: if no name belongs.
        """
        leaves, structure = leaves_by_name(self.params), jax.tree.structure(self.params)
        block = {name: leaf for name, leaf in leaves.items() if belongs(name)}
        require("leaves that belong", list(block), bool(block), f"some of {', '.join(leaves)}")

        def merged(block: dict[str, Array]) -> Params:
            return jax.tree.unflatten(structure, list((leaves | block).values()))

        return self.of_block(merged, block)

    def trace(self, key: Key, num_probes: int, *, chunk: int = 1) -> Estimate:
        """Tr A as the mean of vᵀ A v over random signs v (Hutchinson 1989).

        The variance of one probe is 2 (‖A‖_F² - Σ_i A_ii²), which is below that of normal probes.

        Args:
            key: key of the probes; with the same key two checkpoints compare probe by probe.
            num_probes: number of probes, each one :meth:`quadratic_form`.
            chunk: probes at once, the factor by which memory grows.

        Returns:
            The estimate; its error covers the probes only, since the function is taken as given.

        Raises:
            ValueError: if ``num_probes`` is below 2 or ``chunk`` below 1.
        """
        return self._mean_form(signs, key, num_probes, chunk)

    def scale_free_trace(self, key: Key, num_probes: int, *, chunk: int = 1) -> Estimate:
        """Σ_l ‖W_l‖² Tr A_ll over the leaves W_l of the parameters, with A_ll their blocks of A.

        A layer before a normalisation computes the same function from c W as from W, with a trace
        c² times smaller; this sum does not change. Arguments and errors are those of :meth:`trace`.
        """

        def draw(key: Key, params: Params) -> Params:
            return jax.tree.map(
                lambda v, w: v * jnp.linalg.norm(w.ravel()), signs(key, params), params
            )

        return self._mean_form(draw, key, num_probes, chunk)

    def exact_trace(self, *, chunk: int = 1) -> Float[Array, ""]:
        """Tr A = Σ_i e_iᵀ A e_i, by as many quadratic forms as there are parameters.

        Args:
            chunk: coordinates at once, the factor by which memory grows.

        Raises:
            ValueError: if ``chunk`` is below 1.
        """
        return self._coordinate_forms(chunk).sum()

    def exact_diagonal(self, *, chunk: int = 1) -> Params:
        """A_ii of every coordinate, a tree like the parameters; see :meth:`exact_trace`."""
        flat, unravel = ravel_pytree(self.params)
        return unravel(self._coordinate_forms(chunk).astype(flat.dtype))

    def dense(self) -> Float[Array, "P P"]:
        """A itself; coordinates are in the order of ``jax.flatten_util.ravel_pytree``.

        Memory is at least P gradients: use it for models of a few thousand parameters.
        """
        flat = ravel_pytree(self.params)[0]
        return jax.vmap(self.flat_product())(jnp.eye(flat.size, dtype=flat.dtype))

    def eigenvalues(
        self,
        key: Key,
        num: int,
        *,
        num_steps: int | None = None,
        end: str = "largest",
    ) -> Eigenpairs:
        """Eigenpairs at one end of the spectrum (Lanczos 1950, full reorthogonalisation).

        Args:
            key: key of the normal starting vector.
            num: number of eigenvalues.
            num_steps: products A v; max(2 num, 20) + 20 when None, and at most P. Memory is that
                many trees like the parameters.
            end: "largest" for the most positive first, "smallest" for the most negative first.

        Returns:
            The pairs. Residuals come from ``num`` further products, so they hold whatever the
            process did.

        Raises:
            ValueError: if ``num`` is below 1 or above the steps.
        """
        flat, unravel = ravel_pytree(self.params)
        steps = min(flat.size, max(2 * num, 20) + 20 if num_steps is None else num_steps)
        require("num", num, 1 <= num <= steps, f"from 1 to {steps}, the number of steps")
        require("end", end, end in ("largest", "smallest"), "'largest' or 'smallest'")
        start = jax.random.normal(key, flat.shape, flat.dtype)
        found = extreme_eigenpairs(self.flat_product(), start, key, num, steps, end)
        self.check_finite("eigenvalues", found.values)
        return found._replace(vectors=jax.vmap(unravel)(found.vectors))

    def density(
        self, key: Key, *, num_probes: int = 10, num_steps: int = 80, chunk: int = 1
    ) -> SpectralDensity:
        """The density of the eigenvalues by stochastic Lanczos quadrature.

        Ubaru, Chen, Saad 2017; as used on networks by Ghorbani, Krishnan, Xiao 2019 (arXiv
        1901.10159), with probes of random signs.

        Args:
            key: key of the probes.
            num_probes: starting vectors.
            num_steps: products A v for each probe, at most P of them; memory is that many trees
                like the parameters for each probe.
            chunk: probes at once, the factor by which memory grows.

        Raises:
            ValueError: if a number is below 1.
        """
        check_count("num_probes", num_probes)
        check_count("num_steps", num_steps)
        product = self.flat_product()

        def one_probe(key: Key) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
            start = ravel_pytree(signs(key, self.params))[0]
            return quadrature(product, start, key, min(num_steps, start.size))

        density = SpectralDensity(*map_in_chunks(one_probe, numbered_keys(key, num_probes), chunk))
        self.check_finite("eigenvalues", density.nodes)
        return density

    def flat_product(self) -> Product:
        """The product with A on flat vectors, in the order of ``ravel_pytree``."""
        unravel = ravel_pytree(self.params)[1]
        return lambda v: ravel_pytree(self.matvec(unravel(v)))[0]

    def check_finite(self, what: str, value: Array) -> None:
        """Raise if a result, or the function at θ, is not finite; see ``arguments.py``."""
        check_finite(what, value, self.source, self.value)

    def _mean_form(self, draw: Draw, key: Key, num_probes: int, chunk: int) -> Estimate:
        check_count("num_probes", num_probes, least=2)

        def one_probe(key: Key) -> Float[Array, ""]:
            return self.quadratic_form(draw(key, self.params))

        estimate = mean_and_sem(map_in_chunks(one_probe, numbered_keys(key, num_probes), chunk))
        self.check_finite("trace", estimate.mean)
        return estimate

    def _coordinate_forms(self, chunk: int) -> Float[Array, " P"]:
        flat, unravel = ravel_pytree(self.params)
        coordinates = jnp.arange(flat.size)

        def one(coordinate: Int[Array, ""]) -> Float[Array, ""]:
            return self.quadratic_form(unravel((coordinates == coordinate).astype(flat.dtype)))

        forms = map_in_chunks(one, coordinates, chunk)
        self.check_finite("trace", forms.sum())
        return forms
