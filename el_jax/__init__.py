"""el_jax: which solution does training pick among the many that fit next-token data?

Three tracks on shared packages: equal learning, flatness, and linear next-token prediction.

    el_jax.losses        per-token losses as functions of token statistics; equilibrium margins
    el_jax.curvature     Hessian and Fisher matrix of any loss(params): products, traces, spectra
    el_jax.linear_ntp    separability, certificates, max margins, trajectories, in float64
    el_jax.worlds        distributions whose conditionals are known exactly
    el_jax.tokenizers    text to token ids and back
    el_jax.tasks         tasks that are sampled on the device
    el_jax.models        networks as pure functions
    el_jax.training      the step, the program over runs and devices, the loop
    el_jax.probes        measurements of a model beside its loss
    el_jax.checkpoint    states on disk, verified when they are read
    el_jax.plots         figures from arrays
    el_jax.numbers       numbers of a method, declared at its signature
    el_jax.config        from a config to checked settings
    el_jax.build         from settings to a training
    el_jax.load(WORKDIR) read a run back: config, metrics, parameters, model
    el_jax.look(...)     the inside of a transformer: residual stream, attention, patches

Commands, each with --help:

    python -m el_jax.train           train the runs of a config
    python -m el_jax.show            last numbers and curves of a finished or running workdir
    python -m el_jax.export          a training as a Hugging Face folder
    python -m el_jax.generate        continue a text with a trained model, a folder or a GGUF file
    python -m el_jax.measure         curvature of checkpoints, or of a published model
    python -m el_jax.analyze_ntp     a linear problem: verdicts, margins, trajectories
    python -m el_jax.plan            memory, messages and time of a training on a machine elsewhere
    python -m el_jax.curvature.conformance    judge code for curvature, in JAX or PyTorch

Packages are imported when they are first used.
"""

import importlib
from typing import Any

from el_jax.process import arithmetic as _arithmetic

__version__ = "0.1.0"

_arithmetic.select_right_sums()

_ROOMS = (
    *("build", "checkpoint", "config", "curvature", "linear_ntp", "losses", "models"),
    *("numbers", "plots", "probes", "process", "tasks", "tokenizers", "training", "types"),
    "worlds",
)
_FUNCTIONS = {"load": "run", "logit_lens": "models.look", "look": "models.look"}
__all__ = [*_ROOMS, *_FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"el_jax.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"el_jax.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'el_jax' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
