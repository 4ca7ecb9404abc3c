"""Measure the speed of the training engine.

python -m experiments.bench                        all benchmarks, at the cpu scale
python -m experiments.bench pytorch relaunch       some of them; the rows of others stay
python -m experiments.bench --scale=smoke|cpu|gpu
python -m experiments.bench --report               only the table in README.md, from results.csv
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from experiments.bench.rows import read_rows
from experiments.bench.scales import SCALES
from experiments.bench.suite import BENCHMARKS, PROVENANCE, RESULTS, run_apart, update_files
from experiments.bench.table import markdown, print_rows, put_into, summary
from experiments.harness.report import make_console

FOLDER = Path(__file__).parent
README = FOLDER / "README.md"
COMMITTED = {"cpu": FOLDER, "gpu": FOLDER / "gpu"}
TITLES = {"cpu": "On a CPU", "gpu": "On an accelerator"}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the files.

    Args:
        argv: the words after the program's name; by default those of the process.

    Returns:
        The exit status.
    """
    arguments = make_parser().parse_args(argv)
    if unknown := set(arguments.names) - set(BENCHMARKS):
        print(f"error: no benchmark {sorted(unknown)}; there are {[*BENCHMARKS]}", file=sys.stderr)
        return 2
    if not arguments.report:
        measure(arguments)
    if arguments.report or (arguments.out is None and arguments.scale in COMMITTED):
        README.write_text(put_into(README.read_text("utf-8"), tables()), "utf-8")
        print(f"wrote {README}")
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.bench", description="How fast the training engine is."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--scale", choices=SCALES, default="cpu", help="default: cpu")
    parser.add_argument("--report", action="store_true", help="only write the README's table")
    parser.add_argument("--out", type=Path, help="where to write; default: where its scale goes")
    return parser


def measure(arguments: argparse.Namespace) -> None:
    """Measure one benchmark after the other; each is on disk before the next begins."""
    folder = arguments.out or COMMITTED.get(arguments.scale)
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix=f"el_jax-bench-{arguments.scale}-"))
    console = make_console()
    for name in arguments.names or BENCHMARKS:
        rows, provenance = run_apart(name, arguments.scale)
        update_files(folder, rows, {name: provenance})
        print_rows(console, rows)
        print(f"{name}: {provenance.wall_seconds[name]:.0f} s", flush=True)
    rows = read_rows(folder / RESULTS)
    print(f"goals: {summary(rows)}; wrote {folder / RESULTS}")


def tables() -> str:
    """The tables of the committed results of both scales, as Markdown."""
    return "\n".join(
        f"### {TITLES[scale]}\n\n{markdown(read_rows(folder / RESULTS), folder / PROVENANCE)}"
        for scale, folder in COMMITTED.items()
        if (folder / RESULTS).exists()
    )


if __name__ == "__main__":
    sys.exit(main())
