"""Perplexity, the exponential of the cross-entropy per token."""

import numpy as np

from el_jax.tasks import Task
from el_jax.types import ModelFns, Probe


def perplexity(task: Task, model: ModelFns) -> Probe:
    """Probe each split for ``perplexity``: exp of its mean cross-entropy per token."""
    del task, model
    return Probe(of_split=lambda row: {"perplexity": np.exp(row["ce"])})
