"""A transformer with scaled and centred outputs, and how far training moves it.

The experiment's runs import this file; their config names it.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.models import MODELS, PRESETS, transformer
from el_jax.probes import PROBES
from el_jax.process.compilation import Once
from el_jax.process.errors import require
from el_jax.tasks import Task
from el_jax.types import Batch, Key, ModelFns, Params, Probe

EXAMPLES = 64  # for the kernel


@dataclasses.dataclass(frozen=True, kw_only=True)
class CentredConfig:
    """A GPT-NeoX f of these sizes with outputs α (f - f at the start), α = ``output_scale``."""

    vocab_size: int
    width: int = 64
    num_layers: int = 2
    num_heads: int = 4
    output_scale: float = 1.0

    def __post_init__(self) -> None:
        require("output_scale", self.output_scale, self.output_scale > 0, "positive")


def centred(config: CentredConfig) -> ModelFns:
    """α (f(θ) - f(θ₀)), from Kumar et al. 2024 (arXiv 2310.06110); θ₀ is stored with θ.

    A given change of θ changes the outputs α times as much. With a learning rate divided by α
    (under Adam), a large α therefore fits while the parameters and the tangent kernel hardly move:
    lazy training.
    """
    scale, sizes = config.output_scale, dataclasses.asdict(config)
    del sizes["output_scale"]
    base = transformer(dataclasses.replace(PRESETS["gpt_neox"], **sizes))

    def init(key: Key) -> Params:
        start = base.init(key)
        return {"now": start, "start": jax.tree.map(jnp.copy, start)}

    def apply(params: Params, batch: Batch, key: Key | None = None) -> Float[Array, "B P V"]:
        start = jax.lax.stop_gradient(base.apply(params["start"], batch))
        return scale * (base.apply(params["now"], batch, key) - start)

    return ModelFns(init, apply)


def laziness(task: Task, model: ModelFns) -> Probe:
    """Probe ``kernel_drift`` and ``parameter_drift`` of a centred model since the start.

    The first is 1 - <K₀, K> / |K₀| |K|, where K is the :func:`tangent_kernel` of 64 training
    windows; the second |θ - θ₀| / |θ₀|.
    """
    batch = Once(lambda: task.pack(jax.tree.map(lambda part: part[:EXAMPLES], task.train_set())))()

    @jax.jit
    def of_params(params: Params, batch: Batch) -> dict[str, Array]:
        def of_run(params: Params) -> dict[str, Array]:
            now, start = params["now"], params["start"]
            k, k0 = (tangent_kernel(model, at, start, batch) for at in (now, start))
            cosine = jnp.vdot(k0, k) / (jnp.linalg.norm(k0) * jnp.linalg.norm(k))
            moved = jax.tree.map(jnp.subtract, now, start)
            return {"kernel_drift": 1 - cosine, "parameter_drift": _norm(moved) / _norm(start)}

        return jax.lax.map(of_run, params)

    return Probe(of_params=lambda params: of_params(params, batch))


def tangent_kernel(
    model: ModelFns, now: Params, start: Params, batch: Batch
) -> Float[Array, "n n"]:
    """The kernel at ``now``, over n windows, of the label's logit less the mean logit."""

    def above_mean(now: Params) -> Float[Array, " n"]:
        logits = model.apply({"now": now, "start": start}, batch)
        labels = jnp.take_along_axis(logits, batch.labels[..., None], -1)[..., 0]
        return (labels - logits.mean(-1)).ravel()

    slopes = jax.tree.leaves(jax.jacrev(above_mean)(now))
    flat = jnp.concatenate([slope.reshape(len(slope), -1) for slope in slopes], 1)
    return flat @ flat.T


def _norm(tree: Params) -> Float[Array, ""]:
    return jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(tree)))


MODELS["centred"] = centred
PROBES["laziness"] = laziness
