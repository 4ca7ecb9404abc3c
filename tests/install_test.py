"""pip installs el_jax and nothing else; configs, experiments and tests stay in the repository."""

import pathlib
import shutil
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[1]


BARE = """
import sys, jax.numpy as jnp
import el_jax
from el_jax import curvature, linear_ntp, losses, worlds
curvature.Hessian, linear_ntp.analyze, losses.e1, worlds.block_hmm
print({"flax", "orbax", "ml_collections", "matplotlib", "pandas", "rich"} & {*sys.modules})
"""


def test_the_rooms_of_mathematics_need_no_extra():
    done = subprocess.run([sys.executable, "-c", BARE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_requirements_are_the_package_and_all_its_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    listed = {line.split("#")[0].strip() for line in lines} - {""}
    assert listed == {*project["dependencies"], *(name for extra in extras for name in extra)}


@pytest.mark.slow  # asks the package registry for what builds it
def test_pip_installs_el_jax_alone_with_its_requirements(tmp_path):
    copy, target = tmp_path / "repository", tmp_path / "site"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "runs", "*cache*"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, f"--target={target}", str(copy)], check=True)
    names = {path.name for path in target.iterdir()}
    (record,) = names - {"el_jax"}
    assert record.startswith("el_jax-")
    wanted = (target / record / "METADATA").read_text()
    assert "Requires-Dist: jax<" in wanted
    assert "Requires-Dist: pytest" not in wanted
    rooms = {p.name for p in (ROOT / "el_jax").iterdir()} - {"README.md", "__pycache__"}
    assert rooms <= {path.name for path in (target / "el_jax").iterdir()}
