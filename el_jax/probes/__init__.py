"""Measurements of a model beside its loss, chosen by name in ``train.probes``.

A probe is one file and one line of ``PROBES``: from the task and the model to a ``Probe``.
"""

from collections.abc import Callable

from el_jax.probes.copy_mechanism import attention_mass, swap_test
from el_jax.probes.stratification import stratification, when_fitted
from el_jax.tasks import Task
from el_jax.types import ModelFns, Probe

PROBES: dict[str, Callable[[Task, ModelFns], Probe]] = {
    "attention_mass": attention_mass,
    "stratification": stratification,
    "swap": swap_test,
}

__all__ = ["PROBES", "attention_mass", "stratification", "swap_test", "when_fitted"]
