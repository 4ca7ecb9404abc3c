"""Contexts of Genesis: both traces of a pretrained network, and of the same one untrained."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.curvature import Fisher
from el_jax.curvature.hessian import second_derivative
from el_jax.curvature.sampling import signs
from el_jax.probes.contexts import context_logits, contexts_of
from el_jax.probes.curvature import group_parts
from el_jax.tasks.text_windows import reading_windows
from el_jax.types import Batch, Key, ModelFns, Params
from experiments.harness.readers import Reader, drawn_reader, fresh, pretrained_reader
from experiments.harness.seeds import Measured, run_seeds


@dataclasses.dataclass(frozen=True)
class Scale:
    """The amount of text, and of random draws."""

    length: int  # T, tokens of a window; contexts end in its second half
    windows: int  # consecutive ones
    probes: int  # directions, each for all contexts
    scored: int  # contexts whose scores are taken, for the shares of layers
    labels: int  # drawn for each of them
    passages: int


SCALES = {
    "smoke": Scale(8, 4, 2, 4, 2, 2),
    "cpu": Scale(32, 16, 4, 8, 2, 4),
}
NUM_SEEDS = {name: size.passages for name, size in SCALES.items()}
PASSAGE_EVERY = 5_000  # tokens between passages; the first was seen while this was written
DRAWS = 16  # of the network's own labels in each context
LAYER = "layers_"
NETWORKS = ("pretrained", "fresh")
LABELS = ("text", "own", "other")  # of the text, drawn by the network, of other contexts


class Forms(NamedTuple):
    """Means over contexts of vᵀ F v, and of vᵀ H v at each kind of label; one probe each.

    Attributes:
        fisher: forms of the Fisher matrix, ``[probes]``.
        hessian: forms of the Hessian, ``[probes, kinds of label]``.
        cross_entropy: in nats, ``[kinds of label]``.
    """

    fisher: Float[Array, " probes"]
    hessian: Float[Array, "probes kinds"]
    cross_entropy: Float[Array, " kinds"]


@partial(jax.jit, static_argnames=("model", "num_probes"))
def forms(model: ModelFns, params: Params, windows: Batch, key: Key, num_probes: int) -> Forms:
    """Both quadratic forms of random signs, from one forward second derivative each.

    Log-probabilities u of a context have derivatives u̇ and ü along v. With label y,
    vᵀ H v = -ü_y, and vᵀ F v = Σ_c p_c u̇_c², so that one derivative serves every label.
    """
    label_key, probe_key = jax.random.split(key)
    of_text = windows.labels.reshape(-1, 1)

    def log_probs(params: Params) -> Float[Array, "N V"]:
        return jax.nn.log_softmax(model.apply(params, windows)).reshape(len(of_text), -1)

    laws = log_probs(params)
    keys = jax.random.split(label_key, DRAWS)  # one at a time, since each takes as much as `laws`
    own = jax.lax.map(lambda key: jax.random.categorical(key, laws), keys).T
    labels = {"text": of_text, "own": own, "other": jnp.roll(of_text, len(of_text) // 2)}

    def at_labels(values: Float[Array, "N V"]) -> Float[Array, " kinds"]:
        """Means over contexts, and over the draws in each."""
        return jnp.stack([jnp.take_along_axis(values, labels[k], 1).mean() for k in LABELS])

    def of_probe(key: Key) -> tuple[Array, Array]:
        slope, curve = second_derivative(log_probs, params, signs(key, params))
        fisher = (jnp.exp(laws) * jnp.square(slope)).sum(axis=1).mean()
        return fisher, -at_labels(curve)

    fisher, hessian = jax.lax.map(of_probe, jax.random.split(probe_key, num_probes))
    return Forms(fisher, hessian, -at_labels(laws))


@partial(jax.jit, static_argnames=("model", "num_labels"))
def layer_traces(
    model: ModelFns, params: Params, windows: Batch, key: Key, num_labels: int
) -> dict[str, Float[Array, ""]]:
    """The trace of the Fisher matrix for every layer, and for parameters outside layers."""
    fisher = Fisher(context_logits(model), params, windows, chunk=1)
    found = fisher.sampled_traces(group_parts(params, "layer"), key, num_labels)
    return {group: estimate.mean for group, estimate in found.items()}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One passage, read by both networks."""
    size = SCALES[scale]
    reader = drawn_reader() if scale == "smoke" else pretrained_reader()
    start = PASSAGE_EVERY * (seed + 1)
    tokens = reader.tokens[start : start + size.windows * (size.length + 1)]
    windows = reading_windows(tokens, size.length)
    for network in NETWORKS:
        yield from _of_network(size, reader, network, windows, seed)


def _of_network(
    size: Scale, reader: Reader, network: str, windows: Batch, seed: int
) -> Iterator[Measured]:
    """Both traces at every kind of label, and the shares of layers."""
    key = jax.random.key(seed)
    if network == "fresh":
        reader = fresh(reader, jax.random.fold_in(key, 1))
    found = forms(reader.model, reader.params, windows, key, size.probes)
    fisher = float(found.fisher.mean())
    for labels, hessian, nats in zip(
        LABELS, found.hessian.mean(axis=0), found.cross_entropy, strict=True
    ):
        numbers = {
            "cross_entropy": float(nats),
            "hessian": float(hessian),
            "hessian_over_fisher": float(hessian) / fisher,
            "gap": abs(float(hessian) / fisher - 1),
        }
        yield Measured({"network": network, "labels": labels}, numbers)
    scored, _ = contexts_of(windows, most=size.scored)
    of_layers = layer_traces(reader.model, reader.params, scored, key, size.labels)
    drawn = sum(map(float, of_layers.values()))
    layers = [name for name in of_layers if name.startswith(LAYER)]
    steps = np.array([int(name.removeprefix(LAYER)) for name in layers])
    order = np.argsort(steps)
    shares = np.array([float(of_layers[name]) for name in layers]) / drawn
    numbers = {
        "fisher": fisher,
        "fisher_probe_error": float(found.fisher.std(ddof=1) / size.probes**0.5 / fisher),
        "share_outside_layers": 1 - float(shares.sum()),
    }
    yield Measured({"network": network}, numbers, steps[order], {"share": shares[order]})


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
