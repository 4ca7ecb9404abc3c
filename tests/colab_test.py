"""Every notebook equals its source and runs from top to bottom, small, without a network."""

import os
import pathlib
import shutil
import subprocess
import sys

import jax
import nbclient
import nbformat
import pytest

from colab import build

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = "# %% [markdown]\n# # Title\n\n# %%\nx = 1\n"
CELL_LIMIT = 300  # seconds for one cell


def cell_with(text: str) -> str:
    """The source of the one code cell of the first notebook that begins with this text."""
    cells = build.notebook(build.sources()[0].read_text()).cells
    (cell,) = [c.source for c in cells if c.cell_type == "code" and c.source.startswith(text)]
    return cell


def hidden_figures(notebook: nbformat.NotebookNode) -> list[str]:
    """Names of the cells that end in a figure but display only its type."""
    return [
        cell.id
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "Figure" in output.get("data", {}).get("text/plain", "")
        and "image/png" not in output.data
    ]


def run_notebook(notebook: nbformat.NotebookNode, folder: pathlib.Path) -> None:
    nbclient.NotebookClient(
        notebook,
        timeout=CELL_LIMIT,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
    ).execute()


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_notebook_runs(source, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SMOKE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = build.notebook(source.read_text())
    run_notebook(notebook, tmp_path)
    assert not hidden_figures(notebook)


def test_a_figure_that_is_not_shown_is_seen(tmp_path: pathlib.Path):
    figure = "from matplotlib.figure import Figure\nFigure().subplots().figure\n"
    notebook = build.notebook(f"# %%\n{figure}# %%\n# %matplotlib inline\n{figure}")
    run_notebook(notebook, tmp_path)
    assert hidden_figures(notebook) == ["cell-00"]


def test_a_failing_cell_is_seen(tmp_path: pathlib.Path):
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        run_notebook(build.notebook("# %%\n1 / 0\n"), tmp_path)


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_notebook_is_made_from_its_source(source: pathlib.Path):
    assert not build.stale(source), "run python -m colab.build"


def test_a_notebook_is_the_same_bytes_every_time_and_stale_once_either_file_changes(tmp_path):
    source, target = tmp_path / "a.py", tmp_path / "a.ipynb"
    source.write_text(SOURCE)
    assert build.stale(source)
    target.write_text(build.render(source))
    assert not build.stale(source)
    target.write_text(target.read_text().replace("x = 1", "x = 2"))
    assert build.stale(source)
    target.write_text(build.render(source))
    source.write_text(SOURCE + "y = 1\n")
    assert build.stale(source)


def test_a_notebook_holds_its_cells_and_nothing_of_the_machine():
    notebook = build.notebook(SOURCE)
    assert [(c.cell_type, c.id, c.source) for c in notebook.cells] == [
        ("markdown", "cell-00", "# Title"),
        ("code", "cell-01", "x = 1"),
    ]
    assert notebook.cells[1].outputs == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize(
    ("want", "error"), [("tpu", RuntimeError), ("gpu", RuntimeError), ("cpu", ValueError)]
)
def test_the_device_cell_stops_without_the_device_asked_for(want, error, monkeypatch):
    monkeypatch.setenv("WANT", want)
    monkeypatch.setattr("jax.default_backend", lambda: "cpu")
    with pytest.raises(error, match=f"WANT='{want}'"):
        exec(cell_with("# Device"), {})


def test_every_notebook_installs_alike():
    for source in build.sources():
        assert cell_with("# Install") in [
            c.source for c in build.notebook(source.read_text()).cells
        ]


def install(folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the install cell in a fresh interpreter that starts in a folder without el_jax."""
    return subprocess.run(
        [sys.executable, "-c", cell_with("# Install")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
    )


def test_the_install_cell_does_nothing_where_the_package_is(tmp_path: pathlib.Path):
    assert "el_jax " in install(tmp_path, PYTHONPATH=str(ROOT)).stdout
    assert "el_jax " in install(ROOT / "colab").stdout
    assert not list(tmp_path.iterdir())


def test_the_install_cell_asks_for_an_address(tmp_path: pathlib.Path):
    assert "set REPOSITORY" in install(tmp_path).stderr


def test_the_install_cell_clones_and_leaves_jax_and_the_test_tools_alone(tmp_path: pathlib.Path):
    repository = tmp_path / "repository"
    (repository / "el_jax").mkdir(parents=True)
    (repository / "el_jax" / "__init__.py").write_text('__version__ = "9.9"')
    shutil.copy(ROOT / "requirements.txt", repository)
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "pip").mkdir()  # a pip that only writes down what it is asked for
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(
        "import sys\nprint(sys.argv, file=open('asked', 'w'))"
    )

    done = install(tmp_path, EL_JAX_REPOSITORY=str(repository))

    assert done.stdout == "el_jax 9.9\n", done.stderr
    asked = (tmp_path / "asked").read_text()
    assert "'flax" in asked
    assert "pytest>=" not in asked
    assert "ipykernel>=" not in asked
    held = tmp_path / "el_jax_clone" / "held.txt"
    assert f"--constraint={held}" in asked
    assert f"jax=={jax.__version__}" in held.read_text().split()
