"""Writes the notebooks from their sources.

    python -m colab.build                writes every notebook that is not up to date
    python -m colab.build --run [NAME]   also runs them (minutes on a CPU) and stores their figures
    python -m colab.build --check        writes nothing, and fails if a notebook is not up to date

A notebook is written as `colab/NAME.py`, plain Python in percent format; `colab/NAME.ipynb` is made
from it: numbered cells, the cell of `install.py` after the title, the address of the `origin`
remote, and the figures, tables and printed lines of the last `--run`, so that they are seen on
GitHub. They stay as long as no code above them changes. `--check` compares the cells, not their
outputs, and takes the address that the notebook has. Without an address a notebook asks for it in
its first cell of code. Edit the source, never the notebook.
"""

import argparse
import pathlib
import re
import subprocess

import jupytext
import nbformat
from nbformat import NotebookNode

COLAB = pathlib.Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
BRANCH = "main"  # the branch that the badge opens
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
ADDRESS = re.compile(r'^REPOSITORY = "([^"]*)"', re.MULTILINE)
KEPT = ("image/png", "text/markdown")
PASSING = re.compile(r"  \d+/\d+  |seeds in \d+ s|^metrics and checkpoints: ")  # progress, paths


def sources() -> list[pathlib.Path]:
    """The source of every notebook: each Python file of this folder but this one and its cell."""
    return sorted(path for path in COLAB.glob("*.py") if path.stem not in ("build", "install"))


def public_address(remote: str) -> str:
    """The address at which anyone can clone a remote; empty if there is none.

    A path, a port or a bare host name belongs to one machine or network, and a user name and a
    password are private.
    """
    host = r"([\w-]+(?:\.[\w-]+)*\.[a-z]{2,})"
    forms = (rf"(?:https|ssh)://(?:[^@/\s]+@)?{host}/([\w./~-]+)", rf"[^@/\s]+@{host}:([\w./~-]+)")
    for form in forms:
        if found := re.fullmatch(form, remote):
            return f"https://{found[1]}/{found[2].strip('/').removesuffix('.git')}"
    return ""


def origin() -> str:
    """The public address of this checkout's `origin`; empty if it has none."""
    asked = ["git", "-C", str(COLAB), "config", "--get", "remote.origin.url"]
    try:
        return public_address(subprocess.run(asked, capture_output=True, text=True).stdout.strip())
    except FileNotFoundError:  # no git
        return ""


def address_in(target: pathlib.Path) -> str:
    """The address in a notebook; empty if it has none, or if the notebook does not exist."""
    if not target.exists():
        return ""
    found = ADDRESS.search("\n".join(c.source for c in nbformat.read(target, 4).cells))
    return found[1] if found else ""


def badge(address: str, name: str) -> list[NotebookNode]:
    """The cell that opens the notebook in Colab; none if the address is not on GitHub."""
    if not address.startswith("https://github.com/"):
        return []
    repository = address.removeprefix("https://")
    page = f"https://colab.research.google.com/{repository.replace('.com', '', 1)}"
    link = f"[![Open in Colab]({BADGE})]({page}/blob/{BRANCH}/colab/{name}.ipynb)"
    return [nbformat.v4.new_markdown_cell(link)]


def notebook(text: str, *, name: str = "", address: str = "") -> NotebookNode:
    """The notebook of a percent-format source and an address, without figures."""
    install = (COLAB / "install.py").read_text(encoding="utf-8")
    title, *others = jupytext.reads(text, fmt="py:percent").cells
    first = jupytext.reads(install, fmt="py:percent").cells
    cells = [*badge(address, name), title, *first, *others]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02d}"
        if cell.cell_type == "code":
            cell.source = ADDRESS.sub(f'REPOSITORY = "{address}"', cell.source)
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}},
        nbformat_minor=5,
    )


def render(made: NotebookNode) -> str:
    """The text of an .ipynb file."""
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def made_from(path: pathlib.Path, address: str) -> NotebookNode:
    """The notebook of one source."""
    return notebook(path.read_text(encoding="utf-8"), name=path.stem, address=address)


def code_cells(made: NotebookNode) -> list[NotebookNode]:
    """The cells that are executed, in order."""
    return [cell for cell in made.cells if cell.cell_type == "code"]


def keep_figures(made: NotebookNode, old: NotebookNode) -> int:
    """Copies the outputs of another notebook, up to the first cell whose code differs.

    Returns:
        The number of cells that lose their outputs.
    """
    same = True
    lost = 0
    ours = code_cells(made)
    for place, cell in enumerate(code_cells(old)):
        plain = [ADDRESS.sub("", c.source) for c in (cell, *ours[place : place + 1])]
        same = same and len(set(plain)) == 1 and len(plain) == 2
        figures = [figure for output in cell.outputs if (figure := figure_of(output))]
        if same:
            ours[place].outputs = figures
        else:
            lost += bool(figures)
    return lost


def figure_of(output: NotebookNode) -> NotebookNode | None:
    """An output reduced to its figure, table or printed lines; None if it has none of them."""
    if output.output_type == "stream" and output.name == "stdout":
        kept = [line for line in output.text.splitlines(keepends=True) if not PASSING.search(line)]
        return nbformat.v4.new_output("stream", name="stdout", text="".join(kept)) if kept else None
    data = {kind: value for kind, value in output.get("data", {}).items() if kind in KEPT}
    if not data:
        return None
    sizes = {kind: value for kind, value in output.metadata.items() if kind in KEPT}
    return nbformat.v4.new_output("display_data", data=data, metadata=sizes)


def stale(path: pathlib.Path) -> bool:
    """True if the notebook beside a source is missing, or its cells differ from the source's."""
    target = path.with_suffix(".ipynb")
    if not target.exists():
        return True
    made, old = made_from(path, address_in(target)), nbformat.read(target, 4)
    keep_figures(made, old)
    return target.read_text(encoding="utf-8") != render(made)


def execute(made: NotebookNode, folder: pathlib.Path) -> None:
    """Runs a notebook from top to bottom in a kernel of its own that starts in ``folder``."""
    from nbclient import NotebookClient

    place = {"metadata": {"path": str(folder)}}
    NotebookClient(made, timeout=None, kernel_name="python3", resources=place).execute()


def write(path: pathlib.Path, *, run: bool) -> None:
    """Writes one notebook, with figures of a new run or its old ones as far as they still hold."""
    target = path.with_suffix(".ipynb")
    address = origin() or address_in(target)
    made = made_from(path, address)
    old = nbformat.read(target, 4) if target.exists() else made
    if run:
        old = made_from(path, address)
        execute(old, COLAB.parent)
    lost = keep_figures(made, old)
    target.write_text(render(made), encoding="utf-8")
    print(f"wrote {target.relative_to(COLAB.parent)}")
    if lost:
        print(f"{lost} of its figures were of other code: python -m colab.build --run {path.stem}")


def main() -> None:
    """Writes notebooks, runs and writes them, or with --check only names those out of date."""
    names = [path.stem for path in sources()]
    parser = argparse.ArgumentParser(
        prog="python -m colab.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    parser.add_argument("--run", nargs="*", choices=names, metavar="NAME", help="default: all")
    options = parser.parse_args()
    ran = [] if options.run is None else options.run or names
    if options.check:
        if behind := [path.stem for path in sources() if stale(path)]:
            raise SystemExit(f"not up to date: {', '.join(behind)}. Run python -m colab.build")
        return
    for path in sources():
        target = path.with_suffix(".ipynb")
        elsewhere = origin() not in ("", address_in(target))
        if path.stem in ran or stale(path) or elsewhere:
            write(path, run=path.stem in ran)


if __name__ == "__main__":
    main()
