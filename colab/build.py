"""Writes the notebooks from their sources: `python -m colab.build [--check]`.

A notebook is written as `colab/NAME.py`, plain Python in percent format; `colab/NAME.ipynb` is made
from it, the same bytes every time: no outputs, numbered cells, no traces of the machine. Edit the
source, never the notebook.
"""

import argparse
import pathlib

import jupytext
import nbformat

COLAB = pathlib.Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[pathlib.Path]:
    """The source of every notebook: each Python file of this folder but this one."""
    return sorted(path for path in COLAB.glob("*.py") if path.name != "build.py")


def notebook(text: str) -> nbformat.NotebookNode:
    """The notebook of a percent-format source."""
    read = jupytext.reads(text, fmt="py:percent")
    cells = read.cells
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02d}"
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}},
        nbformat_minor=5,
    )


def render(source: pathlib.Path) -> str:
    """The text of the .ipynb file of one source."""
    made = notebook(source.read_text(encoding="utf-8"))
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def stale(path: pathlib.Path) -> bool:
    """True if the notebook beside a source is missing or differs from the one the source makes."""
    target = path.with_suffix(".ipynb")
    return not target.exists() or target.read_text(encoding="utf-8") != render(path)


def main() -> None:
    """Writes every notebook, or with --check only names the notebooks that are out of date."""
    parser = argparse.ArgumentParser(prog="python -m colab.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    check = parser.parse_args().check
    behind = [path for path in sources() if stale(path)]
    if check and behind:
        names = ", ".join(path.with_suffix(".ipynb").name for path in behind)
        raise SystemExit(f"not up to date with its source: {names}. Run python -m colab.build")
    for path in behind:
        path.with_suffix(".ipynb").write_text(render(path), encoding="utf-8")
        print(f"wrote {path.with_suffix('.ipynb').relative_to(COLAB.parent)}")


if __name__ == "__main__":
    main()
