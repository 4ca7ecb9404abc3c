"""The names that a config can give, for --help."""

import pathlib
from collections.abc import Iterable

from el_jax.config.worlds import known_worlds
from el_jax.losses import TOKEN_LOSSES
from el_jax.models import MODELS, PRESETS
from el_jax.probes import PROBES
from el_jax.tasks import TASKS
from el_jax.training.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS


def known_names() -> str:
    """One line for each kind of name; configs are those below the current folder."""
    known: dict[str, Iterable[str]] = {
        "configs": sorted(map(str, pathlib.Path("configs").glob("*/*.py"))),
        "tasks": TASKS,
        "losses": TOKEN_LOSSES,
        "models": MODELS,
        "presets": PRESETS,
        "optimizers": OPTIMIZERS,
        "worlds": known_worlds(),
        "probes": PROBES,
        "future": FUTURE,
    }
    known["configs"] = [path for path in known["configs"] if not path.endswith("__init__.py")]
    return "\n".join(f"{kind + ':':<12}{', '.join(names)}" for kind, names in known.items())
