"""Layouts: the mapping between a file's tensors and our parameters.

A parameter is named by its path, such as ``layers_0/attn/q/kernel``. It is first flattened to a
matrix ``[in, out]`` (a vector, if nothing is contracted); torch's Linear stores the transposed
matrix, its Conv1D the matrix itself. Queries, keys and values may share one tensor.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Shape = tuple[int, ...]


class Place(NamedTuple):
    """Layout of one file tensor; converts to and from the parameters that it holds.

    Attributes:
        paths: paths of the parameters, all of one shape; braces stand for the layer number.
        inputs: number of axes that a product contracts; 0 for biases and scales.
        transposed: True if the file stores ``[out, in]``.
        stacked: axis, counted from the end, along which several parameters are stacked.
    """

    paths: tuple[str, ...]
    inputs: int = 1
    transposed: bool = False
    stacked: int = 0

    def in_layer(self, number: int) -> "Place":
        """The place for the parameters of one layer."""
        return self._replace(paths=tuple(path.format(number) for path in self.paths))

    def shape(self, part: Shape) -> Shape:
        """Shape of the tensor, from the shape of each parameter."""
        shape = self._matrix(self._together(part))
        return shape[::-1] if self.transposed else shape

    def pack(self, parts: Sequence[Float[np.ndarray, "..."]]) -> Float[np.ndarray, "..."]:
        """The tensor that holds the parameters."""
        whole = np.stack(parts, axis=self.stacked) if self.stacked else parts[0]
        matrix = whole.reshape(self._matrix(whole.shape))
        return np.ascontiguousarray(matrix.T if self.transposed else matrix)

    def unpack(
        self, tensor: Float[np.ndarray, "..."], part: Shape
    ) -> Sequence[Float[np.ndarray, "..."]]:
        """The parameters, each of shape ``part``, that the tensor holds."""
        whole = (tensor.T if self.transposed else tensor).reshape(self._together(part))
        return tuple(np.moveaxis(whole, self.stacked, 0)) if self.stacked else (whole,)

    def _together(self, part: Shape) -> Shape:
        if not self.stacked:
            return part
        axis = len(part) + 1 + self.stacked
        return (*part[:axis], len(self.paths), *part[axis:])

    def _matrix(self, shape: Shape) -> Shape:
        outputs = math.prod(shape[self.inputs :])
        return (math.prod(shape[: self.inputs]), outputs) if self.inputs else (outputs,)


Module = Mapping[str, Place]  # tensors of one torch module, by the last word of their names


def table(ours: str) -> Module:
    """An embedding."""
    return {"weight": Place((ours,))}


def norm(ours: str) -> Module:
    """Scale and bias of a norm."""
    return {
        "weight": Place((f"{ours}/scale",), inputs=0),
        "bias": Place((f"{ours}/bias",), inputs=0),
    }


def conv1d(*ours: str, inputs: int = 1, stacked: int = 0, transposed: bool = False) -> Module:
    """Kernel ``[in, out]`` and bias of Hugging Face's Conv1D, for one of our layers or several."""
    kernels = tuple(f"{layer}/kernel" for layer in ours)
    biases = tuple(f"{layer}/bias" for layer in ours)
    return {
        "weight": Place(kernels, inputs, transposed, stacked),
        "bias": Place(biases, inputs=0, stacked=stacked),
    }


def linear(*ours: str, inputs: int = 1, stacked: int = 0) -> Module:
    """Kernel ``[out, in]`` and bias of torch's Linear, for one of our layers or several."""
    return conv1d(*ours, inputs=inputs, stacked=stacked, transposed=True)
