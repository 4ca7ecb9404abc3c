"""Settings measured again take the place of earlier ones; a job array's shards are one run."""

import json

import pytest

from experiments.__main__ import main
from experiments.harness import discovery, kept
from experiments.harness.shards import Shard, ShardError, parse_shard
from tests.experiments.toys import make

FILES = {
    "README.md": "# Toy\n",
    "__init__.py": '"""In parts?"""',
    "plot.py": """
        from el_jax.plots import new_figure

        def plot(out):
            return new_figure()[0]
        """,
    "claims.py": """
        from experiments.harness.claims import level

        CLAIMS = [level("all there", "accuracy", {"part": "c"}, at_least=-2.0)]
        """,
}


SOME = """
    from pathlib import Path

    from experiments.harness.seeds import write_tables
    from experiments.harness.tables import (tidy)

    def run(scale, out, only=()):
        value = float((Path(__file__).parent / "value").read_text())
        rows = [
            {"part": part, "size": size, "seed": 0, "metric": "accuracy", "value": value}
            for part, size in (("b", 1), ("b", 2), ("c", 1)) if not only or part in only
        ]
        names = [f"{row['part']}, size {row['size']}" for row in rows]
        write_tables("toy", scale, out,
                     results=tidy(rows),
                     curves=tidy(row | {"step": 1} for row in rows),
                     config_hashes=dict.fromkeys(names, scale),
                     wall_seconds=dict.fromkeys(names, 1.0))
    """


def test_some_settings_are_measured_again_and_the_others_stay(tmp_path, monkeypatch, capsys):
    package = FILES["__init__.py"] + '\nONLY = "part"\n'
    files = {**FILES, "__init__.py": package, "run.py": SOME, "value": "1"}
    root = make(tmp_path, ("toy", "other"), files, monkeypatch)
    assert main(["run", "toy"], root) == 0
    (root / "toy" / "value").write_text("2")
    assert main(["run", "toy", "--only=b"], root) == 0
    rows = (root / "toy" / "results.csv").read_text().split()
    assert rows[1:] == ["b,1,0,accuracy,2", "b,2,0,accuracy,2", "c,1,0,accuracy,1"]
    assert "c,1,0,1,accuracy,1\n" in (root / "toy" / "curves.csv").read_text()
    recorded = json.loads((root / "toy" / "provenance.json").read_text())
    assert list(recorded["wall_seconds"]) == ["b, size 1", "b, size 2"]
    assert recorded["command"] == "python -m experiments run toy --scale=cpu --only=b"
    assert [list(part["wall_seconds"]) for part in recorded["earlier"]] == [["c, size 1"]]
    assert main(["report"], root) == 0
    assert "1 setting measured earlier: " in (root / "report.md").read_text(encoding="utf-8")
    assert main(["run", "toy", "--only=b", "--scale=paper", f"--out={root / 'toy'}"], root) == 2
    assert "holds the cpu scale; --only must run at the same" in capsys.readouterr().err
    assert main(["run", "other", "--only=c"], root) == 0  # nothing is there yet
    assert (root / "other" / "results.csv").read_text().count("accuracy") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--only=b"], "cannot run in part"),
        (["--only=b", "--plot-only"], "neither --shard nor --plot-only"),
        (["--only=b", "--shard=0/2"], "neither --shard nor --plot-only"),
    ],
)
def test_only_is_refused_where_it_means_nothing(tmp_path, monkeypatch, capsys, flags, message):
    root = make(tmp_path, ("toy",), {**FILES, "run.py": SOME}, monkeypatch)
    assert main(["run", "toy", *flags], root) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["2/2", "1", "-1/2", "0/0", "a/b", "0/2/3", "", "٠/٢"])
def test_shards_are_i_of_n(text):
    with pytest.raises(ShardError, match=r"must be i/n with i from 0 to n - 1"):
        parse_shard(text)


def test_units_are_dealt_out_like_cards():
    assert [Shard(i, 3).take("abcdefgh") for i in range(3)] == [
        ["a", "d", "g"],
        ["b", "e", "h"],
        ["c", "f"],
    ]
    assert parse_shard("1/3") == Shard(1, 3)


@pytest.fixture
def kept_here(tmp_path, monkeypatch):
    """A clean checkout, whose finished runs are kept in a folder of the test."""
    monkeypatch.setattr(kept, "KEPT", tmp_path / "kept")
    for module in (kept, discovery):
        monkeypatch.setattr(module, "checkout_state", lambda: ("0123456789abcdef", False))
    return tmp_path / "kept"


@pytest.mark.parametrize(
    ("name", "flag", "message"),
    [
        ("el_copy_width", "--shard=0/13", "--shard=0/13: n must be at most 12 here"),
        ("ntp_text", "--shard=0/2", "ntp_text trains no studies, to plan or to divide"),
        ("el_copy_width", "--plot-only", "nothing to draw of a shard"),
    ],
)
@pytest.mark.usefixtures("kept_here")
def test_what_cannot_be_run_in_parts_says_so(capsys, name, flag, message):
    assert main(["run", name, "--smoke", "--shard=0/2", flag]) == 2
    assert message in capsys.readouterr().err


def test_nothing_is_trained_that_would_not_be_kept(capsys, monkeypatch):
    monkeypatch.setattr(discovery, "checkout_state", lambda: ("0123456789abcdef", True))
    assert main(["run", "el_copy_width", "--smoke", "--shard=0/2"]) == 2
    assert "--shard: commit first, since there are changes" in capsys.readouterr().err


@pytest.mark.slow
def test_a_real_experiment_in_shards_is_the_whole(tmp_path, kept_here):
    def run(*flags):
        assert main(["run", "el_copy_context", "--smoke", *flags]) == 0
        return {path: path.stat().st_mtime_ns for path in kept_here.glob("*/*.json")}

    first, both = run("--shard=0/2"), run("--shard=1/2")
    assert 0 < len(first) < len(both)
    assert run(f"--out={tmp_path / 'joined'}") == both  # none is trained again
    for path in both:
        path.unlink()
    run(f"--out={tmp_path / 'whole'}")
    for table in ("results.csv", "curves.csv"):
        joined, whole = ((tmp_path / kind / table).read_bytes() for kind in ("joined", "whole"))
        assert joined == whole
