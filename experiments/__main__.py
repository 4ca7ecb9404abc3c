"""List, plan, run and report the experiments.

python -m experiments list
python -m experiments run el_copy_losses --smoke
python -m experiments run el_copy_losses --scale=cpu [--out=DIR]
python -m experiments run el_copy_losses --plot-only [--figure=slide.pdf]
python -m experiments run bench --only=pytorch,relaunch [--scale=cpu] [--out=DIR]
python -m experiments run NAME --until-decided --max-seeds=64
python -m experiments plan el_copy_losses --scale=paper --machine=tpu-v5p-8,h100-8 [--write]
python -m experiments report

--only measures some settings again and leaves the others in the tables as they are. --until-decided
adds seeds until every claim has a verdict, where the tests of all claims may be looked at that
often. plan forecasts time and device-hours on machines that need not be here; --write puts them
into the README, --compile asks the machines' compilers.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from el_jax.planning.machines import machine_of
from el_jax.plots.style import save_figure
from el_jax.process.errors import ConfigError, UserError
from experiments.harness.discovery import (
    KNOWN_SCALES,
    Experiment,
    ExperimentError,
    discover,
    find,
)
from experiments.harness.judging import Verdict
from experiments.harness.prices import prices, sentence, write_prices
from experiments.harness.provenance import read_provenance
from experiments.harness.report import (
    make_console,
    print_claims,
    print_listing,
    print_results,
    write_report,
)
from experiments.harness.tables import MalformedTableError, read_table

ROOT = Path(__file__).parent
TABLES = ("results.csv", "curves.csv", "provenance.json")  # what a run writes


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run one command.

    Args:
        argv: the words after the program's name; by default those of the process.
        root: the folder of experiments.

    Returns:
        The exit status: 0, 2 when the request cannot be carried out, or that of a
        :class:`~el_jax.process.errors.UserError`.
    """
    arguments = make_parser().parse_args(argv)
    try:
        match arguments.command:
            case "list":
                print_listing(make_console(), discover(root).values())
            case "run":
                run(arguments, root)
            case "plan":
                plan(arguments, root)
            case "report":
                print(f"wrote {write_report(root)}")
    except (ExperimentError, MalformedTableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The experiments.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments and what they ask")
    runner = commands.add_parser("run", help="run one, draw its figure, judge its claims")
    runner.add_argument("name")
    runner.add_argument("--scale", choices=KNOWN_SCALES, default="cpu", help="default: cpu")
    runner.add_argument(
        "--smoke", action="store_const", const="smoke", dest="scale", help="--scale=smoke"
    )
    runner.add_argument("--plot-only", action="store_true", help="redraw from tables already there")
    runner.add_argument("--only", metavar="NAME,...", default="", help="measure only these again")
    runner.add_argument(
        "--until-decided", action="store_true", help="add seeds until every claim is decided"
    )
    runner.add_argument("--max-seeds", type=int, default=64, help="then stop; default: 64")
    runner.add_argument("--out", type=Path, help="where to write; by default where its scale goes")
    runner.add_argument("--figure", type=Path, help="a .png, .pdf or .svg in place of figure.png")
    planner = commands.add_parser("plan", help="forecast its time on machines elsewhere")
    planner.add_argument("name")
    planner.add_argument("--scale", choices=KNOWN_SCALES, default="paper", help="default: paper")
    planner.add_argument("--machine", required=True, metavar="NAME,...", help="such as tpu-v5e-4")
    planner.add_argument("--compile", action="store_true", help="ask the machines' compilers")
    planner.add_argument("--write", action="store_true", help="into the experiment's README")
    commands.add_parser("report", help="write experiments/report.md from the committed results")
    return parser


def names_in(text: str) -> list[str]:
    """The names in ``NAME,NAME``; a name may have a comma before a space, as "comp-sum, τ > 1"."""
    return [name for name in re.split(",(?! )", text) if name]


def run(arguments: argparse.Namespace, root: Path) -> None:
    """Run one experiment, or some of its settings, or only redraw it."""
    experiment = find(root, arguments.name)
    only = names_in(arguments.only)
    if only and arguments.plot_only:
        raise ExperimentError("--only does not go with --plot-only.")
    if arguments.until_decided and (only or arguments.plot_only):
        raise ExperimentError("--until-decided goes with neither --only nor --plot-only.")
    if arguments.figure and arguments.figure.suffix not in (".png", ".pdf", ".svg"):
        raise ExperimentError(f"--figure={arguments.figure} must end in .png, .pdf or .svg.")
    if arguments.figure and arguments.scale == "pilot":
        raise ExperimentError("--figure: a pilot has a table and no figure.")
    heading = f"{experiment.title} ({arguments.scale} scale)"
    out = experiment.output_folder(arguments.scale, arguments.out)
    if arguments.until_decided:
        for seeds, said in experiment.run_until_decided(arguments.scale, out, arguments.max_seeds):
            undecided = sum(outcome.verdict is Verdict.UNDECIDED for _, outcome in said)
            print(f"{seeds} seeds: {len(said) - undecided} of {len(said)} claims decided")
    elif not arguments.plot_only:
        experiment.run(arguments.scale, out, only=only)
    elif missing := [name for name in TABLES if not (out / name).exists()]:
        raise ExperimentError(
            f"cannot redraw in {out}: it must have {', '.join(TABLES)}, and lacks {missing[0]}; "
            "run without --plot-only, or copy them there"
        )
    conclude(experiment, heading, out, arguments.figure or out / "figure.png")


def plan(arguments: argparse.Namespace, root: Path) -> None:
    """Print the price of an experiment on each machine; write it into its README if asked.

    A machine that cannot train it is reported in one line; the others are planned for.

    Raises:
        ConfigError: no machine can train it.
    """
    experiment = find(root, arguments.name)
    machines = [machine_of(name) for name in arguments.machine.split(",")]
    studies = experiment.studies(arguments.scale)
    sentences: list[str] = []
    for machine in machines:
        try:
            found = list(prices(studies, machine, compiled=arguments.compile))
        except ConfigError as error:
            if machine is machines[-1] and not sentences:
                raise
            print(f"{machine.name}: {error}", flush=True)
            continue
        sentences.append(sentence(found, machine))
        print(sentences[-1], flush=True)
    if arguments.write:
        command = " ".join(["python -m experiments plan", *words_of(arguments)])
        write_prices(experiment.folder / "README.md", arguments.scale, sentences, command)


def words_of(arguments: argparse.Namespace) -> list[str]:
    """The words of a plan's command that print its prices anew and write them."""
    words = [arguments.name, f"--scale={arguments.scale}", f"--machine={arguments.machine}"]
    return [*words, *(["--compile"] if arguments.compile else []), "--write"]


def conclude(experiment: Experiment, heading: str, out: Path, path: Path) -> None:
    """Print the numbers and verdicts of the tables in ``out``; save their figure at ``path``.

    The smoke scale shows that everything runs; its numbers test no claim and get no verdict. A
    pilot chooses numbers by its table, and has no figure.
    """
    results = read_table(out / "results.csv")
    provenance = read_provenance(out / "provenance.json")
    console = make_console()
    print_results(console, heading, results)
    if provenance.scale == "smoke":
        print("smoke scale: too small for verdicts")
    else:
        print_claims(console, experiment.judged(results, provenance))
    if provenance.scale == "pilot":
        return
    figure = experiment.plot(out)
    save_figure(figure, path)
    print(f"\n{figure.get_suptitle()}\nwrote {path}")


if __name__ == "__main__":
    sys.exit(main())
