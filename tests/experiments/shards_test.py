"""An experiment run in parts and joined again is the experiment run whole."""

import json

import pytest

from experiments.__main__ import main
from experiments.harness.shards import Shard, ShardError, merge, parse_shard
from tests.experiments.toys import forget, make

FILES = {
    "README.md": "# Toy\n",
    "__init__.py": '"""In parts?"""',
    "run.py": """
        import math

        from experiments.harness.seeds import write_tables
        from experiments.harness.shards import WHOLE
        from experiments.harness.tables import (tidy)

        LOSSES = ("e1", "cross_entropy")

        def run(scale, out, shard=WHOLE):
            units = shard.take([(loss, seed) for loss in LOSSES for seed in range(3)])
            seconds = {}
            for loss, _ in units:
                seconds[loss] = seconds.get(loss, 0.0) + 10.0
            write_tables(
                "toy", scale, out,
                results=tidy(
                    {"loss": loss, "seed": s, "metric": "accuracy", "value": math.sin(s)}
                    for loss, s in units),
                curves=tidy(
                    {"loss": loss, "seed": s, "step": step, "metric": "x", "value": 1 / (step + s)}
                    for loss, s in units for step in range(1, 81)),
                config_hashes=dict.fromkeys(seconds, scale), wall_seconds=seconds)
        """,
    "plot.py": """
        from el_jax.plots import new_figure

        def plot(out):
            return new_figure()[0]
        """,
    "claims.py": """
        from experiments.harness.claims import level

        CLAIMS = [level("all there", "accuracy", {"loss": "e1"}, at_least=-2.0)]
        """,
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    return make(tmp_path, ("toy", "other"), FILES, monkeypatch)


def shards(root, count, *flags):
    """Run every shard and return the shards' folders."""
    for i in range(count):
        assert main(["run", "toy", f"--shard={i}/{count}", *flags], root) == 0
    folder = root.parent / "runs" / "shards" / "toy"
    return [folder / f"{i}_of_{count}" for i in range(count)]


def test_two_shards_merged_are_the_whole(root, tmp_path, capsys):
    parts = shards(root, 2)
    assert not (parts[0] / "figure.png").exists()
    printed = capsys.readouterr().out
    assert f"wrote shard 0/2 into {parts[0]}" in printed
    assert "holds" not in printed
    assert not (root / "toy" / "results.csv").exists()
    assert main(["merge", "toy", *map(str, reversed(parts))], root) == 0
    assert "holds" in capsys.readouterr().out
    assert main(["run", "toy", f"--out={tmp_path / 'whole'}"], root) == 0
    for table in ("results.csv", "curves.csv", "provenance.json"):
        assert (root / "toy" / table).read_bytes() == (tmp_path / "whole" / table).read_bytes()
    assert (root / "toy" / "figure.png").exists()
    recorded = json.loads((root / "toy" / "provenance.json").read_text())
    assert recorded["wall_seconds"] == {"cross_entropy": 30.0, "e1": 30.0}  # summed over shards
    assert recorded["command"] == "python -m experiments run toy --scale=cpu"


def test_small_shards_merge_elsewhere(root):
    parts = shards(root, 3, "--smoke")
    assert main(["merge", "toy", *map(str, parts)], root) == 0
    assert (root.parent / "runs" / "results" / "toy-smoke" / "figure.png").exists()
    assert not (root / "toy" / "results.csv").exists()


def edit(folder, **changes):
    """Edit a shard's provenance, as another machine or commit would have written it."""
    path = folder / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def relabel(folder, **changes):
    path = folder / "shard.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def copy_rows(parts):
    (parts[1] / "results.csv").write_bytes((parts[0] / "results.csv").read_bytes())


def garble(parts):
    (parts[0] / "results.csv").write_text("x\n")


REFUSED = {
    "missing": (lambda p: p[:2], "missing: 2/3; surplus: none"),
    "twice": (lambda p: [*p, p[0]], "missing: none; surplus: 0/3"),
    "code": (lambda p: edit(p[1], commit="1" * 40), "parts differ in commit"),
    "dirty": (lambda p: edit(p[1], dirty=None), "parts differ in dirty"),
    "scale": (lambda p: edit(p[1], scale="smoke"), "parts differ in scale"),
    "machine": (lambda p: edit(p[2], hardware={"platform": "tpu"}), "parts differ in hardware"),
    "config": (
        lambda p: edit(p[2], config_hashes={"e1": "0"}, wall_seconds={"e1": 1.0}),
        "parts differ in the configuration of 'e1'",
    ),
    "unfinished": (lambda p: (p[1] / "curves.csv").unlink(), "has no curves.csv"),
    "no shard": (lambda p: (p[1] / "shard.json").unlink(), "is no shard of toy"),
    "rows": (copy_rows, "a second value for "),
    "division": (lambda p: relabel(p[1], shard="1/2"), "missing: 1/3; surplus: 1/2"),
    "other": (lambda p: relabel(p[1], experiment="x"), "is a shard of x, not of toy"),
    "malformed": (garble, "results.csv: the header is "),
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_is_not_one_run_is_refused_in_one_line(root, capsys, change):
    parts = shards(root, 3)
    capsys.readouterr()
    break_it, message = REFUSED[change]
    changed = break_it(parts)
    given = changed if isinstance(changed, list) else parts
    assert main(["merge", "toy", *map(str, given)], root) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not (root / "toy" / "results.csv").exists()


@pytest.mark.parametrize("text", ["2/2", "1", "-1/2", "0/0", "a/b", "0/2/3", "", "٠/٢"])
def test_shards_are_i_of_n(text):
    with pytest.raises(ShardError, match=r"must be i/n with i from 0 to n - 1"):
        parse_shard(text)


def test_what_cannot_be_run_in_parts_says_so(root, capsys):
    assert main(["run", "toy", "--shard=0/7"], root) == 2
    assert "--shard=0/7: n must be at most 6 here" in capsys.readouterr().err
    assert main(["run", "toy", "--shard=0/2", "--plot-only"], root) == 2
    assert "nothing to draw of a shard" in capsys.readouterr().err
    text = (root / "toy" / "run.py").read_text().replace("out, shard=WHOLE", "out")
    (root / "toy" / "run.py").write_text(text)
    forget("toy")
    assert main(["run", "toy", "--shard=0/2"], root) == 2
    assert capsys.readouterr().err == "error: toy cannot be sharded: its run() takes no shard.\n"


def test_units_are_dealt_out_like_cards():
    assert [Shard(i, 3).take("abcdefgh") for i in range(3)] == [
        ["a", "d", "g"],
        ["b", "e", "h"],
        ["c", "f"],
    ]
    assert parse_shard("1/3") == Shard(1, 3)


def test_merge_asks_for_every_folder(tmp_path):
    with pytest.raises(ShardError, match="is no shard of toy"):
        merge("toy", [tmp_path], tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["el_copy_context", "ntp_figure1"])
def test_a_real_experiment_in_parts_is_the_whole(name, tmp_path):
    assert main(["run", name, "--smoke", f"--out={tmp_path / 'whole'}"]) == 0
    parts = [str(tmp_path / f"part{i}") for i in range(2)]
    for i, part in enumerate(parts):
        assert main(["run", name, "--smoke", f"--shard={i}/2", f"--out={part}"]) == 0
    assert main(["merge", name, *parts, f"--out={tmp_path / 'merged'}"]) == 0
    for table in ("results.csv", "curves.csv"):
        merged, whole = ((tmp_path / kind / table).read_bytes() for kind in ("merged", "whole"))
        assert merged == whole


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
def test_only_is_refused_where_it_means_nothing(root, capsys, flags, message):
    assert main(["run", "toy", *flags], root) == 2
    assert message in capsys.readouterr().err
