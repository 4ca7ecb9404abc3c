"""Every notebook equals its source and runs from top to bottom, small, without a network."""

import itertools
import json
import pathlib
import re

import jax
import nbclient
import nbformat
import pytest

from colab import build
from el_jax import build as build_config

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = "# %% [markdown]\n# # Title\n\n# %%\nx = 1\n"
CELL_LIMIT = 300  # seconds for one cell
# Entries of the forms for a reader who only wants to see that a notebook runs.
FORMS = {
    "equal_learning": {"SCALE": "smoke", "NUM_UPDATES": 20, "WARMUP_STEPS": 10}
    | {"OTHER_WARMUP_STEPS": 10},
    "flatness": {"SCALE": "smoke", "NUM_UPDATES": 20, "NUM_CONTEXTS": 32},
    "linear_ntp": {"NUM_STEPS": 200},
}
# Right answers to exercises; the other exercises keep their first entries, which are not right.
ANSWERS = {
    "equal_learning": {"MY_LAMBDA": 0.5},
    "flatness": {"MY_PROBES": 4_000, "MY_SCALE": 2.0, "MY_ESTIMATOR": "XTrace"},
    "linear_ntp": {"MY_ANGLE_2": 150, "MY_ANGLE_3": 200, "MY_STEPS": 18_667}
    | {"MY_METHOD": "sign", "MY_DECAY": 0.5},
}
GRADES = {
    "equal_learning": ["solved", "not yet", "not yet"],
    "flatness": ["solved"] * 3,
    "linear_ntp": ["solved"] * 3,
}


def cell_with(source: pathlib.Path, text: str) -> str:
    """The one code cell of a notebook that begins with this text."""
    cells = build.code_cells(build.notebook(source.read_text()))
    (cell,) = [c.source for c in cells if c.source.startswith(text)]
    return cell


def module_names(source: pathlib.Path) -> dict[str, object]:
    """The names that a notebook imports from the repository's configs."""
    names: dict[str, object] = {}
    lines = [line for line in source.read_text().splitlines() if line.startswith("from configs")]
    exec("\n".join(lines), names)
    return names


def fill_cell(cell: str, form: dict[str, object]) -> str:
    """The cell with these values in its fields."""
    for name, value in form.items():
        cell = re.sub(rf"^{name} = .*?(?=  # @param)", f"{name} = {value!r}", cell, flags=re.M)
    return cell


def fill(notebook: nbformat.NotebookNode, form: dict[str, object]) -> None:
    """Fills in forms; each field must be in exactly one cell."""
    for name, value in form.items():
        field = re.compile(rf"^{name} = .*?(?=  # @param)", re.MULTILINE)
        (cell,) = [c for c in build.code_cells(notebook) if field.search(c.source)]
        cell.source = fill_cell(cell.source, {name: value})


def figure_cells(notebook: nbformat.NotebookNode) -> list[int]:
    """The places of the code cells that show a figure."""
    return [
        place
        for place, cell in enumerate(build.code_cells(notebook))
        if any("image/png" in output.get("data", {}) for output in cell.outputs)
    ]


def grades(notebook: nbformat.NotebookNode) -> list[str]:
    """The last line of what each exercise prints."""
    cells = [c for c in build.code_cells(notebook) if c.source.startswith("# @title Exercise")]
    printed = ["".join(o.text for o in c.outputs if o.output_type == "stream") for c in cells]
    return [text.splitlines()[-1] for text in printed]


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


@pytest.mark.parametrize(
    "source",
    # one by default: the others take a minute each
    [
        pytest.param(path, marks=[pytest.mark.slow] * (path.stem != "linear_ntp"), id=path.stem)
        for path in build.sources()
    ],
)
def test_notebook_runs(source, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = build.notebook(source.read_text())
    fill(notebook, FORMS[source.stem] | ANSWERS[source.stem])
    run_notebook(notebook, tmp_path)
    assert grades(notebook) == GRADES[source.stem]
    assert not hidden_figures(notebook)
    assert figure_cells(notebook) == figure_cells(committed(source)), "python -m colab.build --run"


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_notebook_is_made_from_its_source(source: pathlib.Path):
    assert not build.stale(source), "run python -m colab.build"


@pytest.mark.parametrize("source", build.sources(), ids=lambda path: path.stem)
def test_a_committed_notebook_holds_figures_tables_and_what_was_printed(source):
    for cell in build.code_cells(committed(source)):
        assert cell.execution_count is None
        for output in cell.outputs:
            assert output.output_type in ("display_data", "stream")
            assert set(output.get("data", ())) <= set(build.KEPT)


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


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/one/two.git", "https://github.com/one/two"),
        ("https://user:token@github.com/one/two", "https://github.com/one/two"),
        ("git@github.com:one/two.git", "https://github.com/one/two"),
        ("/srv/one/two.git", ""),
    ],
)
def test_only_a_public_address_goes_into_a_notebook(remote: str, address: str):
    assert build.public_address(remote) == address


def test_the_first_code_asks_for_an_address(tmp_path, monkeypatch):
    notebook = build.notebook("# %% [markdown]\n# # Title\n")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        run_notebook(notebook, tmp_path)
    (error,) = [o for o in notebook.cells[1].outputs if o.output_type == "error"]
    assert error.evalue == "Put the address of el_jax's git repository into REPOSITORY."


def corners(cell: str) -> list[dict[str, object]]:
    """Every combination of the ends of a form's sliders and of the entries of its lists."""
    fields: dict[str, list[object]] = {}
    for name, spec in re.findall(r"^(\w+) = .*?# @param (.*)$", cell, re.MULTILINE):
        if name in ("SEEDS", "LAMBDA", "WEIGHT", "LABEL"):
            continue
        low, high = (re.search(rf"{end}:([\d.]+)", spec) for end in ("min", "max"))
        fields[name] = [json.loads(low[1]), json.loads(high[1])] if low else json.loads(spec)
    return [
        dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())
    ]


@pytest.mark.parametrize("name", ["equal_learning", "flatness"])
def test_every_corner_of_the_forms_can_be_trained(name):
    source = ROOT / "colab" / f"{name}.py"
    form, configure = cell_with(source, "# @title What to train"), "def configure("
    for values in corners(form):
        names = {"jax": jax, **module_names(source)}
        exec(fill_cell(form, values), names)
        exec(cell_with(source, configure).partition("\n\n\n")[0], names)
        if name == "flatness":
            asked = [{}, {"weight": names["WEIGHT"]}]
        else:
            other = corners(cell_with(source, "# @title Another loss"))
            asked = [
                *names["LOSSES"].values(),
                *(
                    {"name": o["OTHER_LOSS"], "warmup_steps": o["OTHER_WARMUP_STEPS"]}
                    for o in other
                ),
            ]
            asked += [loss | {"num_updates": 500} for loss in names["LOSSES"].values()]
        for keywords in asked:
            build_config.checked(build_config.parse(names["configure"](**keywords)))
