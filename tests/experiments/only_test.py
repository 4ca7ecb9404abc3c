"""Settings that are measured again replace the earlier ones."""

import json

from experiments.__main__ import main, names_in
from tests.experiments.toys import make

FILES = {
    "README.md": "# Toy\n",
    "__init__.py": '"""In parts?"""',
    "plot.py": """
        from el_jax.plots import new_figure

        def plot():
            return new_figure()[0]
        """,
    "claims.py": """
        from experiments.harness.claims import level

        CLAIMS = [level("all there", "accuracy", {"part": "c"}, at_least=-2.0)]
        """,
}


SOME = """
    from pathlib import Path

    from experiments.harness.seeds import write_tables
    from experiments.harness.tables import (tidy)

    def run(name, scale, out, only={}):
        value = float((Path(__file__).parent / "value").read_text())
        rows = [
            {"part": part, "size": size, "seed": 0, "metric": "accuracy", "value": value}
            for part, size in (("b", 1), ("b", 2), ("c", 1)) if not only or part in only["part"]
        ]
        # a run may have its factors in another order than the table has them
        names = [f"size {row['size']}, {row['part']}" for row in rows]
        write_tables(name, scale, out,
                     results=tidy(rows),
                     curves=tidy(row | {"step": 1} for row in rows),
                     wall_seconds=dict.fromkeys(names, 1.0))
    """


def test_some_settings_are_measured_again_and_the_others_stay(tmp_path, monkeypatch, capsys):
    package = FILES["__init__.py"] + '\nONLY = "part"\nSCALES = ("smoke", "cpu", "paper")\n'
    files = {**FILES, "__init__.py": package, "run.py": SOME, "value": "1"}
    root = make(tmp_path, ("toy", "other"), files, monkeypatch)
    assert main(["run", "toy"], root) == 0
    (root / "toy" / "value").write_text("2")
    assert main(["run", "toy", "--only=b"], root) == 0
    rows = (root / "toy" / "results.csv").read_text().split()
    assert rows[1:] == ["b,1,0,accuracy,2", "b,2,0,accuracy,2", "c,1,0,accuracy,1"]
    assert "c,1,0,1,accuracy,1\n" in (root / "toy" / "curves.csv").read_text()
    recorded = json.loads((root / "toy" / "provenance.json").read_text())
    assert list(recorded["wall_seconds"]) == ["size 1, b", "size 2, b"]
    assert recorded["command"] == "python -m experiments run toy --scale=cpu --only=b"
    assert [list(part["wall_seconds"]) for part in recorded["earlier"]] == [["size 1, c"]]
    assert main(["report"], root) == 0
    assert "1 setting measured earlier: " in (root / "report.md").read_text(encoding="utf-8")
    assert main(["run", "toy", "--only=b", "--scale=paper", f"--out={root / 'toy'}"], root) == 2
    assert "holds the cpu scale; --only must run at the same" in capsys.readouterr().err
    assert main(["run", "other", "--only=c"], root) == 0  # nothing is there yet
    assert (root / "other" / "results.csv").read_text().count("accuracy") == 1
    recorded = json.loads((root / "other" / "provenance.json").read_text())
    assert recorded["command"] == "python -m experiments run other --scale=cpu --only=c"


def test_a_name_may_have_a_comma():
    assert names_in("comp-sum, τ > 1,focal") == ["comp-sum, τ > 1", "focal"]
    assert names_in("") == []
