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
from el_jax.worlds.hmm import block_hmm
from el_jax.worlds.pcfg import tree_grammar
from el_jax.worlds.world import World

WORLDS: dict[str, Callable[..., World]] = {
    "hmm": block_hmm,
    "pcfg": tree_grammar,
    "grammar_file": read_grammar,
    "dyck": Dyck,
    "bigram_river": bigram_river,
}

Number = int | float | str


@dataclass(frozen=True)
class WorldChoice:
    """A world that is not made yet: hashable, so that a task may hold it.

    Attributes:
        name: key of ``WORLDS``.
        numbers: keyword arguments of its function, sorted by name; those that lack have their
            defaults.
    """

    name: str
    numbers: tuple[tuple[str, Number], ...] = ()

    def make(self) -> World:
        """The world, made once for each choice.

        Raises:
            ValueError: starts with the name and value of a number that the world refuses.
        """
        return _made(WORLDS[self.name], self.numbers)


@functools.cache
def _made(function: Callable[..., World], numbers: tuple[tuple[str, Number], ...]) -> World:
    with jax.ensure_compile_time_eval():  # a program that is being traced may ask first
        return function(**dict(numbers))


def choose_world(name: str, numbers: Mapping[str, Number] | None = None) -> WorldChoice:
    """The choice of a world, its numbers in order."""
    return WorldChoice(name, tuple(sorted((numbers or {}).items())))


def world_kinds(name: str) -> dict[str, Any]:
    """The type of every number of a world."""
    function = WORLDS[name]
    hints = typing.get_type_hints(function if inspect.isfunction(function) else function.__init__)
    return {key: hints[key] for key in inspect.signature(function).parameters}


def world_defaults(name: str) -> dict[str, Number]:
    """The numbers of a world that have a default."""
    parameters = inspect.signature(WORLDS[name]).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
