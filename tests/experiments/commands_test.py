"""The command line on a small made-up experiment."""

import textwrap

import pytest

from experiments.__main__ import main
from experiments.harness import discovery
from experiments.harness.tables import read_table
from tests.experiments.toys import forget, make

FILES = {
    "README.md": "# Toy\n",
    "__init__.py": """\
        \"\"\"Does [it] work?

        Paper 2025, Table 3.
        \"\"\"

        SCALES = ("smoke", "pilot", "quick", "cpu", "paper")
        """,
    "run.py": """
        from functools import partial

        import numpy as np

        from experiments.harness.seeds import Measured, run_seeds

        VALUES = {"cross_entropy": [0.1, 0.2, 0.15], "e1": [0.8, 0.9, 0.95]}

        def measure(scale, seed):
            for loss, values in VALUES.items():
                value = values[seed]
                yield Measured(
                    {"loss": loss},
                    {"test_hard_accuracy": value},
                    np.array([1]),
                    {"loss": np.array([value])},
                )

        NUM_SEEDS = dict.fromkeys(("smoke", "quick", "pilot", "cpu", "paper"), 3)
        run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
        """,
    "plot.py": """
        from el_jax.plots import new_figure
        from experiments.harness.figures import draw_dots, lines_in

        def plot(results):
            figure, axes = new_figure()
            draw_dots(axes[0, 0], results, "test_hard_accuracy", lines_in(results))
            return figure
        """,
    "claims.py": """
        from experiments.harness.claims import greater, level

        CE, E1, E9 = ({"loss": loss} for loss in ("cross_entropy", "e1", "E9 [new]"))
        WORDING = {"source": "Paper, Table 3", "paper": "0.780 | 0.246"}
        HARD = "test_hard_accuracy"
        CLAIMS = [
            greater("E1 wins", HARD, E1, than=CE, **WORDING),
            level("cross-entropy is fine", HARD, CE, at_least=0.9, **WORDING),
            level("E9 too", HARD, E9, at_least=0.9, **WORDING),
        ]
        """,
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = make(tmp_path, ("toy", "waiting"), FILES, monkeypatch)
    (root / "no_experiment").mkdir()
    return root


def names(folder):
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_run_writes_tables_and_figure_and_prints_verdicts(root, capsys):
    assert main(["run", "toy"], root) == 0
    written = {"results.csv", "curves.csv", "provenance.json", "figure.png"}
    assert written <= names(root / "toy")
    printed = capsys.readouterr().out
    verdicts = [[line[:19].strip(), line[20:]] for line in printed.splitlines()]
    for verdict in (
        ["holds", "E1 wins"],
        ["fails", "cross-entropy is fine"],
        ["not measured", "E9 too"],
    ):
        assert verdict in verdicts


SEQUENTIAL = {
    "run.py": """
        import numpy as np

        from experiments.harness.seeds import Measured, run_seeds

        def measure(scale, seed):
            for loss, value in (("cross_entropy", 0.05), ("e1", 0.95)):
                yield Measured({"loss": loss}, {"test_hard_accuracy": value}, np.array([1]), {})

        def run(name, scale, out, seeds=0):
            run_seeds(name, scale, out, num_seeds={scale: seeds}, measure=measure)
        """,
    "claims.py": """
        from experiments.harness.claims import greater

        CE, E1 = ({"loss": loss} for loss in ("cross_entropy", "e1"))
        HARD = "test_hard_accuracy"
        CLAIMS = [greater("E1 wins", HARD, E1, than=CE, test="anytime", matters=0.3)]
        """,
}


def test_seeds_are_added_until_the_claims_are_decided(root, capsys, monkeypatch):
    command = ["run", "toy", "--until-decided", "--max-seeds=64"]
    for name, text in SEQUENTIAL.items():
        assert main(command, root) == 2
        (root / "toy" / name).write_text(textwrap.dedent(text), encoding="utf-8")
        forget("toy")
    monkeypatch.setattr(discovery, "checkout_state", lambda: ("c0ffee", True))
    assert main(command, root) == 2
    errors = capsys.readouterr().err
    assert "its run() takes no number of seeds" in errors
    assert "'E1 wins' may not be looked at early" in errors  # its test is for a fixed design
    assert "commit first" in errors
    monkeypatch.setattr(discovery, "checkout_state", lambda: ("c0ffee", False))
    monkeypatch.setattr(discovery.os, "cpu_count", lambda: 3)
    assert main(["run", "toy", "--until-decided", "--max-seeds=0"], root) == 2
    assert "--max-seeds=0: must be at least 1" in capsys.readouterr().err
    assert main(command, root) == 0
    looks = [line for line in capsys.readouterr().out.splitlines() if "claims decided" in line]
    assert looks[0] == "3 seeds: 0 of 1 claims decided"
    assert looks[-1].endswith("1 of 1 claims decided")
    assert len(looks) == int(looks[-1].split()[0]) // 3 < 64 // 3
    assert len(set(read_table(root / "toy" / "results.csv")["seed"])) == 3 * len(looks)
    assert main(["run", "toy", "--until-decided", "--max-seeds=4"], root) == 0
    assert "4 seeds: 0 of 1 claims decided" in capsys.readouterr().out
    assert main(["run", "toy", "--until-decided", "--plot-only"], root) == 2


@pytest.mark.parametrize("flag", ["--smoke", "--scale=quick"])
def test_a_small_run_leaves_the_committed_files_alone(root, flag, tmp_path, capsys):
    before = names(root / "toy")
    assert main(["run", "toy", flag], root) == 0
    scale = flag.removeprefix("--").removeprefix("scale=")
    folder = root.parent / "runs" / "results" / f"toy-{scale}"
    assert "figure.png" in names(folder)
    printed = capsys.readouterr().out
    assert f"wrote {folder}/figure.png" in printed.replace("\n", "")
    assert ("E1 wins" in printed) == (scale == "quick")  # a smoke run proves nothing
    assert ("too small for verdicts" in printed) == (scale == "smoke")
    assert main(["run", "toy", flag, f"--out={root / 'toy' / 'sub'}"], root) == 2
    assert "holds committed results" in capsys.readouterr().err
    assert main(["run", "toy", flag, f"--out={tmp_path / 'mine'}"], root) == 0
    assert "figure.png" in names(tmp_path / "mine")
    assert names(root / "toy") == before


def test_a_pilot_has_a_table_and_no_figure(root, tmp_path, capsys):
    assert main(["run", "toy", "--scale=pilot", f"--out={tmp_path / 'mine'}"], root) == 0
    assert "0.15" in capsys.readouterr().out
    assert "results.csv" in names(tmp_path / "mine")
    assert "figure.png" not in names(tmp_path / "mine")


def test_plot_only_reads_what_is_there(root, capsys):
    assert main(["run", "toy", "--plot-only"], root) == 2
    assert "lacks results.csv" in capsys.readouterr().err
    main(["run", "toy"], root)
    (root / "toy" / "figure.png").unlink()
    (root / "toy" / "run.py").write_text("raise RuntimeError")
    forget("toy")
    slide = root / "slide.pdf"
    assert main(["run", "toy", "--plot-only", f"--figure={slide}"], root) == 0
    assert slide.read_bytes().startswith(b"%PDF")
    assert not (root / "toy" / "figure.png").exists()
    assert main(["run", "toy", "--plot-only"], root) == 0
    assert (root / "toy" / "figure.png").exists()
    assert main(["run", "toy", "--plot-only", "--figure=slide.jpg"], root) == 2
    assert "must end in .png, .pdf or .svg" in capsys.readouterr().err


def test_an_unknown_name_is_one_line_that_lists_the_known(root, capsys):
    assert main(["run", "toyy"], root) == 2
    assert (
        capsys.readouterr().err
        == "error: no experiment 'toyy'; did you mean 'toy'? there are: toy, waiting.\n"
    )


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("__init__.py", "", "must ask a question in its docstring"),
        ("claims.py", "", "must define CLAIMS"),
    ],
)
def test_a_broken_experiment_says_what_it_lacks(root, capsys, file, text, message):
    (root / "toy" / file).write_text(text)
    assert main(["run", "toy"], root) == 2
    assert message in capsys.readouterr().err
