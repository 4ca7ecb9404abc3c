"""A config's task: an entry of ``TASKS``, with the fields of its dataclass, and its world."""

from collections.abc import Callable
from typing import Any

from typing_extensions import get_protocol_members

from el_jax.config.sections import check_keys, choose, keys_and_values, kinds_of, section, typed
from el_jax.models.teacher import language_model
from el_jax.process.errors import ConfigError
from el_jax.tasks import TASKS, Task
from el_jax.worlds import WORLDS, World, WorldChoice, choose_world, world_kinds


def known_worlds() -> dict[str, Callable[..., World]]:
    """Every world's function by name: those in ``WORLDS``, and ``language_model``."""
    return {**WORLDS, "language_model": language_model}


def parse_task(values: Any) -> Task:
    """Read the task section; its world, text or file is not read yet."""
    given = keys_and_values("task", values)
    task = choose("task.name", given.get("name"), TASKS)
    kinds = kinds_of(task)
    check_keys("task", given, {"name", *kinds})
    name = given.pop("name")
    worlds = {key: _world(given.pop(key)) for key, kind in kinds.items() if kind is WorldChoice}
    made = section("task", given, task, **worlds)
    if missing := sorted(get_protocol_members(Task) - {*dir(made)}):
        raise ConfigError(
            f"config.task.name={name!r}: {task.__name__} has no {', '.join(missing)}; see "
            "el_jax.tasks.Task"
        )
    return made


def _world(values: Any) -> WorldChoice:
    numbers = keys_and_values("task.world", values)
    name = numbers.pop("name", None)
    function = choose("task.world.name", name, known_worlds())
    return choose_world(name, typed("task.world", numbers, world_kinds(function)), function)
