"""The names that a config can give, for --help."""

import pathlib
from collections.abc import Iterable, Mapping

from el_jax.config.tasks import known_worlds
from el_jax.losses import ALL_LOSSES
from el_jax.models import MODELS, PRESETS
from el_jax.probes import PROBES
from el_jax.tasks import TASKS
from el_jax.training.objectives.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS
from el_jax.training.optimizers.schedules import SCHEDULES
from el_jax.weighting import ALL_WEIGHTINGS


def configs_of(command: str) -> list[str]:
    """The configs below the current folder whose docstrings show this command."""
    shown = f"python -m el_jax.{command} "
    files = sorted(pathlib.Path("configs").rglob("*.py"))
    return [str(path) for path in files if shown in path.read_text(errors="replace")]


def config_names(command: str) -> str:
    """One line that lists the configs for a command."""
    return _lines({"configs": configs_of(command)})


def known_names() -> str:
    """One line for each kind of name in a training's config."""
    known: dict[str, Iterable[str]] = {
        "configs": configs_of("train"),
        "tasks": TASKS,
        "losses": ALL_LOSSES,
        "models": MODELS,
        "presets": PRESETS,
        "optimizers": OPTIMIZERS,
        "schedules": SCHEDULES,
        "weightings": ALL_WEIGHTINGS,
        "worlds": known_worlds(),
        "probes": PROBES,
        "future": FUTURE,
    }
    return _lines(known)


def _lines(known: Mapping[str, Iterable[str]]) -> str:
    return "\n".join(f"{kind + ':':<12}{', '.join(names)}" for kind, names in known.items())
