"""pip installs el_jax and nothing else; configs, experiments and tests stay in the repository."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.slow  # asks the package registry for what builds it
def test_pip_installs_el_jax_alone_with_its_requirements(tmp_path):
    copy, target = tmp_path / "repository", tmp_path / "site"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "runs", "*cache*"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, f"--target={target}", str(copy)], check=True)
    names = {path.name for path in target.iterdir()}
    (record,) = names - {"el_jax"}
    assert record.startswith("el_jax-")
    wanted = (target / record / "METADATA").read_text()
    assert "Requires-Dist: jax<" in wanted
    assert "Requires-Dist: pytest" not in wanted
    rooms = {p.name for p in (ROOT / "el_jax").iterdir() if not p.name.startswith("__pyc")}
    assert rooms <= {path.name for path in (target / "el_jax").iterdir()}
