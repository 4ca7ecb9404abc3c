import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from experiments.harness.tables import (
    MalformedTableError,
    curve_table,
    curves_frame,
    read_curves,
    read_results,
    results_frame,
    seed_table,
    settings_with,
    thin,
    values_of,
    with_parts,
    write_curves,
    write_results,
)

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
READ_AND_WRITE = {
    "results.csv": (read_results, write_results),
    "curves.csv": (read_curves, write_curves),
}
COMMITTED = [
    path
    for name in READ_AND_WRITE
    for path in EXPERIMENTS.rglob(name)
    if (path.parent / "run.py").exists()
]
NAMES = st.text("abE1λ=,\"' ", min_size=1, max_size=6).filter(lambda text: text == text.strip())
VALUES = st.floats(allow_nan=False, width=32).map(lambda value: float(f"{value:.6g}"))
KEYS = st.tuples(NAMES, st.integers(0, 99), NAMES)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_committed_table_is_written_again_byte_for_byte(path, tmp_path):
    read, write = READ_AND_WRITE[path.name]
    write(tmp_path / path.name, read(path).sample(frac=1.0, random_state=0))
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=12))
def test_results_survive_a_round_trip(tmp_path_factory, by_key):
    path = tmp_path_factory.getbasetemp() / "results.csv"
    frame = results_frame((*key, value) for key, value in by_key.items())
    write_results(path, frame)
    back = read_results(path)
    key = ["setting", "seed", "metric"]
    pd.testing.assert_frame_equal(back, frame.sort_values(key, ignore_index=True))


def test_the_file_is_sorted_with_six_digits(tmp_path):
    rows = [
        ("b", 0, "loss", 1 / 3),
        ("a", 10, "loss", 2.0),
        ("a", 10, "hits", np.inf),
        ("a", 2, "loss", float("nan")),
        ("a", 2, "hits", 1234567.0),
    ]
    write_results(tmp_path / "results.csv", results_frame(rows))
    assert (tmp_path / "results.csv").read_bytes() == (
        b"setting,seed,metric,value\n"
        b"a,2,hits,1.23457e+06\n"
        b"a,2,loss,nan\n"
        b"a,10,hits,inf\n"
        b"a,10,loss,2\n"
        b"b,0,loss,0.333333\n"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("E1,1.5,loss,2", "results.csv:3: seed is '1.5'; it must be an integer from 0 up"),
        ("E1,-1,loss,2", "results.csv:3: seed is '-1'; it must be an integer from 0 up"),
        ("E1,1,loss,two", "results.csv:3: value is 'two'; it must be a number"),
        (",1,loss,2", "results.csv:3: setting is ''; it must be a non-empty name"),
        ("", "results.csv:3: setting is ''; it must be a non-empty name"),
        ("E1,1, loss,2", "results.csv:3: metric is ' loss'; it must be a non-empty name"),
        ("E1,1,loss", "results.csv:3: value is ''; it must be a number"),
        ("E1,1,loss,2,3", "results.csv:3: more than 4 fields: setting,seed,metric,value"),
        (
            "E1,1,loss,2,3,4",
            "results.csv: Error tokenizing data. C error: Expected 5 fields in lin",
        ),
        ("E1,0,loss,3", "results.csv:3: a second value for ('E1', '0', 'loss')"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "results.csv"
    path.write_text(f"setting,seed,metric,value\nE1,0,loss,1\n{line}\nE1,5,loss,1\n")
    with pytest.raises(MalformedTableError, match=re.escape(message)):
        read_results(path)


@pytest.mark.parametrize("text", ["", "setting,seed,value\n"])
def test_a_wrong_header_is_named(tmp_path, text):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(MalformedTableError, match="it must be 'setting,seed,metric,value'"):
        read_results(path)


@pytest.mark.parametrize("setting", ["", " E1", "E1\nE2"])
def test_what_could_not_be_read_back_is_not_written(tmp_path, setting):
    with pytest.raises(ValueError, match="setting is"):
        write_results(tmp_path / "results.csv", results_frame([(setting, 0, "loss", 1.0)]))
    assert not (tmp_path / "results.csv").exists()


def test_a_number_given_twice_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=re.escape("a second value for ('E1', '0', 'loss')")):
        write_results(tmp_path / "results.csv", results_frame([("E1", 0, "loss", 1.0)] * 2))


def test_uneven_curves_are_neither_read_nor_written(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("setting,seed,step,metric,value\nE1,0,5,loss,1\nE1,1,5,loss,1\nE1,1,6,loss,1\n")
    with pytest.raises(MalformedTableError, match=r"curves.csv: .* not every seed has step 6"):
        read_curves(path)
    uneven = curves_frame([("E1", 0, 5, "loss", 1.0), ("E1", 1, 6, "loss", 1.0)])
    with pytest.raises(ValueError, match="'E1', 'loss': not every seed has step 5"):
        write_curves(path, uneven)


def test_thinning_keeps_both_ends_and_the_spacing_of_the_marks(tmp_path):
    steps = 2 ** np.arange(60)
    curve = curves_frame(("E1", seed, step, "loss", step) for seed in (0, 1) for step in steps)
    short = curve.assign(metric="few")[curve["step"] < 8]
    kept = curve_table(thin(pd.concat([curve, short]), 7))
    marks = kept["E1", "loss"].steps
    assert len(marks) == 7
    assert (marks[0], marks[-1]) == (steps[0], steps[-1])
    gaps = np.diff(np.log2(marks))
    assert gaps.max() - gaps.min() <= 1
    np.testing.assert_array_equal(kept["E1", "few"].steps, [1, 2, 4])
    write_curves(tmp_path / "curves.csv", curve, max_marks=5)
    assert len(read_curves(tmp_path / "curves.csv")) == 10
    with pytest.raises(ValueError, match="max_marks=1 must be at least 2"):
        thin(curve, 1)


ROWS = results_frame(
    [
        ("E1, width 16", 1, "loss", 3.0),
        ("E1, width 16", 0, "loss", np.nan),
        ("E1, width 8", 0, "loss", 2.0),
        ("pooled", 0, "share", 1.0),
    ]
)


def test_parts_of_a_frame():
    assert settings_with(ROWS, "loss") == {"E1, width 16", "E1, width 8"}
    found = values_of(ROWS, "E1, width 16", "loss")
    assert list(found.index) == [0, 1]
    np.testing.assert_array_equal(found, [np.nan, 3.0])
    assert values_of(ROWS, "pooled", "loss").empty
    np.testing.assert_array_equal(seed_table(ROWS)["E1, width 16", "loss"].values, [np.nan, 3.0])


def test_parts_of_a_name_become_columns():
    found = with_parts(ROWS, r"(?P<name>.*), width (?P<width>\d+)")
    assert list(found["width"]) == [16, 16, 8]
    assert set(found["name"]) == {"E1"}
    assert with_parts(ROWS, r"(?P<depth>\d+)").empty
