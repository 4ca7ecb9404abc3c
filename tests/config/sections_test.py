"""Sections of a config as dataclasses: values that fit, and messages on values that do not."""

import dataclasses
from typing import Literal

import pytest

from el_jax.config.sections import check_float32, choose, section, shown
from el_jax.process.errors import ConfigError, unknown_key


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
        ("rate", 10**400, "a finite number"),
        ("kind", {"left": 1}, "one of 'left', 'right'"),
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


def test_all_missing_keys_are_named_at_once():
    with pytest.raises(ConfigError) as raised:
        section("part", {k: v for k, v in GOOD.items() if k not in ("rate", "flag")}, Sample)
    assert str(raised.value).startswith("config.part.flag, config.part.outside, config.part.rate: ")


@pytest.mark.parametrize("values", [7, None, "name", [1], 1.5, lambda: 1])
def test_what_is_no_section_is_named(values):
    with pytest.raises(ConfigError) as raised:
        section("part", values, Sample, outside="here")
    words = f"config.part={values!r}: must be a section of keys and values"
    assert str(raised.value) == words


def test_values_that_cannot_be_written_are_named_by_their_type():
    assert shown(10**5_000) == "<int>"
    with pytest.raises(ConfigError, match=r"config\.part\.count=<int>: must be an integer"):
        read(count=10**5_000)


@pytest.mark.parametrize("value", [1e-50, 1e-39, -1e-45, 3.5e38, 0.99999999999, (1.0, 1e-50)])
def test_numbers_that_are_others_in_float32_are_refused(value):
    with pytest.raises(
        ConfigError, match=r"^config\.optim\.rate=.*: must be a number that float32"
    ):
        check_float32("config", {"optim": {"name": "x", "rate": value}})


def test_numbers_that_float32_rounds_are_taken():
    check_float32("config", {"a": [0.0, -0.0, 0.1, 1e-37, -3e38, 0.9999, 1.0], "b": 7, "c": None})


@pytest.mark.parametrize("name", ["c", None, 1, ["a"]])
def test_names_are_looked_up_among_the_known(name):
    assert choose("part.kind", "a", {"b": 1, "a": 2}) == 2
    with pytest.raises(ConfigError) as raised:
        choose("part.kind", name, {"b": 1, "a": 2})
    assert str(raised.value) == f"config.part.kind={name!r}: must be one of a, b"
