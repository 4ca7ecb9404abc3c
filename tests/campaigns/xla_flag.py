"""The first seed of every experiment with the flag that makes XLA's sums right, and without it.

    python -m tests.campaigns.xla_flag [NAME ...]
    python -m tests.campaigns.xla_flag el_copy_losses --without=committed

Runs the first of as many shards as the experiment has seeds at its cpu scale, with the flag that
el_jax sets (see el_jax/runtime/arithmetic.py) and without, and compares every number of the two
tables. `--without=committed` takes the other side from committed tables that were made without it.
Experiments that are not named keep the counts they have. Each curve, and each result, is

    equal       to the six digits of the tables
    rounding    within 1e-4 of the largest number of its kind; an accuracy within one of the 78 hard
                training strings, since rounding decides where two logits are equal
    chaos       a curve that leaves no earlier than one of two controls is a tenth as far away:
                the same training, with the flag, at a lower level of the compiler's optimisation
                or with shorter vectors, which only put sums in another order; a result of such a
                training no farther from the range of the committed seeds than that is wide
    different   anything else: a fault
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from experiments.harness import tables
from experiments.harness.discovery import discover
from experiments.harness.provenance import read_provenance
from tests.campaigns.tally import Tally, keep_others

ROOT = pathlib.Path(__file__).parents[2]
EXPERIMENTS = discover(ROOT / "experiments")
del EXPERIMENTS["bench"]  # no two timings are equal
WITHOUT = {
    "XLA_FLAGS": "--xla_cpu_experimental_ynn_fusion_type=+reduce",
    "EL_JAX_WRONG_ARITHMETIC": "allow",
}
# sums in another order and nothing else; el_jax appends its own flag
CONTROLS = ("--xla_backend_optimization_level=1", "--xla_cpu_prefer_vector_width=128")
GOOD = ("equal", "rounding", "chaos")
ROUNDING, NOTHING = 1e-4, 1e-12  # of the largest number; below the second is rounding of 0
ONE_STRING = 0.013  # of an accuracy


def results_in(folder):
    return tables.seed_table(tables.read_results(folder / "results.csv"))


def curves_in(folder):
    return tables.curve_table(tables.read_curves(folder / "curves.csv"))


def run(name, out, environment):
    """The tables of the first seed of an experiment in a folder."""
    if (out / "results.csv").exists():
        return out
    out.mkdir(parents=True, exist_ok=True)
    committed = results_in(EXPERIMENTS[name].folder)
    num_seeds = min(len(entry.seeds) for entry in committed.values())
    command = [sys.executable, "-m", "experiments", "run", name, "--scale=cpu", f"--out={out}"]
    if "shard" in (EXPERIMENTS[name].folder / "run.py").read_text():
        command.append(f"--shard=0/{num_seeds}")
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True)
    return out


def run_controls(name, scratch):
    """The tables of the first seed with sums in other orders."""
    return [
        run(name, scratch / f"{name}-control-{number}", {"XLA_FLAGS": flag})
        for number, flag in enumerate(CONTROLS)
    ]


def close(a, b, room):
    return np.isclose(a, b, rtol=0, atol=room, equal_nan=True)


def pair(a, b, seed):
    """The values of two curves at the marks that both have, and these marks."""
    marks = np.isin(a.steps, b.steps), np.isin(b.steps, a.steps)
    ours, theirs = a.values[a.seeds.index(seed)], b.values[b.seeds.index(seed)]
    return ours[marks[0]], theirs[marks[1]], a.steps[marks[0]]


def leaves(a, b, steps, room):
    """The first mark at which two curves are apart by more than rounding; infinite for none."""
    return np.min(steps[~close(a, b, room)].astype(float), initial=np.inf)


def departures(ours, theirs, room_of):
    """For each setting and seed the first mark at which any of its curves leaves."""
    found = {}
    for (setting, metric), curve in ours.items():
        for seed in curve.seeds:
            mark = leaves(*pair(curve, theirs[setting, metric], seed), room_of[metric])
            found[setting, seed] = min(mark, found.get((setting, seed), np.inf))
    return found


def judge_curve(a, b, steps, room, control_leaves):
    """One curve of both sides; ``control_leaves`` is when the control of its training does."""
    if np.array_equal(a, b, equal_nan=True):
        return "equal"
    mark = leaves(a, b, steps, room)
    if mark == np.inf:
        return "rounding"
    return "chaos" if mark >= control_leaves else "different"


def judge_result(a, b, room, seeds, chaotic):
    """One result of both sides, with the committed values of all seeds."""
    if a == b or (np.isnan(a) and np.isnan(b)):
        return "equal"
    if close(a, b, room):
        return "rounding"
    spread = np.ptp(seeds)
    return "chaos" if chaotic and seeds.min() - spread <= a <= seeds.max() + spread else "different"


def rooms(table, part=ROUNDING):
    """The distance that is rounding, for each metric: a part of its largest number."""
    found = {}
    for (_, metric), entry in table.items():
        with np.errstate(invalid="ignore"):
            size = np.nanmax(np.abs(entry.values), initial=0.0)
        counted = metric.endswith(("accuracy", "exact_match"))
        least = ONE_STRING if counted else NOTHING
        found[metric] = max(part * size, least, found.get(metric, 0.0))
    return found


def compare(name, ours, theirs, controls, tally):
    """Judge every curve and result that ``ours`` has.

    Args:
        name: of the experiment.
        ours: the folder of the tables with the flag.
        theirs: the folder of those without.
        controls: gives the folders of the controls'; called where curves are apart.
        tally: what is added to.
    """
    a, b = curves_in(ours), curves_in(theirs)
    room_of, chaotic = rooms(b), set()
    first = departures(a, b, room_of)
    allowed = dict.fromkeys(first, np.inf)
    if min(first.values(), default=np.inf) < np.inf:
        for folder in controls():
            own = departures(a, curves_in(folder), rooms(b, ROUNDING / 10))
            allowed = {key: min(mark, own[key]) for key, mark in allowed.items()}
    for (setting, metric), curve in a.items():
        for seed in curve.seeds:
            both = pair(curve, b[setting, metric], seed)
            outcome = judge_curve(*both, room_of[metric], allowed[setting, seed])
            if outcome == "chaos":
                chaotic.add(setting)
            tally.add(f"{name}, curves", outcome, f"{setting}, {metric}, seed {seed}")
    a, b = results_in(ours), results_in(theirs)
    committed, room_of = results_in(EXPERIMENTS[name].folder), rooms(b)
    if chaotic:  # a training whose curves were not kept often enough to see it leave
        for folder in controls():
            for key, entry in results_in(folder).items():
                if not close(entry.values, a[key].values, room_of[key[1]]).all():
                    chaotic.add(key[0])
    for (setting, metric), entry in a.items():
        other = dict(zip(b[setting, metric].seeds, b[setting, metric].values, strict=True))
        seeds = committed[setting, metric].values
        for seed, value in zip(entry.seeds, entry.values, strict=True):
            outcome = judge_result(value, other[seed], room_of[metric], seeds, setting in chaotic)
            detail = f"{setting}, {metric}, seed {seed}: {value:g}, without {other[seed]:g}"
            tally.add(f"{name}, results", outcome, detail)


def sides(name, scratch, without):
    """Folders of the tables with the flag and without."""
    ours = run(name, scratch / name, {})
    if without != "committed":
        return ours, run(name, scratch / f"{name}-without", WITHOUT)
    theirs = EXPERIMENTS[name].folder
    if read_provenance(theirs / "provenance.json").arithmetic:
        sys.exit(f"{name}: its committed tables were made with the flag; run both sides")
    return ours, theirs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*EXPERIMENTS], metavar="NAME")
    parser.add_argument("--without", choices=("run", "committed"), default="run")
    parser.add_argument(
        "--tables", type=pathlib.Path, help="keep them there, and use what is there"
    )
    arguments = parser.parse_args()
    campaign = Tally("xla_flag", good=GOOD, progress=1000)
    with tempfile.TemporaryDirectory() as folder:
        scratch = arguments.tables or pathlib.Path(folder)
        for experiment in arguments.names:
            folders = sides(experiment, scratch, arguments.without)
            aside = functools.partial(run_controls, experiment, scratch)
            compare(experiment, *folders, aside, campaign)
    keep_others(lambda kind: kind.partition(",")[0] in arguments.names, campaign)
    campaign.finish()
