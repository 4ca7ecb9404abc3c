"""Shared parts of config files: the argument after the colon, and the sections of a training."""

import dataclasses
import difflib
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from ml_collections import ConfigDict, config_dict

from el_jax.config.methods import signature_of
from el_jax.config.models import config_class
from el_jax.config.sections import kinds_of
from el_jax.config.tasks import known_worlds
from el_jax.losses import ALL_LOSSES
from el_jax.models import MODELS, PRESETS, TransformerConfig
from el_jax.models.pretrained import read_config
from el_jax.process.hub import local_path
from el_jax.tasks import TASKS
from el_jax.tokenizers import smollm2_gguf
from el_jax.training.objectives.adversary import Adversary
from el_jax.training.objectives.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS
from el_jax.weighting import ALL_WEIGHTINGS
from el_jax.worlds import WorldChoice, world_defaults, world_kinds

E_LOSSES = ("e1", "e2", "e3")

PARALLEL = "jit"  # or pmap: the transformation that spreads a training over all devices


def parse_arg(arg: str | None, **defaults: Any) -> ConfigDict:
    """Read ``name=value,flag``, the argument after the colon of ``--config=file.py:...``.

    Each value is read as the type of its default; a bare name sets a flag to True.

    Raises:
        ValueError: unknown name, or a value that cannot be read as its default's type.
    """
    chosen = dict(defaults)
    for item in filter(None, (arg or "").split(",")):
        name, equals, text = item.partition("=")
        if name not in defaults:
            raise ValueError(
                f"{name!r} is not an argument of this config; {_hint(name, defaults)}it takes "
                f"{', '.join(defaults)}"
            )
        chosen[name] = _read(name, text if equals else "true", type(defaults[name]))
    return ConfigDict(chosen)


def _read(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{name}={text!r}: must be true or false")
        return text == "true"
    try:
        return kind(text)
    except ValueError as error:
        raise ValueError(f"{name}={text!r}: must be of type {kind.__name__}") from error


def task(name: str, **fields: Any) -> ConfigDict:
    """The task section: every field of the task, at its default unless given."""
    given = {"name": name, **_fields(_known("task", name, TASKS)), **fields}
    return ConfigDict({key: _section(value) for key, value in given.items()})


def world(name: str, **numbers: float | str) -> ConfigDict:
    """The world section of a task: every number of the world, at its default unless given."""
    function = _known("world", name, known_worlds())
    kinds, defaults = world_kinds(function), world_defaults(function)
    empty = {key: config_dict.placeholder(kinds[key]) for key in kinds if key not in defaults}
    return ConfigDict({"name": name, **empty, **defaults, **numbers})


def loss(name: str, **numbers: float | str) -> ConfigDict:
    """The loss section: its name, the logits' temperature and path, its own numbers and options.

    The path (auto, plain, chunked or gram; see el_jax/losses/fused.py) decides whether the logits
    of all classes are in memory. auto avoids that only if they are many compared with the width.

    Args:
        name: name of the loss.
        **numbers: values other than the published ones.
    """
    _known("loss", name, ALL_LOSSES)
    return ConfigDict(signature_of("loss", name).defaults | numbers)


def model(name: str, **fields: Any) -> ConfigDict:
    """The model section: every field of the model's dataclass, at its default unless given.

    Args:
        name: key of ``PRESETS``, for a transformer whose switches can be overridden (None keeps the
            preset's value), or key of ``MODELS``.
        **fields: values other than the defaults.
    """
    if name in PRESETS:
        section = ConfigDict({"name": "transformer", "preset": name})
        for field, kind in kinds_of(TransformerConfig, "vocab_size").items():
            section[field] = config_dict.placeholder(_plain(kind))
    else:
        _known("model", name, {**PRESETS, **MODELS})
        section = ConfigDict({"name": name, **_fields(config_class(name), "vocab_size")})
    section.update(fields)
    return section


def adversary(label: str, **numbers: float) -> ConfigDict:
    """The adversary section: a label of the task's world, and numbers at their defaults."""
    return ConfigDict({**_fields(Adversary), "label": label, **numbers})


def future(name: str, **numbers: float) -> ConfigDict:
    """The future section: an objective on later tokens, at its published numbers unless given."""
    _known("future", name, FUTURE)
    return ConfigDict(signature_of("future", name).defaults | numbers)


def weighting(name: str, **numbers: float) -> ConfigDict:
    """The weighting section: weights of windows or groups by their losses."""
    _known("weighting", name, ALL_WEIGHTINGS)
    return ConfigDict(signature_of("weighting", name).defaults | numbers)


def optim(name: str = "adamw", **numbers: float | str) -> ConfigDict:
    """The optimizer section: linear warm-up, then constant, unless ``schedule`` is given.

    Args:
        name: name of the optimizer.
        **numbers: values other than the defaults.
    """
    _known("optimizer", name, OPTIMIZERS)
    return ConfigDict(signature_of("optim", name).defaults | numbers)


def sweep(config: ConfigDict) -> ConfigDict:
    """The sweep section of a config whose loss and optim sections are filled.

    ``sweep.loss.lam`` replaces ``loss.lam`` by each of its values, and likewise for every number of
    the loss and the optimizer; an empty tuple replaces nothing. All combinations train at once.
    """
    methods = (signature_of(section, config[section].name) for section in ("loss", "optim"))
    return ConfigDict({each.section: dict.fromkeys(each.numbers, ()) for each in methods})


def start_from(config: ConfigDict, pretrained: str, optimizer: str) -> None:
    """Fill in model, optimizer and tokenizer of a text task to start from a pretrained model.

    Args:
        config: the config, with its task and train sections.
        pretrained: a Hugging Face folder or GGUF file, ``hf:ORG/NAME@REVISION`` or smollm2; a
            folder of GPT-2 without a tokenizer gets GPT-2's.
        optimizer: its name; AdamW has weight decay .01, and all have a learning rate of 5e-5.
    """
    source = smollm2_gguf() if pretrained == "smollm2" else local_path(pretrained)
    name = pretrained if pretrained.startswith("hf:") else str(source)
    family, sizes = read_config(source)
    fields = {**dataclasses.asdict(sizes), "num_kv_heads": sizes.kv_heads}
    fields |= {"head_size": sizes.head_dim, "mlp_width": sizes.mlp_dim}
    fields |= {"embedding_width": sizes.embedding_dim}
    config.task.num_classes = fields.pop("vocab_size")
    config.model = model(family, **fields)
    has_own = any((source / name).is_file() for name in ("tokenizer.json", "vocab.json"))
    config.task.tokenizer = "gpt2" if family == "gpt2" and not has_own else name
    config.optim = optim(optimizer, peak_lr=5e-5)
    if "weight_decay" in config.optim:
        config.optim.weight_decay = 0.01
    config.train.init_from = name


def _known(what: str, name: str, table: Mapping[str, Any]) -> Any:
    if name not in table:
        names = ", ".join(sorted(table))
        raise ValueError(f"{what}={name!r}: {_hint(name, table)}must be one of {names}")
    return table[name]


def _hint(name: str, table: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, table, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def _section(value: Any) -> Any:
    """A world as its own section; other values unchanged."""
    return world(value.name, **dict(value.numbers)) if isinstance(value, WorldChoice) else value


def _fields(kind: type[Any], *without: str) -> dict[str, Any]:
    """The fields of a dataclass with their defaults; a field without one gets an empty value."""
    kinds = kinds_of(kind, *without)
    given = {f.name: f.default for f in dataclasses.fields(kind) if f.name in kinds}
    empty = {name: config_dict.placeholder(_plain(kinds[name])) for name in kinds}
    return {
        name: empty[name] if value in (None, dataclasses.MISSING) else value
        for name, value in given.items()
    }


def _plain(kind: Any) -> type[Any]:
    """The type of a field's values; for ``int | None`` it is int."""
    kinds = [k for k in typing.get_args(kind) if isinstance(k, type) and k is not type(None)]
    return kind if isinstance(kind, type) else kinds[0] if kinds else str


def train(num_updates: int, log_every: int, eval_every: int, **others: Any) -> ConfigDict:
    """The train section: lengths in updates, and everything done besides the updates.

    Args:
        num_updates: length of the training.
        log_every: updates per dispatch, after which one row is written.
        eval_every: updates between measurements of the eval section's splits.
        **others: values other than the defaults.
    """
    section = {
        "num_updates": num_updates,
        "seeds": 5,
        "log_every": log_every,
        "eval_every": eval_every,
        "checkpoint_every": eval_every,
        "eval_at": "every",  # or log: also after 1, 2, 4, ... times log_every
        "checkpoint_at": "every",  # or log, as above; keep_checkpoints must be 0 to keep them
        "on_non_finite": "raise",  # or stop: this run ends, the other runs go on
        "run_axis": "vmap",  # or map: one run after the other
        "max_runs_at_once": 0,  # on one device, under vmap; 0: all of its runs
        # or runs, data (windows of an update), fsdp (windows and parameters), none (one device)
        "shard": "auto",
        "eval_tokens": 8_192,  # evaluated at once
        "eval_last": (),  # splits measured only at the end
        "probes": (),  # from el_jax.probes, with every evaluation
        "keep_checkpoints": 2,  # the newest; 0 keeps all
        # a workdir, Hugging Face folder, hf:ORG/NAME@REVISION or GGUF file to take parameters from
        "init_from": "",
        "tracker": "",  # or tensorboard, trackio, wandb
        "profile": (),  # first and last update of a device trace
        # nats: a run stops when the mean cross-entropy of log_every updates is as low; 0: never
        "stop_at_ce": 0.0,
    }
    return ConfigDict({**section, **others})


def trajectory(num_steps: int, method: str = "gd") -> ConfigDict:
    """The trajectory section of a linear problem: plain gradient descent, or none for 0 steps."""
    section = ConfigDict({"decay": 0.0, "num_steps": max(num_steps, 1), "num_marks": 60})
    section.method = config_dict.placeholder(str)
    section.step_size = config_dict.placeholder(float)  # None: 1 / (2 L)
    if num_steps > 0:
        section.method = method
    return section
