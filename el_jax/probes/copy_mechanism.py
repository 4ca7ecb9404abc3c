"""Probes of a model's mechanism on the copy task: copying, or undoing the padding's shift.

Accuracy on hard strings shows that a network does not copy; these probes show how it answers.
"""

from typing import Any

import jax.numpy as jnp
from jax import Array

from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy, Task
from el_jax.types import Batch, ModelFns, Params, Probe


def _copy_task(task: Task) -> PaddedCopy:
    if not isinstance(task, PaddedCopy):
        raise ValueError(f"needs the copy task, not {type(task).__name__}")
    return task


def _whole_windows(task: PaddedCopy, num: int) -> int:
    return -(-num // task.strings_per_window) * task.strings_per_window


def swap_test(task: Task, model: ModelFns, num: int = 256) -> Probe:
    """Probe the answers on at least ``num`` strings whose padding is the shift of other letters.

    On these strings the two mechanisms disagree. The probe returns ``swap_copies``, the fraction of
    answers that are the right letter, and ``swap_undoes_shift``, the fraction that are the letter
    behind the padding; the other answers follow neither mechanism.

    Raises:
        ValueError: the task is not the copy task.
    """
    task = _copy_task(task)

    def draw() -> tuple[Batch, Array]:
        strings, shortcut_labels = task.swap_set(_whole_windows(task, num))
        batch = task.pack(strings)
        return batch, shortcut_labels.reshape(batch.labels.shape)

    batch, shortcut = Once(draw)()

    def probe(params: Params, batch: Any, shortcut: Array) -> dict[str, Array]:
        answers = jnp.argmax(model.apply(params, batch), axis=-1)
        return {
            "swap_copies": (answers == batch.labels).mean(),
            "swap_undoes_shift": (answers == shortcut).mean(),
        }

    return over_runs(probe, batch, shortcut)


def attention_mass(task: Task, model: ModelFns, num: int = 64) -> Probe:
    """Probe the attention of the answering query, on at least ``num`` test strings.

    The probe returns ``attention_on_answer``, the weight on the letter to copy, of the head (over
    all layers) that gives it the most; and ``attention_on_padding``, the weight on the string's
    padding averaged over heads and layers. Even attention over L tokens gives about 1/L and L_p/L.

    Raises:
        ValueError: the task is not the copy task, or the model has no attention.
    """
    task = _copy_task(task)
    if model.attention is None:
        raise ValueError("needs a model with attention")
    attention = model.attention
    answer, padding = task.attention_targets()

    def probe(params: Params, batch: Any, answer: Array, padding: Array) -> dict[str, Array]:
        weights = attention(params, batch)  # [N, B, H, P, T]
        slots = jnp.arange(answer.shape[0])
        on_answer = weights[:, :, :, slots, answer].mean((1, 3))  # [N, H]
        on_padding = jnp.where(padding, weights, 0.0).sum(-1)
        # sum by head first: one long sum in float32 loses a digit
        mean = on_padding.mean((1, 3)).mean()
        return {"attention_on_answer": on_answer.max(), "attention_on_padding": mean}

    batch = Once(lambda: task.pack(task.test_set(_whole_windows(task, num))))()
    return over_runs(probe, batch, answer, padding)
