"""Objectives of a training: next tokens, later tokens beside them, a term against a label."""

from el_jax.training.objectives.objective import Metrics, Objective, Wrapper

__all__ = ["Metrics", "Objective", "Wrapper"]
