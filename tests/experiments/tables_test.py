"""Tidy tables: files that come back as they were, and parts of a table by factors."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from experiments.harness.tables import (
    MAX_MARKS,
    MalformedTableError,
    by_cell,
    cells,
    is_measured,
    levels,
    read_table,
    select,
    thin,
    tidy,
    values_of,
    write_table,
)

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
COMMITTED = [
    path
    for name in ("results.csv", "curves.csv")
    for path in EXPERIMENTS.rglob(name)
    if (path.parent / "run.py").exists()
]
NAMES = st.text("abE1λ=,\"' ", max_size=6).map(lambda text: f"b{text}".strip())
VALUES = st.floats(allow_nan=False, width=32).map(lambda value: float(f"{value:.6g}"))
KEYS = st.tuples(NAMES, st.none() | st.integers(1, 9), st.integers(0, 99), NAMES)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_committed_table_is_written_again_byte_for_byte(path, tmp_path):
    write_table(tmp_path / path.name, read_table(path).sample(frac=1.0, random_state=0))
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def row(name, width, seed, metric, value):
    factors = {"name": name} | ({} if width is None else {"width": width})
    return factors | {"seed": seed, "metric": metric, "value": value}


@settings(max_examples=40)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=12))
def test_results_survive_a_round_trip(tmp_path_factory, by_key):
    path = tmp_path_factory.getbasetemp() / "results.csv"
    write_table(path, tidy(row(*key, value) for key, value in by_key.items()))
    back = read_table(path)
    for (name, width, seed, metric), value in by_key.items():
        where = {"name": name, "width": width}
        found = values_of(back, where, metric)
        assert found[seed] == pytest.approx(value, rel=1e-6)
    assert len(back) == len(by_key)


def test_the_file_is_sorted_with_six_digits_and_absent_factors_are_empty(tmp_path):
    rows = [
        row("b", 8, 0, "loss", 1 / 3),
        row("a", None, 10, "loss", 2.0),
        row("a", None, 10, "hits", np.inf),
        row("a", None, 2, "loss", float("nan")),
        row("a", 16, 2, "hits", 1234567.0),
    ]
    write_table(tmp_path / "results.csv", tidy(rows))
    assert (tmp_path / "results.csv").read_bytes() == (
        b"name,width,seed,metric,value\n"
        b"a,16,2,hits,1.23457e+06\n"
        b"a,,2,loss,nan\n"
        b"a,,10,hits,inf\n"
        b"a,,10,loss,2\n"
        b"b,8,0,loss,0.333333\n"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("E1,one,loss,2", "results.csv:3: seed is 'one'; it must be a whole number"),
        ("E1,.5,loss,2", "results.csv:3: seed is 0.5; it must be a whole number"),
        ("E1,inf,loss,2", "results.csv:3: seed is inf; it must be a whole number"),
        ("E1,nan,loss,2", "results.csv:3: seed is 'nan'; it must be a whole number"),
        ("E1,1,loss,two", "results.csv:3: value is 'two'; it must be a number"),
        ("E1,1,loss", "results.csv:3: value is ''; it must be a number"),
        ("E1,1,loss,2,3,4", "results.csv: Error tokenizing data. C error: Expected 4 fields"),
        ("E1,0,loss,3", "a second value for {'name': 'E1', 'seed': 0, 'metric': 'loss'}"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "results.csv"
    path.write_text(f"name,seed,metric,value\nE1,0,loss,1\n{line}\nE1,5,loss,1\n")
    with pytest.raises(MalformedTableError, match=re.escape(message)):
        read_table(path)


@pytest.mark.parametrize("further", [0, 1e-8])  # a file has six digits
def test_a_number_given_twice_is_not_written(tmp_path, further):
    twice = tidy(row("E1", 0.1 + by, 0, "loss", 1.0) for by in (0, further))
    with pytest.raises(ValueError, match="a second value for"):
        write_table(tmp_path / "results.csv", twice)
    assert not (tmp_path / "results.csv").exists()


def test_thinning_keeps_both_ends_and_the_spacing_of_the_marks(tmp_path):
    steps = 2 ** np.arange(62)
    curve = tidy(
        {"name": "E1", "seed": seed, "step": step, "metric": "loss", "value": step}
        for seed in (0, 1)
        for step in steps
    )
    short = curve.assign(metric="few")[curve["step"] < 8]
    kept = thin(pd.concat([curve, short]), 7)
    marks = kept.query("metric == 'loss' and seed == 0")["step"].to_numpy()
    assert len(marks) == 7
    assert (marks[0], marks[-1]) == (steps[0], steps[-1])
    gaps = np.diff(np.log2(marks))
    assert gaps.max() - gaps.min() <= 1
    assert list(kept.query("metric == 'few' and seed == 1")["step"]) == [1, 2, 4]
    write_table(tmp_path / "curves.csv", curve)
    assert len(read_table(tmp_path / "curves.csv")) == 2 * MAX_MARKS
    with pytest.raises(ValueError, match="max_marks=1 must be at least 2"):
        thin(curve, 1)


ROWS = tidy(
    [
        row("E1", 16, 1, "loss", 3.0),
        row("E1", 16, 0, "loss", np.nan),
        row("E1", 8, 0, "loss", 2.0),
        row("pooled", None, 0, "share", 1.0),
    ]
)


def test_parts_of_a_table():
    assert levels(ROWS, "width") == [8, 16]
    assert cells(ROWS, {}, "share") == [{"name": "pooled"}]
    assert [list(one) for one in by_cell(ROWS, {"width": 8}, "loss")] == [[2.0]]
    found = values_of(ROWS, {"name": "E1", "width": 16}, "loss")
    assert list(found.index) == [0, 1]
    np.testing.assert_array_equal(found, [np.nan, 3.0])
    assert values_of(ROWS, {"name": "pooled"}, "loss").empty


def test_a_factor_has_a_value_one_of_several_or_none():
    assert len(select(ROWS, {"width": (8, 16)})) == 3
    assert list(select(ROWS, {"width": None})["name"]) == ["pooled"]
    assert len(select(ROWS, {"depth": None})) == 4  # no run has it
    with pytest.raises(ValueError, match=r"no factor 'depth'; there are \['name', 'width'\]"):
        select(ROWS, {"depth": 2})
    assert not is_measured(ROWS, {"depth": 2}, "loss")


def test_several_settings_are_not_taken_for_one():
    with pytest.raises(ValueError, match=r"that of 2 settings; say which width"):
        values_of(ROWS, {"name": "E1"}, "loss")
