"""The runs of a training: every combination of the swept numbers, for each seed."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

from el_jax.config.methods import Choice, Numbers, check_range, signature_of
from el_jax.config.sections import check_keys, keys_and_values, typed
from el_jax.process.errors import ConfigError

ALWAYS_TRACED = ("peak_lr", "warmup_steps")  # swept or not; one more means another program


@dataclasses.dataclass(frozen=True)
class RunNumbers:
    """The numbers in which one run may differ from the others.

    Attributes:
        seed: seed of the initialisation and of dropout.
        loss: numbers of the loss.
        optimizer: numbers of the optimizer: learning rate, warm-up and the swept ones.
    """

    seed: int
    loss: Numbers
    optimizer: Numbers

    def row(self) -> Numbers:
        """Seed and numbers by name; ``optim.NAME`` if the loss has a number NAME as well."""
        other = {f"optim.{k}" if k in self.loss else k: v for k, v in self.optimizer.items()}
        return {"seed": self.seed, **self.loss, **other}


def parse_runs(
    values: Mapping[str, Any], seeds: int, loss: Choice, optimizer: Choice
) -> tuple[RunNumbers, ...]:
    """Read the sweep section, whose ``sweep.SECTION.KEY`` replaces ``SECTION.KEY`` by each value.

    Args:
        values: ``seed``, the first seed; and ``sweep``: tuples of values by number, for loss and
            optim. Numbers with an empty or missing tuple are not swept.
        seeds: number of seeds per point.
        loss: the loss.
        optimizer: the optimizer.
    """
    seed = values["seed"]
    if type(seed) is not int or not 0 <= seed < 2**31:
        raise ConfigError(f"config.seed={seed!r}: must be an integer in [0, 2**31)")
    sections = {"loss": {}, "optim": {}} | keys_and_values("sweep", values["sweep"])
    check_keys("sweep", sections, ("loss", "optim"))
    swept_loss = _swept("loss", loss.name, sections["loss"])
    swept_optim = _swept("optim", optimizer.name, sections["optim"])
    traced = {n: v for n, v in optimizer.numbers.items() if n in (*ALWAYS_TRACED, *swept_optim)}
    return tuple(
        RunNumbers(seed + i, loss.numbers | of_loss, traced | of_optim)
        for of_loss in _points(swept_loss)
        for of_optim in _points(swept_optim)
        for i in range(seeds)
    )


def _swept(section: str, name: str, values: Any) -> dict[str, tuple[int | float, ...]]:
    """The numbers of a section with at least one value to sweep."""
    path, declared = f"sweep.{section}", signature_of(section, name).numbers
    given = keys_and_values(path, values)  # in the config's order, which is that of the runs
    given |= {key: () for key in declared if key not in given}
    kinds = {int: tuple[int, ...], float: tuple[float, ...]}
    checked = typed(path, given, {k: kinds[declared[k].kind] for k in given if k in declared})
    for key, numbers in checked.items():
        for place, value in enumerate(numbers):
            check_range(f"{path}.{key}", value, declared[key])
            if value in numbers[:place]:
                raise ConfigError(f"config.{path}.{key}={numbers!r}: must have {value!r} once")
    return {key: numbers for key, numbers in checked.items() if numbers}


def _points(swept: Mapping[str, tuple[int | float, ...]]) -> list[Numbers]:
    return [dict(zip(swept, point, strict=True)) for point in itertools.product(*swept.values())]
