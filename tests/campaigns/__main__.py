"""Write the table of README.md from the kept results: python -m tests.campaigns."""

import pathlib

from tests.campaigns.tally import RESULTS, num_kept

README = pathlib.Path(__file__).parent / "README.md"
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->"


def table():
    """A row for each kept campaign: trials, faults, where and when."""
    lines = ["| campaign | trials | faults | where and when |", "|---|---|---|---|"]
    for path in sorted(RESULTS.glob("*.csv")):
        where = path.read_text().partition("\n")[0].removeprefix("# ")
        link = f"[{path.stem}](results/{path.name})"
        lines.append(f"| {link} | {num_kept(path)} | {num_kept(path, 'fault')} | {where} |")
    return "\n".join(lines) + "\n"


def with_table(text):
    """The README with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
    print(f"wrote {README}")
