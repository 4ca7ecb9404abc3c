"""Build a training from checked settings: networks, data sets and compiled functions."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.checks import checked, layout_of
from el_jax.config.sections import choose
from el_jax.config.training import (
    Config as Config,
    Numbers as Numbers,
    Settings,
    parse as parse,
)
from el_jax.losses import ALL_LOSSES, BATCH_LOSSES, TokenStats, choose_path, reads
from el_jax.models import MODELS, exact as exact_config
from el_jax.probes import PROBES
from el_jax.process import target
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.tasks import Task
from el_jax.training.fit import Training
from el_jax.training.memory import check_room, least_bytes
from el_jax.training.objectives import Objective
from el_jax.training.objectives.adversary import against
from el_jax.training.objectives.by_group import ByGroup
from el_jax.training.objectives.future import FUTURE, FutureHead, with_own_parameters
from el_jax.training.objectives.heads import FusedHead, Head, LogitHead
from el_jax.training.objectives.in_parts import InParts
from el_jax.training.objectives.next_token import NextToken
from el_jax.training.program import Spec, initial_state, make_program
from el_jax.training.progress import sweep_points
from el_jax.training.runs import free_everywhere
from el_jax.training.state import Hypers
from el_jax.types import Batch, ModelFns, Probe
from el_jax.weighting import ALL_WEIGHTINGS, GROUP_WEIGHTINGS


def make_spec(settings: Settings) -> Spec:
    """The specification of a training's program; nothing is drawn or compiled.

    Raises:
        ConfigError: raised by ``checked``, or because the loss path, the adversary or the objective
            on later tokens needs something that the model lacks.
    """
    train, layout = checked(settings).train, layout_of(settings)
    head = _head(settings) if settings.future is None else _future_head(settings)
    if settings.adversary is not None and head.model.features is None:
        raise ConfigError(
            f"config.adversary: needs a model with hidden states, not {settings.model.name}"
        )
    objective = _weighted(settings, head)
    if settings.adversary is not None:
        objective = against(objective, settings.adversary)
    elif settings.weighting is None and target.platform() == "cpu" and layout.data == 1:
        whole = settings.loss.name in BATCH_LOSSES
        objective = objective if whole else InParts(objective)
    return Spec(
        objective,
        settings.optimizer,
        _hypers(settings),
        run_axis=train.run_axis,
        max_runs_at_once=train.max_runs_at_once,
        eval_tokens=train.eval_tokens,
        layout=layout,
        stop_at_ce=train.stop_at_ce,
    )


def _weighted(settings: Settings, head: Head) -> Objective:
    """The loss of the next token, weighted if the config says so.

    Raises:
        ConfigError: weights of groups do not go with an adversary.
    """
    choice = settings.weighting
    if choice is None:
        return NextToken(settings.task, head)
    weigh = partial(ALL_WEIGHTINGS[choice.name], **choice.numbers)
    if choice.name not in GROUP_WEIGHTINGS:
        return NextToken(settings.task, head, weigh)
    if settings.adversary is not None:
        raise ConfigError(f"config.weighting.name={choice.name!r}: not with config.adversary")
    return ByGroup(NextToken(settings.task, head), weigh)


def model_of(settings: Settings, *, exact: bool = False) -> ModelFns:
    """The network of a training.

    Args:
        settings: the training's settings.
        exact: compute in float32 with plain attention, which can be differentiated twice, whatever
            the settings say; the parameters are the same.

    Raises:
        ConfigError: the model refuses its settings.
    """
    config = settings.model_config
    try:
        return MODELS[settings.model.name](exact_config(config) if exact else config)
    except ValueError as error:
        raise ConfigError(f"config.model: {error}") from error


def split_of(settings: Settings, split: str) -> Batch:
    """All examples of one split.

    Raises:
        ConfigError: there is no such split.
    """
    sizes, task = settings.evaluations, settings.task
    choose("split", split, {"train": 0, **sizes})
    examples = task.train_set if split == "train" else partial(task.test_set, sizes[split])
    return Once(lambda: task.pack(examples()))()


def build(settings: Settings) -> Training:
    """Build all parts of a training; draw the data sets on the device.

    Raises:
        NotEnoughMemoryError: the training does not fit; nothing has been allocated.
        ConfigError: a probe is not for this task or model.
    """
    task, train, spec = settings.task, settings.train, make_spec(settings)
    sizes = settings.evaluations
    # one program for all splits: several would take longer to compile
    draw = partial(Once(_evaluations, static_argnums=(0, 1)), task, tuple(sizes.items()))
    state = jax.eval_shape(initial_state(spec), spec.hypers)
    data = jax.eval_shape(lambda: (task.train_set(), draw()))
    # activations and copies are checked when the functions are compiled
    check_room(least_bytes(spec.layout, state, data), free_everywhere(spec.layout))
    model = model_of(settings, exact=True)
    probes = tuple(_probe(name, task, model) for name in train.probes)
    program = make_program(spec)
    drawn = draw()
    last = {split: drawn.pop(split) for split in dict.fromkeys(train.eval_last)}
    return Training(program, train, drawn, last, probes)


def title_of(settings: Settings) -> str:
    """Title of the progress display: loss, number of runs, device, and a few sweep points."""
    points = sweep_points(settings.rows)
    num = len(settings.runs)
    runs = f"{num} run{'s' * (num > 1)}"
    title = f"{settings.loss.name}, {runs} on {jax.devices()[0].device_kind}"
    return title + (f" ({' / '.join(points)})" if 1 < len(points) <= 3 else "")


def _evaluations(task: Task, sizes: tuple[tuple[str, int], ...]) -> dict[str, Batch]:
    """The batch of every split, train first."""
    tests = {split: task.pack(task.test_set(num)) for split, num in sizes}
    return {"train": task.pack(task.train_set()), **tests}


def _probe(name: str, task: Task, model: ModelFns) -> Probe:
    try:
        return PROBES[name](task, model)
    except ValueError as error:
        raise ConfigError(f"config.train.probes: {name!r} {error}") from error


def _head(settings: Settings) -> Head:
    """The head for the config's loss path; ``losses.choose_path`` resolves "auto".

    Raises:
        ConfigError: the path forms no logits, and the model or the loss needs them.
    """
    loss, model = settings.loss, model_of(settings)
    function: Callable[..., Array] = partial(ALL_LOSSES[loss.name], **loss.options)

    def token_loss(stats: TokenStats, numbers: dict[str, Any], mask: Array) -> Array:
        return function(stats, *(mask,) * (loss.name in BATCH_LOSSES), **numbers)

    def of_run(stats: TokenStats) -> Array:
        return token_loss(stats, settings.runs[0].loss, jnp.ones((), bool))

    path, temperature = loss.shared["path"], loss.shared["logit_temperature"]
    reasons = {
        f"the model {settings.model.name}, whose logits are no product": model.readout is None,
        f"the loss {loss.name}, which reads an entropy": reads(of_run, ("entropy_other",)),
    }
    if needed := [what for what, one in reasons.items() if one]:
        if path not in ("auto", "plain"):
            allowed = f"'auto' or 'plain' for {needed[0]}"
            raise ConfigError(f"config.loss.path={path!r}: must be {allowed}")
        path = "plain"
    elif path == "auto":
        softmax = reads(of_run)
        path = choose_path(model.head_width, settings.task.vocab_size, softmax=softmax)
    if path == "plain":
        return LogitHead(model, token_loss, temperature)
    return FusedHead(model, token_loss, temperature, path, model.matmul_precision)


def _future_head(settings: Settings) -> FutureHead:
    """The next-token head, extended by the objective on later tokens.

    Raises:
        ConfigError: the model has no readout, the path of the loss forms no logits, or the task's
            answers are single tokens, after which there is nothing to predict.
    """
    choice, loss = settings.future, settings.loss
    assert choice is not None  # see make_spec
    if (length := settings.task.answer_length) < 2:
        raise ConfigError(
            f"config.future.name={choice.name!r}: needs answers of at least 2 tokens, where those "
            f"of task {type(settings.task).__name__} have {length}"
        )
    if (path := loss.shared["path"]) not in ("auto", "plain"):
        raise ConfigError(
            f"config.loss.path={path!r}: must be 'auto' or 'plain' with config.future"
        )
    plain = dataclasses.replace(loss, shared=loss.shared | {"path": "plain"})
    base = _head(dataclasses.replace(settings, loss=plain))
    if base.model.readout is None:
        raise ConfigError(
            f"config.future: needs a model whose logits are a product, not {settings.model.name}"
        )
    width, num_classes = base.model.head_width, settings.task.vocab_size
    future = FUTURE[choice.name](width, num_classes, **choice.numbers)
    assert isinstance(base, LogitHead)  # the plain path gives one
    base = base._replace(model=with_own_parameters(base.model, future))
    return FutureHead(base, future, choice.shared["weight"], settings.task.answer_length)


def _hypers(settings: Settings) -> Hypers:
    runs, dtypes = settings.runs, {int: jnp.int32, float: jnp.float32}
    return Hypers(
        seed=jnp.asarray([run.seed for run in runs], jnp.uint32),
        loss={
            name: jnp.asarray([run.loss[name] for run in runs], jnp.float32)
            for name in runs[0].loss
        },
        optimizer={
            name: jnp.asarray([run.optimizer[name] for run in runs], dtypes[type(value)])
            for name, value in runs[0].optimizer.items()
        },
    )
