"""Networks as pure functions; the only room that knows flax.

``transformer(config)`` gives a ``ModelFns``; ``PRESETS`` has the published configurations.
"""

from collections.abc import Callable

from el_jax.models.attention import AttentionChoice, attention_choice
from el_jax.models.config import TransformerConfig
from el_jax.models.presets import PRESETS
from el_jax.models.transformer import transformer
from el_jax.types import ModelFns

MODELS: dict[str, Callable[[TransformerConfig], ModelFns]] = {
    "transformer": transformer,
}

__all__ = [
    "MODELS",
    "PRESETS",
    "AttentionChoice",
    "TransformerConfig",
    "attention_choice",
    "transformer",
]
