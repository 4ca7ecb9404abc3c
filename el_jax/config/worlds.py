"""The worlds that a config can name."""

from collections.abc import Callable

from el_jax.models.teacher import language_model
from el_jax.worlds import WORLDS, World


def known_worlds() -> dict[str, Callable[..., World]]:
    """Every world's function by name: those of ``WORLDS``, and that of a network in files."""
    return {**WORLDS, "language_model": language_model}
