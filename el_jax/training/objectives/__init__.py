"""Training objectives: the next token, later tokens in addition, a term against a label."""

from el_jax.training.objectives.objective import Metrics, Objective, Wrapper
