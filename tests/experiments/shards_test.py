"""An experiment run in parts and joined again is the experiment run whole."""

import json

import pytest

from experiments.__main__ import main
from experiments.harness.shards import Shard, ShardError, merge, parse_shard, write_shard
from tests.experiments.toys import forget, make

FILES = {
    "README.md": "# Toy\n",
    "__init__.py": '"""In parts?"""',
    "run.py": '''
        import math

        from experiments.harness.seeds import write_tables
        from experiments.harness.shards import WHOLE
        from experiments.harness.tables import curves_frame, results_frame

        NAMES = ("b", "a, warm-up")

        def run(scale, out, shard=WHOLE):
            units = shard.take([(name, seed) for name in NAMES for seed in range(3)])
            seconds = {}
            for name, _ in units:
                seconds[name] = seconds.get(name, 0.0) + 10.0
            write_tables(
                "toy", scale, out,
                results=results_frame(
                    (n, s, "accuracy", math.sin(len(n) + s)) for n, s in units),
                curves=curves_frame((n, s, step, "loss", math.pi / (step + s + 1))
                                    for n, s in units for step in range(80)),
                config_hashes=dict.fromkeys(seconds, scale), wall_seconds=seconds)
        ''',
    "plot.py": '''
        from el_jax.plots import new_figure

        def plot(out):
            return new_figure()[0]
        ''',
    "claims.py": '''
        from experiments.harness.claims import claim_level

        def claims(results):
            return [claim_level(results, "b", "accuracy", at_least=-2.0, text="all there",
                                   source="nowhere", paper_value="1")]
        ''',
}  # fmt: skip


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
    assert recorded["wall_seconds"] == {"a, warm-up": 30.0, "b": 30.0}  # summed over shards
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
    seal_again(folder)


def seal_again(folder):
    write_shard(folder, "toy", Shard(*map(int, folder.name.split("_of_"))))


def relabel(folder, **changes):
    path = folder / "shard.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def copy_rows(parts):
    (parts[1] / "results.csv").write_bytes((parts[0] / "results.csv").read_bytes())
    seal_again(parts[1])


def cut(path, keep):
    """Keep the lines of a table for which ``keep`` is true."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for i, line in enumerate(lines) if keep(i, line)))


def garble(parts):
    (parts[0] / "results.csv").write_text("x\n")
    seal_again(parts[0])


REFUSED = {
    "missing": (lambda p: p[:2], "shard 2/3 is missing"),
    "twice": (lambda p: [*p, p[0]], "overlap: both are shard 0/3"),
    "code": (lambda p: edit(p[1], commit="1" * 40), "parts differ in commit"),
    "dirty": (lambda p: edit(p[1], dirty=None), "parts differ in dirty"),
    "scale": (lambda p: edit(p[1], scale="smoke"), "parts differ in scale"),
    "machine": (lambda p: edit(p[2], hardware={"platform": "tpu"}), "parts differ in hardware"),
    "config": (
        lambda p: edit(p[2], config_hashes={"a, warm-up": "0"}, wall_seconds={"a, warm-up": 1.0}),
        "parts differ in the configuration of 'a, warm-up'",
    ),
    "unfinished": (lambda p: (p[1] / "curves.csv").unlink(), "has no curves.csv"),
    "no shard": (lambda p: (p[1] / "shard.json").unlink(), "is no shard of toy"),
    "no sums": (lambda p: relabel(p[1], sha256={}), "shard.json with the sums of its tables"),
    "a lost line": (
        lambda p: cut(p[1] / "results.csv", lambda i, _: i != 1),
        "results.csv is not what shard 1/3 wrote; run it again",
    ),
    "a lost setting": (
        lambda p: cut(p[1] / "curves.csv", lambda _, line: "warm-up" not in line),
        "curves.csv is not what shard 1/3 wrote",
    ),
    "rows": (copy_rows, "overlap: both have accuracy of "),
    "division": (lambda p: relabel(p[1], count=2), "shard 1/2; n must be the same"),
    "other": (lambda p: relabel(p[1], experiment="x"), "is a shard of x, not of toy"),
    "malformed": (garble, "results.csv:1: "),
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
    from experiments.harness.tables import curves_frame, results_frame

    def run(scale, out, only=()):
        value = float((Path(__file__).parent / "value").read_text())
        names = [n for n in ("b: x", "b: y", "c: x") if not only or n[0] in only]
        write_tables("toy", scale, out,
                     results=results_frame((n, 0, "accuracy", value) for n in names),
                     curves=curves_frame((n, 0, 1, "loss", value) for n in names),
                     config_hashes=dict.fromkeys(names, scale),
                     wall_seconds=dict.fromkeys(names, 1.0))
    """


def test_some_settings_are_measured_again_and_the_others_stay(tmp_path, monkeypatch, capsys):
    root = make(tmp_path, ("toy", "other"), {**FILES, "run.py": SOME, "value": "1"}, monkeypatch)
    assert main(["run", "toy"], root) == 0
    (root / "toy" / "value").write_text("2")
    assert main(["run", "toy", "--only=b"], root) == 0
    rows = (root / "toy" / "results.csv").read_text().split()
    assert rows[1:] == ["b:", "x,0,accuracy,2", "b:", "y,0,accuracy,2", "c:", "x,0,accuracy,1"]
    assert "c: x,0,1,loss,1\n" in (root / "toy" / "curves.csv").read_text()
    recorded = json.loads((root / "toy" / "provenance.json").read_text())
    assert list(recorded["wall_seconds"]) == ["b: x", "b: y"]
    assert [list(part["wall_seconds"]) for part in recorded["earlier"]] == [["c: x"]]
    assert main(["report"], root) == 0
    assert "Measured earlier: c · `python -m experiments run toy" in (root / "report.md").read_text(
        encoding="utf-8"
    )
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
