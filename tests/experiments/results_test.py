import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.plots import Curve, SeedValues
from experiments.results import (
    CurveRow,
    ResultRow,
    curve_table,
    merge_curves,
    merge_results,
    read_curves,
    read_results,
    seed_table,
    thin,
    write_curves,
    write_results,
)
from experiments.tidy_csv import MalformedTableError, format_value

NAMES = st.text("abE1λ=,\"' ", min_size=1, max_size=6).filter(lambda text: text == text.strip())
VALUES = st.floats(allow_nan=False, width=32).map(lambda value: float(format_value(value)))
KEYS = st.tuples(NAMES, st.integers(0, 99), NAMES)
few = settings(max_examples=40, derandomize=True, deadline=None)


def assert_same_entries(ours, theirs):
    assert ours.keys() == theirs.keys()
    for key in ours:
        for one, other in zip(ours[key], theirs[key], strict=True):
            np.testing.assert_array_equal(one, other)


@few
@given(st.dictionaries(KEYS, VALUES, max_size=12))
def test_results_survive_a_round_trip(by_key):
    table = seed_table(ResultRow(*key, value) for key, value in by_key.items())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.csv"
        write_results(path, table)
        assert_same_entries(read_results(path), table)
        text = path.read_bytes()
        write_results(path, read_results(path))
        assert path.read_bytes() == text


@few
@given(
    st.sets(NAMES, min_size=1, max_size=3),
    st.sets(st.integers(0, 9), min_size=1, max_size=3),
    st.sets(st.integers(0, 10**6), min_size=1, max_size=5),
    VALUES,
)
def test_curves_survive_a_round_trip(names, seeds, steps, value):
    table = curve_table(
        CurveRow(name, seed, step, "loss", value + seed)
        for name in names
        for seed in seeds
        for step in steps
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "curves.csv"
        write_curves(path, table)
        once = read_curves(path)
        write_curves(path, once)
        assert_same_entries(read_curves(path), once)
    assert once.keys() == table.keys()
    for entry, curve in once.items():
        assert (curve.seeds, *curve.steps) == (tuple(sorted(seeds)), *sorted(steps))
        np.testing.assert_allclose(curve.values, table[entry].values, rtol=5e-6)


def test_the_file_is_sorted_with_six_digits(tmp_path):
    rows = [
        ResultRow("b", 0, "loss", 1 / 3),
        ResultRow("a", 10, "loss", 2.0),
        ResultRow("a", 10, "hits", 0.5),
        ResultRow("a", 2, "loss", float("nan")),
        ResultRow("a", 2, "hits", 1234567.0),
    ]
    write_results(tmp_path / "results.csv", seed_table(rows))
    assert (tmp_path / "results.csv").read_bytes() == (
        b"setting,seed,metric,value\n"
        b"a,2,hits,1.23457e+06\n"
        b"a,2,loss,nan\n"
        b"a,10,hits,0.5\n"
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
        ("E1,1, loss,2", "results.csv:3: metric is ' loss'; it must be a non-empty name"),
        ("E1,1,loss", "results.csv:3: 3 fields; there must be 4: setting,seed,metric,value"),
        ("E1,0,loss,3", "results.csv:3: a second value for ('E1', 0, 'loss')"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "results.csv"
    path.write_text(f"setting,seed,metric,value\nE1,0,loss,1\n{line}\n", encoding="utf-8")
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
    table = {(setting, "loss"): SeedValues((0,), np.array([1.0]))}
    with pytest.raises(ValueError, match="setting is"):
        write_results(tmp_path / "results.csv", table)
    assert not (tmp_path / "results.csv").exists()


def test_merging_takes_the_union_and_refuses_a_contradiction():
    first = seed_table([ResultRow("E1", 0, "loss", 1 / 3), ResultRow("E1", 1, "loss", 2.0)])
    second = seed_table([ResultRow("E1", 0, "loss", 0.333333), ResultRow("E2", 0, "loss", 4.0)])
    merged = merge_results(first, second)
    assert list(merged) == [("E1", "loss"), ("E2", "loss")]
    assert merged["E1", "loss"].seeds == (0, 1)
    third = seed_table([ResultRow("E1", 1, "loss", 2.1)])
    with pytest.raises(ValueError, match=re.escape("('E1', 1, 'loss') is 2 in one part and 2.1")):
        merge_results(first, third)


def test_merging_curves_joins_seeds_and_refuses_different_steps():
    def curve(seed, steps):
        return curve_table(CurveRow("E1", seed, step, "loss", 1.0) for step in steps)

    merged = merge_curves(curve(1, [0, 5]), curve(0, [0, 5]))
    assert merged["E1", "loss"].seeds == (0, 1)
    with pytest.raises(ValueError, match="only one of seeds 0 and 1 has step 7"):
        merge_curves(curve(0, [0, 5]), curve(1, [0, 5, 7]))


def test_a_file_of_uneven_curves_is_malformed(tmp_path):
    path = tmp_path / "curves.csv"
    path.write_text("setting,seed,step,metric,value\nE1,0,5,loss,1\nE1,1,6,loss,1\n")
    with pytest.raises(MalformedTableError, match=r"curves.csv: .* has step 5"):
        read_curves(path)


def test_thinning_keeps_both_ends_and_the_spacing_of_the_marks(tmp_path):
    steps = 2 ** np.arange(101)[:60]
    curve = Curve((0, 1), steps, np.stack([steps, -steps]).astype(float))
    thinned = thin(curve, 7)
    assert len(thinned.steps) == 7
    assert (thinned.steps[0], thinned.steps[-1]) == (steps[0], steps[-1])
    np.testing.assert_array_equal(thinned.values, [thinned.steps, -thinned.steps])
    gaps = np.diff(np.log2(thinned.steps))
    assert gaps.max() - gaps.min() <= 1
    assert thin(curve, 60) is curve
    write_curves(tmp_path / "curves.csv", {("E1", "loss"): curve}, max_points=5)
    assert read_curves(tmp_path / "curves.csv")["E1", "loss"].values.shape == (2, 5)
    with pytest.raises(ValueError, match="max_points=1 must be at least 2"):
        thin(curve, 1)
