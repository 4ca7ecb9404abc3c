"""Write the tables of two READMEs from the kept results: python -m tests.campaigns."""

import collections
import pathlib

from tests.campaigns.tally import RESULTS, kept_rows, num_kept

README = pathlib.Path(__file__).parent / "README.md"
EXPERIMENTS = pathlib.Path(__file__).parents[2] / "experiments" / "README.md"


def table():
    """A row for each kept campaign: trials, faults, machine and date."""
    lines = ["| campaign | trials | faults | where and when |", "|---|---|---|---|"]
    for path in sorted(RESULTS.glob("*.csv")):
        where = path.read_text().partition("\n")[0].removeprefix("# ")
        link = f"[{path.stem}](results/{path.name})"
        lines.append(f"| {link} | {num_kept(path)} | {num_kept(path, 'fault')} | {where} |")
    return "\n".join(lines) + "\n"


def flag_table():
    """A row for each experiment and kind of table: its numbers with the flag against without."""
    outcomes = ("equal", "rounding", "chaos", "different")
    counts = collections.defaultdict(dict)
    for row in kept_rows(RESULTS / "xla_flag.csv"):
        counts[row["kind"]][row["outcome"]] = row["count"]
    lines = [f"| experiment | {' | '.join(outcomes)} |", "|---" * (1 + len(outcomes)) + "|"]
    for kind, found in counts.items():
        cells = [found.get(outcome, "") for outcome in outcomes]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


TABLES = {README: ("results", table), EXPERIMENTS: ("xla_flag", flag_table)}


def with_table(path):
    """A README with its table between the marks."""
    mark, make = TABLES[path]
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    return before + begin + make() + end + after


if __name__ == "__main__":
    for readme in TABLES:
        readme.write_text(with_table(readme))
        print(f"wrote {readme}")
