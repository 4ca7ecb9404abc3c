"""Every notebook equals its source and runs from top to bottom, small, without a network."""

import os
import pathlib
import re
import subprocess
import sys

import nbclient
import nbformat
import numpy
import pytest

from colab import build

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = "# %% [markdown]\n# # Title\n\n# %%\nx = 1\n"
CELL_LIMIT = 300  # seconds for one cell
# What a reader would fill into the forms to see only that a notebook runs.
FORMS = {
    "equal_learning": {"SCALE": '"smoke"', "NUM_UPDATES": 20, "WARMUP_STEPS": 10}
    | {"OTHER_WARMUP_STEPS": 10},
    "flatness": {"SCALE": '"smoke"', "NUM_UPDATES": 60, "NUM_CONTEXTS": 32},
    "linear_ntp": {"NUM_STEPS": 200},
}


def cell_with(text: str) -> str:
    """The source of the one code cell of the first notebook that begins with this text."""
    cells = build.notebook(build.sources()[0].read_text()).cells
    (cell,) = [c.source for c in cells if c.cell_type == "code" and c.source.startswith(text)]
    return cell


def fill(notebook: nbformat.NotebookNode, form: dict[str, object]) -> None:
    """Fills in forms; each field must stand in one cell."""
    for name, value in form.items():
        field = re.compile(rf"^{name} = .*?(?=  # @param)", re.MULTILINE)
        (cell,) = [c for c in build.code_cells(notebook) if field.search(c.source)]
        cell.source = field.sub(f"{name} = {value}", cell.source)


def figure_cells(notebook: nbformat.NotebookNode) -> list[int]:
    """The places of the code cells that show a figure."""
    return [
        place
        for place, cell in enumerate(build.code_cells(notebook))
        if any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]


def committed(source: pathlib.Path) -> nbformat.NotebookNode:
    return nbformat.read(source.with_suffix(".ipynb"), 4)


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
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = build.notebook(source.read_text())
    fill(notebook, FORMS[source.stem])
    run_notebook(notebook, tmp_path)
    assert not hidden_figures(notebook)
    assert figure_cells(notebook) == figure_cells(committed(source)), "python -m colab.build --run"


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


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_a_committed_notebook_holds_figures_and_tables_but_nothing_that_was_printed(source):
    for cell in build.code_cells(committed(source)):
        assert cell.execution_count is None
        for output in cell.outputs:
            assert output.output_type == "display_data"
            assert set(output.data) <= set(build.KEPT)


def test_a_notebook_is_the_same_bytes_every_time_and_stale_once_either_file_changes(tmp_path):
    source, target = tmp_path / "a.py", tmp_path / "a.ipynb"
    source.write_text(SOURCE)
    assert build.stale(source)
    target.write_text(build.render(build.made_from(source, "")))
    assert not build.stale(source)
    target.write_text(target.read_text().replace("x = 1", "x = 2"))
    assert build.stale(source)
    target.write_text(build.render(build.made_from(source, "")))
    source.write_text(SOURCE + "y = 1\n")
    assert build.stale(source)


def test_a_fork_with_another_address_is_not_stale(tmp_path: pathlib.Path):
    source, target = tmp_path / "a.py", tmp_path / "a.ipynb"
    source.write_text('# %%\nREPOSITORY = ""  # @param {type:"string"}\n')
    made = build.made_from(source, "https://github.com/one/two")
    target.write_text(build.render(made))
    assert build.address_in(target) == "https://github.com/one/two"
    assert not build.stale(source)
    link = "https://colab.research.google.com/github/one/two/blob/main/colab/a.ipynb"
    assert link in made.cells[0].source
    assert len(build.made_from(source, "https://example.org/one").cells) == len(made.cells) - 1


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/one/two.git", "https://github.com/one/two"),
        ("https://user:token@github.com/one/two", "https://github.com/one/two"),
        ("git@github.com:one/two.git", "https://github.com/one/two"),
        ("ssh://git@example.org/one/two/", "https://example.org/one/two"),
        ("", ""),
        ("/srv/one/two.git", ""),
        ("file:///srv/one", ""),
        ("../two", ""),
        ("https://localhost/one/two", ""),
        ("https://127.0.0.1/one/two", ""),
        ("https://example.org:8443/one/two", ""),
        ("machine:one/two.git", ""),
    ],
)
def test_only_a_public_address_goes_into_a_notebook(remote: str, address: str):
    assert build.public_address(remote) == address


def test_a_figure_stays_until_code_above_it_changes():
    def drawn(*sources: str) -> nbformat.NotebookNode:
        notebook = build.notebook("".join(f"# %%\n{source}\n" for source in sources))
        for cell in notebook.cells:
            data = {"image/png": "AA==", "text/plain": "<Figure>"}
            cell.outputs = [nbformat.v4.new_output("execute_result", data=data)]
            cell.outputs.append(nbformat.v4.new_output("stream", text="3 s"))
        return notebook

    made = build.notebook("# %% [markdown]\n# New words\n# %%\na\n# %%\nB\n# %%\nc\n")
    assert build.keep_figures(made, drawn("a", "b", "c")) == 2
    assert figure_cells(made) == [0]
    (output,) = build.code_cells(made)[0].outputs
    assert output.data == {"image/png": "AA=="}


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
        exec(cell_with("# @title Device"), {"os": os})


def test_every_notebook_installs_alike():
    for source in build.sources():
        assert cell_with("# @title Install") in [
            c.source for c in build.notebook(source.read_text()).cells
        ]


def install(
    folder: pathlib.Path, before: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the install cell, after other code, in a fresh interpreter that starts in a folder."""
    return subprocess.run(
        [sys.executable, "-c", before + cell_with("# @title Install")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
    )


def test_the_install_cell_does_nothing_where_the_package_is(tmp_path: pathlib.Path):
    assert re.fullmatch(r"el_jax .*, jax .*\n", install(tmp_path, PYTHONPATH=str(ROOT)).stdout)
    assert "el_jax " in install(ROOT / "colab").stdout
    assert not list(tmp_path.iterdir())


def test_the_install_cell_asks_for_an_address_in_one_line(tmp_path: pathlib.Path):
    notebook = build.notebook("# %%\n" + cell_with("# @title Install"))
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        run_notebook(notebook, tmp_path)
    (error,) = [o for o in notebook.cells[0].outputs if o.output_type == "error"]
    assert error.traceback == ["Stopped: " + error.evalue]
    assert "address of its git repository" in error.evalue


def test_the_install_cell_asks_for_a_restart_if_another_jax_is_imported(tmp_path: pathlib.Path):
    old = "import sys, types\nsys.modules['jax'] = types.SimpleNamespace(__version__='0.7.2')\n"
    stopped = install(tmp_path, old, PYTHONPATH=str(ROOT)).stderr.splitlines()[-1]
    assert "jax 0.7.2 is imported already" in stopped
    assert "restart the runtime" in stopped


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small git repository that requires jax and a package which is not installed."""
    folder = tmp_path / "repository"
    (folder / "el_jax").mkdir(parents=True)
    (folder / "el_jax" / "__init__.py").write_text('__version__ = "9.9"')
    (folder / "el_jax" / "types.py").touch()
    (folder / "configs").mkdir()
    (folder / "configs" / "common.py").touch()
    listed = "jax>=0.10  # jax\n# pytest\nnumpy>=2.0\nno-such-package>=1\n"
    (folder / "requirements.txt").write_text(listed)
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    return folder


def test_the_install_cell_clones_and_asks_for_jax_with_the_extra_of_the_runtime(
    tmp_path: pathlib.Path, repository: pathlib.Path
):
    (tmp_path / "pip").mkdir()  # a pip that only writes down what it is asked for
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(
        "import sys\nprint(sys.argv, file=open('asked', 'w'))"
    )

    done = install(tmp_path, "import numpy\n", EL_JAX_REPOSITORY=str(repository))

    assert "with jax[cpu]" in done.stdout, done.stderr
    assert "el_jax 9.9, jax " in done.stdout
    asked = (tmp_path / "asked").read_text()
    assert "'jax[cpu]>=0.10', 'numpy>=2.0', 'no-such-package>=1'" in asked
    held = tmp_path / "el_jax_clone" / "held.txt"  # what is imported cannot change any more
    assert held.read_text() == f"numpy=={numpy.__version__}"
