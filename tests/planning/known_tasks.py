"""Makes the task of random tokens known, for ``config.imports``."""

from el_jax.tasks import TASKS
from tests.planning.random_tokens import RandomTokens

TASKS["random_tokens"] = RandomTokens
