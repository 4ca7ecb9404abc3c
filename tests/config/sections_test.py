"""Sections of a config as dataclasses: values that fit, and messages on values that do not."""

import dataclasses
from typing import Literal

import pytest

from el_jax.config.sections import section
from el_jax.process.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Sample:
    count: int
    rate: float
    kind: Literal["left", "right"]
    name: str
    flag: bool
    size: int | None
    grid: tuple[float, ...]
    outside: str = "given elsewhere"


GOOD = {
    "count": 3,
    "rate": 0.5,
    "kind": "left",
    "name": "x",
    "flag": True,
    "size": None,
    "grid": (1.0, 2.0),
}


def read(**changes):
    return section("part", GOOD | changes, Sample, outside="here")


def test_values_that_fit_are_taken():
    assert read() == Sample(**GOOD, outside="here")
    assert read(size=4).size == 4
    assert read(grid=()).grid == ()


def test_integers_become_the_numbers_they_stand_for():
    sample = read(rate=1, grid=[1, 2])
    assert repr((sample.rate, sample.grid)) == "(1.0, (1.0, 2.0))"


def test_all_missing_keys_are_named_at_once():
    with pytest.raises(ConfigError) as raised:
        section("part", {k: v for k, v in GOOD.items() if k not in ("rate", "flag")}, Sample)
    assert str(raised.value).startswith("config.part.flag, config.part.outside, config.part.rate: ")
