"""A world specified by its name and numbers."""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from el_jax.worlds.bigram_river import bigram_river
from el_jax.worlds.dyck import Dyck
from el_jax.worlds.grammar_file import read_grammar
from el_jax.worlds.hierarchy import random_hierarchy
from el_jax.worlds.hmm import block_hmm
from el_jax.worlds.pcfg import tree_grammar
from el_jax.worlds.periodic import Periodic
from el_jax.worlds.processes import mess3, rrxor
from el_jax.worlds.world import World

WORLDS: dict[str, Callable[..., World]] = {
    "hmm": block_hmm,
    "pcfg": tree_grammar,
    "grammar_file": read_grammar,
    "random_hierarchy": random_hierarchy,
    "dyck": Dyck,
    "bigram_river": bigram_river,
    "mess3": mess3,
    "rrxor": rrxor,
    "periodic": Periodic,
}

Number = int | float | str


@dataclass(frozen=True)
class WorldChoice:
    """The specification of a world: hashable, so that a task may hold it.

    Attributes:
        name: name of the world.
        numbers: keyword arguments of its function, sorted by name; others have their defaults.
        function: the function, for a world defined outside this package; that of ``WORLDS`` if
            None.
    """

    name: str
    numbers: tuple[tuple[str, Number], ...] = ()
    function: Callable[..., World] | None = None

    def make(self) -> World:
        """Make the world, once for each choice.

        Raises:
            ValueError: the message starts with the name and value of the invalid number.
        """
        return _made(self.function or WORLDS[self.name], self.numbers)


@functools.cache
def _made(function: Callable[..., World], numbers: tuple[tuple[str, Number], ...]) -> World:
    with jax.ensure_compile_time_eval():  # the first call may come from a traced program
        return function(**dict(numbers))


def choose_world(
    name: str,
    numbers: Mapping[str, Number] | None = None,
    function: Callable[..., World] | None = None,
) -> WorldChoice:
    """Make a choice with sorted numbers; the function is that of ``WORLDS`` if None."""
    return WorldChoice(name, tuple(sorted((numbers or {}).items())), function)


def world_kinds(function: Callable[..., World]) -> dict[str, Any]:
    """The type of every number that a world's function takes."""
    hints = typing.get_type_hints(function if inspect.isfunction(function) else function.__init__)
    return {key: hints[key] for key in inspect.signature(function).parameters}


def world_defaults(function: Callable[..., World]) -> dict[str, Number]:
    """The default of every number of a world's function that has one."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
