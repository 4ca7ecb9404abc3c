"""The command that analyses a linear problem, called as from the command line."""

import csv
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from el_jax.analyze_ntp import analyze_ntp
from el_jax.linear_ntp import figure1_problem, max_margin
from el_jax.process import launch

ROOT = pathlib.Path(__file__).parents[1]


def run(workdir, *arguments):
    command = [sys.executable, "-m", "el_jax.analyze_ntp", *arguments, f"--workdir={workdir}"]
    return subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)


def run_here(workdir, *arguments):
    """The same in this process, which has imported everything."""
    analyze_ntp(*launch.command_line(["", *arguments, f"--workdir={workdir}"]))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("figure1")
    return workdir, run(workdir, "--config=configs/linear_ntp/figure1.py:steps=2000")


def test_verdicts_margins_and_files(done):
    workdir, process = done
    assert (process.returncode, process.stderr) == (0, "")
    for words in (
        "entropy 0.881038 nats",
        "\ncompatible: one decoder has all log ratios",
        "\nseparable: one decoder separates every context",
        "[SeparatingMatrix verified:",
        "max margin in the frobenius norm 0.3659625",
        "max margin in the spectral norm 0.4564354",
    ):
        assert words in process.stdout
    with np.load(workdir / "analysis.npz") as arrays:
        w_mm, trained = arrays["w_mm_frobenius"], arrays["trained"]
    np.testing.assert_allclose(w_mm, max_margin(figure1_problem()).w, atol=1e-12)
    assert trained.shape == (5, 2)
    assert (workdir / "figure.png").stat().st_size > 10_000


def test_the_course_ends_where_the_decoder_was_kept(done):
    workdir, _ = done
    with (workdir / "trajectory.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert int(rows[0]["step"]) == 0
    assert int(rows[-1]["step"]) == 2000
    losses = [float(row["excess_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    with np.load(workdir / "analysis.npz") as arrays:
        length = np.linalg.norm(arrays["trained"])
    assert float(rows[-1]["norm"]) == pytest.approx(length)


def test_what_is_not_separable_says_why_and_has_no_margin(tmp_path, capsys):
    config = "--config=configs/linear_ntp/random.py:teacher,m=12,d=2,V=5,S=2,steps=0"
    run_here(tmp_path, config)
    said = capsys.readouterr().out
    assert "\nnot separable: " in said
    assert "FarkasMatrix verified" in said
    assert "\ncompatible: " in said
    assert "max margin" not in said
    assert not (tmp_path / "trajectory.csv").exists()


def test_a_bad_config_is_one_line_and_exit_code_2(tmp_path):
    process = run(tmp_path, "--config=configs/linear_ntp/random.py", "--config.problem.dim=0")
    assert process.returncode == 2
    assert process.stderr.startswith("error: config.problem: ")
    assert len(process.stderr.splitlines()) == 1


def activations(path, **arrays):
    """Two classes of contexts in 6 dimensions, each followed by two tokens of its own."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((8, 6)) + 3 * np.repeat([[1.0], [-1.0]], 4, axis=0)
    counts = rng.integers(1, 9, (4, 8)) * (np.arange(4)[:, None] // 2 == np.arange(8) // 4)
    np.savez(path, **({"embeddings": rows.astype(np.float32), "counts": counts} | arrays))
    return f"--config=configs/linear_ntp/activations.py:file={path},norms=all,steps=200"


def test_frozen_activations_are_analysed_and_trained_on(tmp_path, capsys):
    run_here(tmp_path / "out", activations(tmp_path / "acts.npz"))
    said = capsys.readouterr()
    assert said.err == ""
    for words in (
        "8 contexts in 6 dimensions, 4 tokens, 2 of them after a context\n",
        "\nembeddings of rank 6 (d/m = 0.75), condition number ",
        "; no two of them are equal or nearly so (within 0.1 %)\n",
        "\nseparable: ",
        "max margin in the frobenius norm ",
        "max margin in the max norm ",
        "max margin in the spectral norm ",
    ):
        assert words in said.out
    with np.load(tmp_path / "out" / "analysis.npz") as arrays:
        assert arrays["trained"].shape == (4, 6)
    assert (tmp_path / "out" / "figure.png").stat().st_size > 10_000
