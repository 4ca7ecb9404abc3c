"""A world by its name and numbers."""

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
}

Number = int | float | str


@dataclass(frozen=True)
class WorldChoice:
    """A world that is not made yet: hashable, so that a task may hold it.

    Attributes:
        name: of the world.
        numbers: keyword arguments of its function, sorted by name; those that lack have their
            defaults.
        function: the function, for a world that is made outside of this room; that of ``WORLDS`` if
            None.
    """

    name: str
    numbers: tuple[tuple[str, Number], ...] = ()
    function: Callable[..., World] | None = None

    def make(self) -> World:
        """The world, made once for each choice.

        Raises:
            ValueError: starts with the name and value of a number that the world refuses.
        """
        return _made(self.function or WORLDS[self.name], self.numbers)


@functools.cache
def _made(function: Callable[..., World], numbers: tuple[tuple[str, Number], ...]) -> World:
    with jax.ensure_compile_time_eval():  # a program that is being traced may ask first
        return function(**dict(numbers))


def choose_world(
    name: str,
    numbers: Mapping[str, Number] | None = None,
    function: Callable[..., World] | None = None,
) -> WorldChoice:
    """The choice of a world, its numbers in order; the function is that of ``WORLDS`` if None."""
    return WorldChoice(name, tuple(sorted((numbers or {}).items())), function)


def world_kinds(function: Callable[..., World]) -> dict[str, Any]:
    """The type of every number that the function of a world takes."""
    hints = typing.get_type_hints(function if inspect.isfunction(function) else function.__init__)
    return {key: hints[key] for key in inspect.signature(function).parameters}


def world_defaults(function: Callable[..., World]) -> dict[str, Number]:
    """The numbers that have a default, of those that the function of a world takes."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
