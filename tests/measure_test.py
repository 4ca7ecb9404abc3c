"""The command that measures checkpoints: its table, its figure, and mistakes typed at it.

README's recipe runs it on a masked model; here it measures the copy task.
"""

import csv
import subprocess
import sys

import numpy as np
import pytest

from configs.el.copy import get_config as of_training
from configs.flatness.measure import get_config
from el_jax.config.measure import parse
from el_jax.measure import measure
from el_jax.runtime.errors import ConfigError
from tests.campaigns import trainings


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A training of two seeds, by the command."""
    workdir = tmp_path_factory.mktemp("copy")
    pace = trainings.pace(20, log_every=10, eval_every=10, checkpoint_every=10)
    command = [sys.executable, "-m", "el_jax.train", *trainings.TINY, *pace]
    seeds = ["--config.train.seeds=2", "--config.train.keep_checkpoints=0"]
    subprocess.run([*command, *seeds, f"--workdir={workdir}"], cwd=trainings.ROOT, check=True)
    return workdir


def test_every_number_has_a_line_in_the_table(workdir, capsys):
    config = get_config("smoke")
    config.update(runs=(1,), steps=(10, 20), num_eigenvalues=2)
    measure(config, workdir)
    told = capsys.readouterr().out
    with (workdir / "curvature.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["run"], row["seed"], row["step"]) for row in rows} == {
        ("1", "1", "10"),
        ("1", "1", "20"),
    }
    for step in ("10", "20"):
        assert f"run 1 (seed 1), step {step}\n" in told
        found = {
            r["metric"]: (float(r["value"]), float(r["sem"])) for r in rows if r["step"] == step
        }
        groups = [v for name, (v, _) in found.items() if name.startswith("fisher_trace, ")]
        assert len(groups) == 3
        # drawn labels are those of the whole, so the groups add up without an error of sampling
        np.testing.assert_allclose(sum(groups), found["fisher_trace"][0], rtol=1e-4)
        of_blocks = [v for name, (v, _) in found.items() if name.startswith("eigenvalue_1, ")]
        assert len(of_blocks) == 3
        # a block's largest eigenvalue is never above that of the whole
        assert max(of_blocks) <= found["eigenvalue_1"][0] + sum(found["eigenvalue_1"][1:])
        assert found["eigenvalue_1"][0] >= found["eigenvalue_2"][0] > found["least_eigenvalue"][0]
        assert "kl" not in found
        for name in ("ce", "fisher_trace", "hessian_trace", "scale_free_trace"):
            value, error = found[name]
            assert 0 < error < abs(value)
    assert (workdir / "curvature.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs": (2,)}, r"config.runs=2: must be in 0 .. 1"),
        ({"steps": (15,)}, r"config.steps=15: must be among \[10, 20\], of "),
        (
            {"split": "tests"},
            r"config.split='tests': must be one of test, test_precise, train",
        ),
        ({"contexts": 1}, r"config.contexts=1: must be at least 2"),
        ({"num_eigenvalues": 50}, r"config.num_eigenvalues=50: must be at most lanczos_steps=40"),
        (
            {"groups": "head"},
            r"config.groups='head': must be one of 'kind', 'layer', 'module', 'none'",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_table(workdir, changes, said, tmp_path):
    config = get_config()
    config.update(changes)
    before = sorted(workdir.iterdir())
    with pytest.raises(ConfigError, match=f"^{said}"):
        measure(config, workdir)
    assert sorted(workdir.iterdir()) == before


def test_another_command_s_config_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"--config: a training's; `.* el_jax.train` takes it"):
        parse(of_training("smoke"))
    with pytest.raises(ConfigError, match="not the workdir of a training"):
        measure(get_config(), tmp_path)
