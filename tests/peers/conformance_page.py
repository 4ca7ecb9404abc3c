"""Judge el_jax and its peers, and write the table of el_jax/curvature/conformance/README.md.

    python -m tests.peers.conformance_page

PyTorch is installed once, in the user's cache folder, if it is missing. Takes three to nine
minutes.
"""

import json
import sysconfig
from pathlib import Path

from el_jax.curvature.conformance import ours, report
from tests.peers.environment import ROOT, run_peer

PAGE = ROOT / "el_jax" / "curvature" / "conformance" / "README.md"
START, END = "<!-- judged -->\n", "<!-- end of judged -->"
MODULE = "tests.peers.curvature_tools"
HEADS = {"product": ours.product, "top": ours.top, "trace": ours.trace}


def reports():
    """The report of every tool, by its name and version."""
    packages = Path(sysconfig.get_path("purelib"))
    found = {"el_jax": report(**HEADS, say=lambda _: None)}
    for name, version in json.loads(run_peer(MODULE, packages=packages)).items():
        found[f"{name} ({version})"] = json.loads(run_peer(MODULE, name, packages=packages))
    return found


def counts(text):
    """The first part of a cell: ``9 of 12`` of ``9 of 12 (layer norm, ...)``."""
    return text.partition(" (")[0]


def table(found):
    """A row for each line of the report, a column for each tool; then the faults of each tool."""
    tools = [name.partition(" (")[0] for name in found]
    rows = [f"| | {' | '.join(tools)} |", f"|---|{'---|' * len(tools)}"]
    for line in found["el_jax"]:
        cells = [counts(lines[line][1]) if line in lines else "" for lines in found.values()]
        rows.append(f"| {line} | {' | '.join(cells)} |")
    rows.append("")
    for name, lines in found.items():
        faults = [f"{line}: {text}" for line, (passed, text) in lines.items() if not passed]
        rows.append(f"- {name}: {'; '.join(faults) or 'passes all'}.")
    return "\n".join(rows) + "\n"


def main():
    judged = table(reports())
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n{judged}\n{END}{after}")


if __name__ == "__main__":
    main()
