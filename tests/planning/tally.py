"""Counts of a campaign's outcomes, printed and kept."""

import collections
import csv
import pathlib
import sys
import time

from el_jax.runtime import environment

RESULTS = pathlib.Path(__file__).parent / "results"


class Tally:
    """Outcomes of many trials by kind of trial; any outcome not listed as good is a fault.

    Args:
        name: name of the campaign.
        good: the outcomes that are no faults.
        progress: trials between two lines on the terminal; 0 for none.
    """

    def __init__(self, name, good, progress=0):
        self.name, self.good, self.progress = name, set(good), progress
        self.counts = collections.Counter()
        self.faults = []
        self._begun = time.monotonic()

    def add(self, kind, outcome, detail=""):
        self.counts[kind, outcome] += 1
        if outcome not in self.good:
            self.faults.append(f"{kind}: {outcome}: {detail}")
            if self.progress:
                print(f"FAULT  {self.faults[-1][:300]}", flush=True)
        if self.progress and self.num_trials % self.progress == 0:
            seconds = time.monotonic() - self._begun
            print(
                f"{self.num_trials} trials, {len(self.faults)} faults, {seconds:.0f} s", flush=True
            )

    @property
    def num_trials(self):
        return self.counts.total()

    def finish(self):
        """Print the table, keep it in results/NAME.csv, and leave with exit code 1 for any fault.

        A table of more trials that is there already, without a fault here, is not overwritten.
        """
        width = max(len(kind) for kind, _ in self.counts)
        print(f"\n{'kind':{width}}  trials  outcome")
        for (kind, outcome), count in sorted(self.counts.items()):
            print(f"{kind:{width}}  {count:6}  {outcome}")
        print(f"{self.num_trials} trials, {len(self.faults)} faults")
        path = RESULTS / f"{self.name}.csv"
        if not self.faults and path.exists() and num_kept(path) > self.num_trials:
            print(f"{path.name} keeps its {num_kept(path)} trials")
        else:
            self._write(path)
        sys.exit(1 if self.faults else 0)

    def _write(self, path):
        RESULTS.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            file.write(f"# {_hardware()}\n")
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["kind", "outcome", "count", "verdict"])
            table.writerows(
                [kind, outcome, count, "good" if outcome in self.good else "fault"]
                for (kind, outcome), count in sorted(self.counts.items())
            )


def num_kept(path, verdict=None):
    """Trials of a kept table; those of one verdict, if one is given."""
    return sum(int(row["count"]) for row in kept_rows(path) if verdict in (None, row["verdict"]))


def keep_others(made_again, tally):
    """Add the kept counts of the kinds for which ``made_again(kind)`` is False."""
    path = RESULTS / f"{tally.name}.csv"
    for row in kept_rows(path) if path.exists() else []:
        if not made_again(row["kind"]):
            tally.counts[row["kind"], row["outcome"]] += int(row["count"])


def kept_rows(path):
    """The rows of a kept table."""
    with path.open(newline="") as file:
        next(file)
        return list(csv.DictReader(file))


def _hardware():
    versions, machine = environment.versions(), environment.hardware()
    return (
        f"{time.strftime('%Y-%m-%d')}; {machine['machine']}, {machine['cpu_count']} cores; "
        f"{machine['num_devices']} {machine['device_kind']}; python {versions['python']}, "
        f"jax {versions['jax']}, orbax-checkpoint {versions['orbax-checkpoint']}"
    )
