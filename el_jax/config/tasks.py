"""The task of a config: one of ``TASKS``, with the fields of its dataclass, and its world."""

from typing import Any

from el_jax.config.contracts import check_task
from el_jax.config.sections import choose, keys_and_values, kinds_of, missing_keys, section, typed
from el_jax.config.worlds import known_worlds
from el_jax.process.errors import ConfigError
from el_jax.tasks import TASKS, Task
from el_jax.worlds import WorldChoice, choose_world, world_kinds


def task_keys(given: dict[str, Any]) -> set[str]:
    """The keys of the task section; they depend on the task that it names.

    Raises:
        ConfigError: there is no such task.
    """
    return {"name", *kinds_of(choose("task.name", given["name"], TASKS))}


def missing_world_keys(given: dict[str, Any]) -> list[str]:
    """The dotted names of the numbers that the world of a task lacks.

    Raises:
        ConfigError: there is no such world, or it has no such number.
    """
    if not isinstance(given.get("name"), str) or WorldChoice not in _kinds(given).values():
        return []
    numbers = keys_and_values("task.world", given.get("world", {}))
    if "name" not in numbers:
        return ["config.task.world.name"]
    function = choose("task.world.name", numbers["name"], known_worlds())
    return missing_keys("task.world", numbers, {"name", *world_kinds(function)})


def parse_task(values: Any) -> Task:
    """Read the task section.

    Raises:
        ConfigError: names the field, its value and the allowed ones.
    """
    named = keys_and_values("task", values)
    name = named.pop("name", None)
    kind = choose("task.name", name, TASKS)
    worlds = {
        key: _world(named.pop(key)) for key, kind in kinds_of(kind).items() if kind is WorldChoice
    }
    task = section("task", named, kind, **worlds)
    check_task(name, task)
    return task


def _kinds(given: dict[str, Any]) -> dict[str, Any]:
    return kinds_of(choose("task.name", given["name"], TASKS))


def _world(values: Any) -> WorldChoice:
    numbers = keys_and_values("task.world", values)
    name = numbers.pop("name", None)
    function = choose("task.world.name", name, known_worlds())
    choice = choose_world(name, typed("task.world", numbers, world_kinds(function)), function)
    try:
        choice.make()
    except ValueError as error:
        raise ConfigError(f"config.task.world.{error}") from error
    except OSError as error:
        raise ConfigError(f"config.task.world: {error.filename}: {error.strerror}") from error
    return choice
