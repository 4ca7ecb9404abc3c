"""From checked settings to a training: networks, data sets and compiled functions."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.losses import TOKEN_LOSSES, TokenStats, choose_path, reads_softmax
from el_jax.models import transformer
from el_jax.settings import Config, Numbers, Settings, parse
from el_jax.tasks import PaddedCopy, Task
from el_jax.training.fit import FitOptions
from el_jax.training.mechanism import Probe, attention_mass, swap_test
from el_jax.training.memory_plan import check_memory
from el_jax.training.objectives import FusedHead, Objective, TokenLoss
from el_jax.training.program import Program, initial_state, make_program
from el_jax.training.state import Hypers
from el_jax.types import Batch, ModelFns

__all__ = ["Config", "Numbers", "Settings", "Training", "build", "parse"]


@dataclasses.dataclass(frozen=True)
class Training:
    """Everything ``fit`` needs, and the parts for whoever looks closer.

    Attributes:
        settings: what it was built from.
        task: the task.
        model: the network as pure functions.
        objective: what is minimised and measured.
        program: the compiled functions over all runs.
        options: how long and how often.
        evaluations: batches measured during training.
        final_evaluations: batches measured at the end only.
        probes: further measurements, taken with the evaluations.
    """

    settings: Settings
    task: Task
    model: ModelFns
    objective: Objective
    program: Program
    options: FitOptions
    evaluations: dict[str, Batch]
    final_evaluations: dict[str, Batch]
    probes: tuple[Probe, ...]


def build(settings: Settings) -> Training:
    """Put the parts of a training together; draws the data sets on the device.

    Raises:
        NotEnoughMemoryError: the training does not fit; nothing has been allocated.
    """
    task, train, hypers = settings.task, settings.train, _hypers(settings)
    model = transformer(settings.model)
    objective = Objective(
        model,
        _token_loss(settings),
        len(task.group_names),
        task.answer_length,
        settings.logit_temperature,
        _fused_head(settings),
    )
    config = settings.model
    draw = partial(_evaluations, task, train.num_test, train.num_test_precise)
    during, after = jax.eval_shape(draw)
    check_memory(
        partial(initial_state(objective, settings.optimizer, train.run_axis), hypers),
        objective,
        jax.eval_shape(task.train_set),
        during | after,
        eval_tokens=train.eval_tokens,
        layout=settings.layout,
    )
    program = make_program(
        task,
        objective,
        settings.optimizer,
        hypers,
        run_axis=train.run_axis,
        max_runs_at_once=train.max_runs_at_once,
        eval_tokens=train.eval_tokens,
        uses_dropout=any(
            (config.embedding_dropout, config.attention_dropout, config.residual_dropout)
        ),
        max_rewinds=train.max_rewinds if train.on_non_finite == "rewind" else 0,
        layout=settings.layout,
    )
    evaluations, final_evaluations = draw()
    return Training(
        settings=settings,
        task=task,
        model=model,
        objective=objective,
        program=program,
        options=train.fit_options,
        evaluations=evaluations,
        final_evaluations=final_evaluations,
        probes=_probes(task, model) if train.mechanism_checks else (),
    )


@partial(jax.jit, static_argnums=(0, 1, 2))  # one program: three would start later
def _evaluations(
    task: Task, num_test: int, num_test_precise: int
) -> tuple[dict[str, Batch], dict[str, Batch]]:
    """The batches measured during training, and at its end."""
    during = {"train": task.pack(task.train_set()), "test": task.pack(task.test_set(num_test))}
    return during, {"test_precise": task.pack(task.test_set(num_test_precise))}


def _probes(task: Task, model: ModelFns) -> tuple[Probe, ...]:
    if not isinstance(task, PaddedCopy):  # parse has made sure
        raise TypeError(f"mechanism checks are for the copy task, not {type(task).__name__}")
    return swap_test(task, model), attention_mass(task, model)


def _token_loss(settings: Settings) -> TokenLoss:
    function: Callable[..., Array] = TOKEN_LOSSES[settings.loss_name]

    def token_loss(stats: TokenStats, numbers: dict[str, Array]) -> Array:
        return function(stats, **numbers, **settings.loss_options)

    return token_loss


def _fused_head(settings: Settings) -> FusedHead | None:
    """How to do without logits; None where they are little, or wanted."""
    path, model = settings.loss_path, settings.model
    if path == "auto":
        numbers = _loss_numbers(settings.runs[0])
        loss = partial(TOKEN_LOSSES[settings.loss_name], **numbers, **settings.loss_options)
        softmax = reads_softmax(loss)
        path = choose_path(model.embedding_dim, model.vocab_size, softmax=softmax)
    return None if path == "plain" else FusedHead(path, model.matmul_precision)


def _loss_numbers(run: Numbers) -> dict[str, Any]:
    own = {"seed", "peak_lr", "warmup_steps"}
    return {name: value for name, value in run.items() if name not in own}


def _hypers(settings: Settings) -> Hypers:
    def column(name: str, dtype: Any) -> Array:
        return jnp.asarray([run[name] for run in settings.runs], dtype)

    return Hypers(
        seed=column("seed", jnp.uint32),
        peak_lr=column("peak_lr", jnp.float32),
        warmup_steps=column("warmup_steps", jnp.int32),
        loss={name: column(name, jnp.float32) for name in _loss_numbers(settings.runs[0])},
    )
