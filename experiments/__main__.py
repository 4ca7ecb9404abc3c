"""List, run and report the experiments.

python -m experiments list
python -m experiments run el_copy_losses --smoke
python -m experiments run el_copy_losses --scale=cpu [--plot-only] [--out=DIR]
python -m experiments report
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from el_jax.plots.style import save_figure
from experiments.console import make_console, print_claims, print_listing, print_results
from experiments.discovery import SCALES, ExperimentError, discover, find
from experiments.report import write_report
from experiments.results import read_results
from experiments.tidy_csv import MalformedTableError

ROOT = Path(__file__).parent


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run one command.

    Args:
        argv: the words after the program's name; those of the process by default.
        root: the folder of experiments.

    Returns:
        The exit status: 0, or 2 when what was asked for cannot be done.
    """
    arguments = make_parser().parse_args(argv)
    try:
        match arguments.command:
            case "list":
                print_listing(make_console(), discover(root).values())
            case "run":
                run(arguments, root)
            case "report":
                print(f"wrote {write_report(root)}")
    except (ExperimentError, MalformedTableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The experiments.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments and what they ask")
    runner = commands.add_parser("run", help="run one, draw its figure, judge its claims")
    runner.add_argument("name")
    runner.add_argument("--scale", choices=SCALES, default="cpu", help="default: cpu")
    runner.add_argument(
        "--smoke", action="store_const", const="smoke", dest="scale", help="--scale=smoke"
    )
    runner.add_argument("--plot-only", action="store_true", help="redraw from tables already there")
    runner.add_argument("--out", type=Path, help="where to write; by default where its scale goes")
    commands.add_parser("report", help="write experiments/report.md from the committed results")
    return parser


def run(arguments: argparse.Namespace, root: Path) -> None:
    """Run one experiment, or only redraw it; print its numbers and verdicts, save its figure."""
    experiment = find(root, arguments.name)
    heading = f"{experiment.title} ({arguments.scale} scale)"
    out = experiment.output_folder(arguments.scale, arguments.out)
    if not arguments.plot_only:
        experiment.run(arguments.scale, out)
    elif not (out / "results.csv").exists():
        raise ExperimentError(f"nothing to redraw in {out}; run without --plot-only, or set --out.")
    results = read_results(out / "results.csv")
    console = make_console()
    print_results(console, heading, results)
    print_claims(console, experiment.claims(results))
    save_figure(experiment.plot(out), out / "figure.png")
    print(f"wrote {out / 'figure.png'}")


if __name__ == "__main__":
    sys.exit(main())
