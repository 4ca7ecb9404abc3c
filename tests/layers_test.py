"""Imports point one way (the rooms of the house), and some libraries stay in some rooms."""

import ast
import pathlib
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[1]
# A room is a package or module of el_jax. It imports rooms of earlier lines only.
LAYERS = (
    {"types", "numbers"},
    {"process", "plots"},
    {"tokenizers"},
    {"losses", "weighting", "worlds", "curvature", "linear_ntp"},
    {"tasks"},
    {"models"},
    {"training", "checkpoint_step", "checkpoint", "probes"},
    {"workdir", "config"},
    {"own_methods"},
    {"checks"},
    {"build"},
    {"run", "planning"},
    {"subjects"},
    {"train", "measure", "analyze_ntp", "plan", "show", "export", "generate"},
)
# The shelves of linear_ntp, likewise.
SHELVES = ("problems", "theory", "solvers")
# Rooms of one line may not import each other, except these: (room, what it may import).
SIBLINGS = {("linear_ntp", "losses"), ("checkpoint", "checkpoint_step")}
# The package itself sets XLA's flags before anything computes.
SIBLINGS |= {("__init__", "process")}
# Libraries that stay in some rooms; the longest matching name decides. Tests import what they like.
ONLY_IN = {
    "fcntl": {"process.lock"},  # Windows has none
    "flax": {"models"},
    "flax.struct": {"models", "training"},
    "matplotlib": {"plots", "experiments", "colab"},
    "ml_collections": {"config", "process.launch", "analyze_ntp", "measure", "plan", "configs"},
    "pandas": {"run", "experiments", "colab"},
    "safetensors": {"models"},
    "scipy": {"linear_ntp", "curvature", "probes", "experiments"},
}


def room_of(path: pathlib.Path) -> str:
    """``el_jax/losses/stats.py`` is in losses, ``experiments/report.py`` in experiments."""
    top, *rest = path.relative_to(ROOT).with_suffix("").parts
    return rest[0] if top == "el_jax" else top


def imported(path: pathlib.Path) -> Iterator[str]:
    """The full dotted name of everything a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def may_import(room: str, other: str) -> bool:
    layer = {name: number for number, names in enumerate(LAYERS) for name in names}
    return room == other or (room, other) in SIBLINGS or layer[other] < layer.get(room, 0)


def test_imports_point_one_way():
    paths = (ROOT / "el_jax").iterdir()
    rooms = {p.stem for p in paths if not p.name.startswith("__") and p.suffix in ("", ".py")}
    assert rooms <= set().union(*LAYERS), "a new room: give it a line in LAYERS"
    for path in (ROOT / "el_jax").rglob("*.py"):
        for name in imported(path):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            assert package not in ("experiments", "colab", "configs", "tests"), name
            if package == "el_jax" and other in rooms:
                assert may_import(room_of(path), other), f"{path} imports {name}"


def test_shelves_of_linear_ntp_point_one_way():
    room = ROOT / "el_jax" / "linear_ntp"
    assert {path.name for path in room.iterdir() if path.is_dir()} - {"__pycache__"} == {*SHELVES}
    for number, shelf in enumerate(SHELVES):
        for path in (room / shelf).glob("*.py"):
            for name in imported(path):
                package, _, rest = name.partition("el_jax.linear_ntp.")
                above = rest.partition(".")[0] in SHELVES[number + 1 :]
                assert package or not above, f"{path} imports {name}"


@pytest.mark.parametrize("library", ONLY_IN)
def test_libraries_stay_in_their_rooms(library):
    for folder in ("el_jax", "configs", "experiments", "colab"):
        for path in (ROOT / folder).rglob("*.py"):
            for name in imported(path):
                ruled = [rule for rule in ONLY_IN if f"{name}.".startswith(f"{rule}.")]
                if ruled and max(ruled, key=len) == library:
                    here = ".".join(path.relative_to(ROOT).with_suffix("").parts[1:])
                    allowed = ONLY_IN[library]
                    assert {room_of(path), here} & allowed, f"{path} imports {name}"
