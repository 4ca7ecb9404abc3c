"""Small networks and data with known curvature, for arrays of JAX or PyTorch."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

IGNORED = -100  # the label of an unsupervised position, as in PyTorch
VOCAB, WINDOWS, LENGTH, WIDTH = 5, 12, 4, 4
Matrix = Literal["hessian", "gauss_newton"]


class Batch(NamedTuple):
    """Windows that are read together.

    Attributes:
        tokens: ``[N, T]``, in NumPy unless the tool converts them.
        labels: label of each position, or ``IGNORED``; likewise.
    """

    tokens: Any
    labels: Any


class Network(NamedTuple):
    """Layers between an embedding table and a head; a layer named twice is used twice.

    Attributes:
        layers: kind and number of each layer.
        tied: True if the head is the table.
    """

    layers: tuple[str, ...] = ()
    tied: bool = False


_BLOCK = ("layer_norm 0", "attention 0", "layer_norm 1", "gelu 0")
NETWORKS = {
    "table": Network(),
    "tanh": Network(("tanh 0", "tanh 1")),
    "gelu": Network(("gelu 0", "gelu 1")),
    "relu": Network(("relu 0",)),
    "tied table": Network(("tanh 0",), tied=True),
    "one layer twice": Network(("tanh 0", "tanh 0")),
    "layer norm": Network(("tanh 0", "layer_norm 0")),
    "RMS norm": Network(("tanh 0", "rms_norm 0")),
    "recurrence": Network(("recurrence 0",)),
    "attention": Network(("attention 0",)),
    "block": Network(_BLOCK),
    "tied block": Network((*_BLOCK, "layer_norm 2"), tied=True),
}
# rows of each batch; whether all or some positions are supervised
DATA = {"one batch": (12,), "uneven batches": (6, 4, 2), "ignored labels": (6, 4, 2)}
PRECISE, LOW = "float64", ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A network, its data and a matrix of its curvature.

    Attributes:
        network: a name of ``NETWORKS``.
        data: a name of ``DATA``.
        dtype: dtype of the computation and the parameters.
        matrix: the matrix, of the mean cross entropy over all supervised positions of all batches.
        params: θ, NumPy arrays by name.
        batches: the data.
    """

    network: str
    data: str
    dtype: str
    matrix: Matrix
    params: Mapping[str, Any]
    batches: tuple[Batch, ...]

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.matrix}, {self.network}, {self.data}, {self.dtype}"

    def logits(self, params: Mapping[str, Any], tokens: Any) -> Any:
        """Logits ``[N, T, V]``, of arrays of JAX or PyTorch."""
        library, network = _library_of(params["table"]), NETWORKS[self.network]
        hidden = params["table"][tokens]
        for layer in network.layers:
            of_layer = {k.split("/")[1]: v for k, v in params.items() if k.startswith(f"{layer}/")}
            hidden = _LAYERS[layer.split()[0]](library, of_layer, hidden)
        return hidden @ (params["table"].T if network.tied else params["head"])

    def loss(self, params: Mapping[str, Any], batch: Batch) -> Any:
        """Mean cross entropy in nats over the supervised positions of a batch.

        For a batch without any it is 0 in JAX and NaN in PyTorch.
        """
        return self.cross_entropy(self.logits(params, batch.tokens), batch.labels)

    @staticmethod
    def cross_entropy(logits: Any, labels: Any) -> Any:
        """The mean over the supervised positions of logits ``[N, T, V]``."""
        return _library_of(logits).cross_entropy(logits, labels)

    def at(self, params: Mapping[str, Any]) -> "Problem":
        """The problem at other parameters."""
        return dataclasses.replace(self, params=params)

    def on(self, *batches: Batch) -> "Problem":
        """The problem on other data."""
        return dataclasses.replace(self, batches=batches)

    def all_data(self) -> Batch:
        """All batches as one."""
        return Batch(*map(np.concatenate, zip(*self.batches, strict=True)))

    def dense(self) -> Float[Array, "P P"]:
        """The matrix in float64, in the order of ``jax.flatten_util.ravel_pytree``."""
        with jax.enable_x64(True):
            params = {name: jnp.asarray(value, jnp.float64) for name, value in self.params.items()}
            return _dense(self.network, self.matrix, params, *self.all_data())


class _Jax:
    """Operations of JAX."""

    tanh, relu, softmax = jnp.tanh, jax.nn.relu, jax.nn.softmax
    einsum, stack = jnp.einsum, jnp.stack
    gelu = functools.partial(jax.nn.gelu, approximate=False)

    @staticmethod
    def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale[None, None]
            + shift[None, None]
        )

    @staticmethod
    def rms_norm(x: Array, scale: Array) -> Array:
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * scale[None, None]

    @staticmethod
    def past(num: int, like: Array) -> Array:
        return jnp.where(jnp.tri(num, dtype=bool), 0.0, -jnp.inf).astype(like.dtype)

    @staticmethod
    def cross_entropy(logits: Array, labels: Any) -> Array:
        supervised = labels != IGNORED
        log_probs = jax.nn.log_softmax(logits)
        own = jnp.take_along_axis(log_probs, jnp.where(supervised, labels, 0)[..., None], -1)
        return -jnp.where(supervised, own[..., 0], 0).sum() / jnp.maximum(supervised.sum(), 1)


class _Torch:
    """Operations of PyTorch, built-in where they exist: their derivatives are under test."""

    def __init__(self) -> None:
        import torch

        functional = torch.nn.functional
        self.tanh, self.relu, self.gelu = torch.tanh, functional.relu, functional.gelu
        self.einsum, self.stack = torch.einsum, torch.stack
        self.softmax = functools.partial(torch.softmax, dim=-1)
        self.layer_norm = lambda x, scale, shift: functional.layer_norm(x, (WIDTH,), scale, shift)
        self.rms_norm = lambda x, scale: functional.rms_norm(x, (WIDTH,), scale, 1e-5)
        self.past = lambda num, like: torch.full((num, num), -torch.inf).triu(1).to(like.dtype)
        self.cross_entropy = lambda logits, labels: functional.cross_entropy(
            logits.flatten(0, -2), torch.as_tensor(labels).flatten(), ignore_index=IGNORED
        )


_torch = functools.cache(_Torch)


def _library_of(array: Any) -> Any:
    return _torch() if type(array).__module__.startswith("torch") else _Jax


def _activation(name: str) -> Any:
    def layer(library: Any, own: Mapping[str, Any], x: Any) -> Any:
        return x + getattr(library, name)(x @ own["weight"] + own["bias"][None, None])

    return layer


def _attention(library: Any, own: Mapping[str, Any], x: Any) -> Any:
    query, key, value = (x @ own[name] for name in ("query", "key", "value"))
    scores = library.einsum("nqd,nkd->nqk", query, key) / WIDTH**0.5
    return x + library.softmax(scores + library.past(LENGTH, scores)[None]) @ value


def _recurrence(library: Any, own: Mapping[str, Any], x: Any) -> Any:
    state, states = x[:, 0] * 0, []
    for t in range(LENGTH):
        state = library.tanh(x[:, t] @ own["weight"] + state @ own["over"] + own["bias"][None])
        states.append(state)
    return library.stack(states, 1)


_LAYERS = {
    **{name: _activation(name) for name in ("tanh", "gelu", "relu")},
    "layer_norm": lambda lib, own, x: lib.layer_norm(x, own["scale"], own["shift"]),
    "rms_norm": lambda lib, own, x: lib.rms_norm(x, own["scale"]),
    "attention": _attention,
    "recurrence": _recurrence,
}
_DENSE = {"weight": (WIDTH, WIDTH), "bias": (WIDTH,)}
_SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(("tanh", "gelu", "relu"), _DENSE),
    "layer_norm": {"scale": (WIDTH,), "shift": (WIDTH,)},
    "rms_norm": {"scale": (WIDTH,)},
    "attention": dict.fromkeys(("query", "key", "value"), (WIDTH, WIDTH)),
    "recurrence": _DENSE | {"over": (WIDTH, WIDTH)},
}


@functools.partial(jax.jit, static_argnums=(0, 1))
def _dense(network: str, matrix: Matrix, params: Any, tokens: Any, labels: Any) -> Array:
    """Computed by derivatives of all entries; Gauss-Newton, by its definition from the Jacobian."""
    problem = Problem(network, "", PRECISE, matrix, params, ())
    flat, tree_of = ravel_pytree(params)
    if matrix == "hessian":
        batch = Batch(tokens, labels)
        return jax.jacrev(jax.jacrev(lambda at: problem.loss(tree_of(at), batch)))(flat)
    rows = (labels != IGNORED).ravel()
    logits = lambda at: problem.logits(tree_of(at), tokens).reshape(-1, VOCAB)  # noqa: E731
    slopes, probs = jax.jacrev(logits)(flat), jax.nn.softmax(logits(flat))  # [NT, V, P], [NT, V]
    curved = probs[:, :, None] * (jnp.eye(VOCAB)[None] - probs[:, None, :])
    total = jnp.einsum("n,nvp,nvw,nwq->pq", rows.astype(flat.dtype), slopes, curved, slopes)
    return total / rows.sum()


def random_params(network: str, dtype: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Normal numbers of size .7, scales near 1, all rounded to the dtype."""
    rng = np.random.default_rng([seed, list(NETWORKS).index(network)])
    kinds = NETWORKS[network]
    shapes: dict[str, tuple[int, ...]] = {"table": (VOCAB, WIDTH)}
    shapes |= {} if kinds.tied else {"head": (WIDTH, VOCAB)}
    for layer in dict.fromkeys(kinds.layers):
        own = _SHAPES[layer.split()[0]]
        shapes |= {f"{layer}/{name}": shape for name, shape in own.items()}
    drawn = {n: 0.7 * rng.normal(size=s) + n.endswith("scale") for n, s in shapes.items()}
    return {name: rounded(value, dtype) for name, value in drawn.items()}


def rounded(value: Any, dtype: str) -> np.ndarray:
    """Round to a dtype; NumPy has no bfloat16, so these numbers are stored in float32."""
    held = np.asarray(value, jnp.dtype(dtype))
    return held.astype(np.float32) if dtype == "bfloat16" else held


def random_data(data: str, seed: int = 0) -> tuple[Batch, ...]:
    """Uniform tokens and labels; if some are ignored, one window has only ignored ones."""
    rng = np.random.default_rng(seed)
    tokens, labels = rng.integers(0, VOCAB, (2, WINDOWS, LENGTH))
    if data == "ignored labels":
        labels[rng.random(labels.shape) < np.linspace(0.1, 0.8, WINDOWS)[:, None]] = IGNORED
        labels[WINDOWS // 2] = IGNORED
    cuts = np.cumsum(DATA[data])[:-1]
    pairs = zip(np.split(tokens, cuts), np.split(labels, cuts), strict=True)
    return tuple(Batch(*pair) for pair in pairs)


def _problems() -> Iterator[Problem]:
    cells = list(itertools.product(NETWORKS, DATA, (PRECISE,)))
    cells += list(itertools.product(("tanh", "layer norm", "tied block"), ["one batch"], LOW))
    matrices: tuple[Matrix, ...] = ("hessian", "gauss_newton")
    for (network, data, dtype), matrix in itertools.product(cells, matrices):
        params = random_params(network, dtype)
        yield Problem(network, data, dtype, matrix, params, random_data(data))


PROBLEMS = tuple(_problems())
