"""Numbers and options read from a signature."""

import math
from typing import Annotated, Literal

import pytest
from jaxtyping import ScalarLike

from el_jax.numbers import Number, declared, numbers_of


def method(
    stats,
    *,
    lam: Annotated[ScalarLike, Number(2.0, at_least=0, symbol="λ")],
    count: Annotated[int, Number(3, above=0)],
    kind: Literal["sum", "mean"] = "sum",
):
    return stats, lam, count, kind


def test_numbers_options_and_defaults_follow_from_the_signature():
    assert numbers_of(method) == {
        "lam": Number(2.0, at_least=0, symbol="λ"),
        "count": Number(3, above=0),
    }
    assert [number.kind for number in numbers_of(method).values()] == [float, int]
    defaults = {name: each.default for name, each in declared(method).items()}
    assert defaults == {"lam": 2.0, "count": 3, "kind": "sum"}


def bare(stats, *, lam):
    return stats, lam


def free(stats, *, kind: Literal["a", "b"]):
    return stats, kind


@pytest.mark.parametrize(("wrong", "name"), [(bare, "lam"), (free, "kind")])
def test_a_parameter_that_declares_nothing_is_refused(wrong, name):
    with pytest.raises(TypeError, match=f"{wrong.__name__}: its parameter {name} must be declared"):
        numbers_of(wrong)


@pytest.mark.parametrize(
    ("number", "allowed", "inside", "outside"),
    [
        (Number(1.0), "a finite number", [-1e30, 0.0], [math.inf, math.nan]),
        (Number(1.0, at_least=0), "at least 0", [0.0, 7.0], [-1e-9, math.nan, math.inf]),
        (Number(1.0, above=0), "above 0", [1e-9], [0.0, -1.0]),
        (Number(1.0, at_most=2), "at most 2", [2.0, -9.0], [2.1]),
        (Number(1.0, below=2), "below 2", [1.9], [2.0]),
        (Number(0.5, at_least=0, below=1), "in [0, 1)", [0.0, 0.9], [1.0, -0.1]),
        (Number(0.5, above=0, at_most=1), "in (0, 1]", [0.1, 1.0], [0.0, 1.1]),
    ],
)
def test_a_range_is_told_and_held(number, allowed, inside, outside):
    assert number.allowed == allowed
    assert all(map(number.allows, inside))
    assert not any(map(number.allows, outside))
