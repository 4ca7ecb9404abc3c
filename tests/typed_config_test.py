"""Sections of a config as dataclasses: what fits, and what the message says of what does not."""

import dataclasses
from typing import Literal

import pytest

from el_jax.typed_config import ConfigError, choose, section, unknown_key


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

    def __post_init__(self):
        if self.count < 0:
            raise ValueError(f"count={self.count}: must be at least 0")


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


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("count", 1.0, "an integer (32 bits)"),
        ("count", True, "an integer (32 bits)"),
        ("count", "3", "an integer (32 bits)"),
        ("rate", "0.5", "a finite number"),
        ("rate", float("nan"), "a finite number"),
        ("rate", float("inf"), "a finite number"),
        ("rate", False, "a finite number"),
        ("rate", None, "a finite number"),
        ("kind", "up", "one of 'left', 'right'"),
        ("kind", ["left"], "one of 'left', 'right'"),
        ("name", 3, "a string"),
        ("flag", 1, "True or False"),
        ("size", 1.5, "an integer (32 bits) or None"),
        ("grid", 1.0, "a tuple, such as (2, 4), each a finite number"),
        ("grid", (1.0, "2"), "a tuple, such as (2, 4), each a finite number"),
        ("count", -1, "at least 0"),  # refused by the dataclass itself
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_would(key, value, allowed):
    with pytest.raises(ConfigError) as raised:
        read(**{key: value})
    assert str(raised.value) == f"config.part.{key}={value!r}: must be {allowed}"


def test_unknown_keys_are_named_with_the_closest_known_one():
    with pytest.raises(ConfigError) as raised:
        read(counts=3)
    assert str(raised.value).startswith(
        "config.part.counts: unknown key; did you mean 'count'? config.part has count, flag, grid"
    )
    assert str(unknown_key("zzz", ["seed"])) == "config.zzz: unknown key; config has seed"
    assert str(unknown_key("seed.x", [])) == "config.seed.x: unknown key; config.seed has no keys"


def test_fields_given_elsewhere_are_no_keys():
    with pytest.raises(ConfigError, match=r"config\.part\.outside: unknown key"):
        read(outside="there")


def test_missing_keys_are_named():
    with pytest.raises(ConfigError, match=r"^config\.part\.rate: missing"):
        section("part", {k: v for k, v in GOOD.items() if k != "rate"}, Sample, outside="here")


@pytest.mark.parametrize("name", ["c", None, 1, ["a"]])
def test_names_are_looked_up_among_the_known(name):
    assert choose("part.kind", "a", {"b": 1, "a": 2}) == 2
    with pytest.raises(ConfigError) as raised:
        choose("part.kind", name, {"b": 1, "a": 2})
    assert str(raised.value) == f"config.part.kind={name!r}: must be one of a, b"
