"""Who may import whom, and the few rules of size and documentation that every file keeps.

A check takes a file's path and text and gives one message a breach; each is tried below on a
snippet that breaks it.
"""

import ast
import pathlib
import re
from collections.abc import Callable, Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[1]

# A room is a package or module of el_jax. It may import the rooms of earlier layers. A new room is
# listed here, in the layer it belongs to.
LAYERS = (
    {"types", "runtime"},
    {"losses", "weighting", "tasks", "flatness", "linear_ntp"},  # mathematics and data
    {"models"},  # networks
    {"training", "probing", "plots"},  # running
    {"typed_config", "environment"},  # what assembly stands on
    # a config that was read and found good, where its run lives, and who takes part
    {"settings", "ntp_settings", "workdir", "distributed"},
    {"build", "launch"},  # assembly
    {"train", "measure", "analyze_ntp", "checkpoint"},  # command lines
)
# Inside a layer rooms stand side by side, but for these: (room, what it may import).
SIBLINGS = {
    ("weighting", "losses"),
    ("linear_ntp", "losses"),
    ("probing", "training"),
    ("launch", "build"),
    ("__init__", "runtime"),  # XLA's flags are set before anything computes
}
# Rooms that import less than their layer allows.
ONLY_IMPORTS = {"plots": {"types"}}
# Libraries that stay in some rooms; the longest matching name decides. Tests import what they like.
ONLY_IN = {
    "flax": {"models"},
    "flax.struct": {"models", "training"},
    "matplotlib": {"plots", "experiments", "colab"},
    "ml_collections": {"settings", "ntp_settings", "launch", "analyze_ntp", "configs"},
    "scipy": {"linear_ntp", "flatness"},
}
# Mathematics that compiles itself: its functions take whole problems, enter float64 and give NumPy
# arrays, so no caller could.
COMPILES_ITSELF = {"linear_ntp"}
MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 60
EMPTY_NAMES = {"utils", "util", "helpers", "misc", "core", "manager", "common_utils"}
# An absolute path into somebody's machine; an address such as https://host/home/ is none.
MACHINE_PATH = re.compile(r"(?<![\w.:/}])/(?:home|Users|root|work|mnt|scratch|tmp|content)/\w")


def room_of(path: str) -> str:
    """`el_jax/losses/stats.py` -> losses, `experiments/report.py` -> experiments."""
    parts = path.split("/")
    return (parts[1] if parts[0] == "el_jax" else parts[0]).removesuffix(".py")


def imported(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything a file imports, relative imports resolved."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.split("/")[: -node.level] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)


def may_import(room: str, other: str) -> bool:
    if room == other or (room, other) in SIBLINGS:
        return True
    if room in ONLY_IMPORTS:
        return other in ONLY_IMPORTS[room]
    layer = {name: number for number, names in enumerate(LAYERS) for name in names}
    return room in layer and layer[other] < layer[room]


def layer_breaches(path: str, text: str) -> Iterator[str]:
    room, rooms = room_of(path), set().union(*LAYERS)
    if room not in rooms | {"__init__"}:
        yield f"{path}: room {room!r} has no layer; list it in LAYERS of tests/layers_test.py"
        return
    for line, name in imported(path, text):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package in ("experiments", "colab", "configs", "tests"):
            yield f"{path}:{line}: el_jax imports {package}, which stands above it"
        elif package == "el_jax" and other in rooms and not may_import(room, other):
            yield f"{path}:{line}: {room} imports {other}, against the layers"
        elif package == "el_jax" and other not in rooms and not other.startswith("__"):
            yield f"{path}:{line}: imports {name}, and {other!r} has no layer in LAYERS"


def library_breaches(path: str, text: str) -> Iterator[str]:
    room = room_of(path)
    for line, name in imported(path, text):
        ruled = [library for library in ONLY_IN if f"{name}.".startswith(f"{library}.")]
        if ruled and room not in ONLY_IN[max(ruled, key=len)]:
            yield f"{path}:{line}: {max(ruled, key=len)} in {room}, only for " + ", ".join(
                sorted(ONLY_IN[max(ruled, key=len)])
            )


def jit_breaches(path: str, text: str) -> Iterator[str]:
    """The mathematics is compiled by whoever calls it."""
    if room_of(path) not in LAYERS[1] - COMPILES_ITSELF:
        return
    used = [
        (node.lineno, f"jax.{node.attr}")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
    ]
    for line, name in [*used, *imported(path, text)]:
        if name in ("jax.jit", "jax.pmap"):
            yield f"{path}:{line}: {name} in the mathematics; leave it to the caller"


def functions(text: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its dotted name; a name with a private part belongs to nobody else."""

    def walk(node: ast.AST, prefix: str) -> Iterator:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    yield inner[:-1], child
                    inner = f"{prefix}{child.name}._."  # what is defined inside a function
            yield from walk(child, inner)

    yield from walk(ast.parse(text), "")


def size_breaches(path: str, text: str) -> Iterator[str]:
    if (lines := len(text.splitlines())) > MAX_FILE_LINES:
        yield f"{path}: {lines} lines, at most {MAX_FILE_LINES}"
    for name, node in functions(text):
        docstring = ast.get_docstring(node, clean=False) or ""
        lines = (
            node.end_lineno - node.lineno + 1 - (len(docstring.splitlines()) if docstring else 0)
        )
        if lines > MAX_FUNCTION_LINES:
            yield f"{path}:{node.lineno}: {name} is {lines} lines, at most {MAX_FUNCTION_LINES}"


def signature_breaches(path: str, text: str) -> Iterator[str]:
    for name, node in functions(text):
        if any(part.startswith("_") for part in name.split(".")):
            continue
        if ast.get_docstring(node) is None:
            yield f"{path}:{node.lineno}: {name} has no docstring"
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        bare = [a.arg for a in arguments if a and not a.annotation and a.arg not in ("self", "cls")]
        if bare or node.returns is None:
            what = ", ".join(bare) or "its result"
            yield f"{path}:{node.lineno}: {name} leaves {what} without annotation"


def name_breaches(path: str, _: str) -> Iterator[str]:
    for part in path.removesuffix(".py").split("/"):
        if part in EMPTY_NAMES:
            yield f"{path}: {part!r} does not say what it holds"


def path_breaches(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if hit := MACHINE_PATH.search(line):
            yield f"{path}:{number}: {hit.group()}... is a path of one machine"


CODE = ("el_jax", "configs", "experiments", "colab")
TEXT = {".py", ".md", ".sh", ".txt", ".csv", ".json", ".ipynb", ".ini", ".toml"}
Check = Callable[[str, str], Iterator[str]]
# Each check with the folders it holds in.
CHECKS: dict[Check, tuple[str, ...]] = {
    layer_breaches: ("el_jax",),
    library_breaches: CODE,
    jit_breaches: ("el_jax",),
    size_breaches: ("el_jax",),
    signature_breaches: ("el_jax",),
    name_breaches: CODE,
    path_breaches: (*CODE, "tests", ".ci"),
}


def files(check: Check) -> list[pathlib.Path]:
    """Every file a check reads: Python, and for paths of one machine every text."""
    suffixes = TEXT if check is path_breaches else {".py"}
    found = [path for folder in CHECKS[check] for path in sorted((ROOT / folder).rglob("*"))]
    if check is path_breaches:
        found += (
            sorted(ROOT.glob("*.md")) + sorted(ROOT.glob(".*.toml")) + sorted(ROOT.glob(".*.ini"))
        )
    return [path for path in found if path.suffix in suffixes]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_file_passes(check: Check):
    paths = files(check)
    assert paths
    breaches = [b for p in paths for b in check(p.relative_to(ROOT).as_posix(), p.read_text())]
    assert not breaches, "\n" + "\n".join(breaches)


LONG_FUNCTION = "def f() -> None:\n    '''What it does.'''\n" + "    x = 1\n" * 60


@pytest.mark.parametrize(
    ("check", "path", "text"),
    [
        (layer_breaches, "el_jax/losses/x.py", "from el_jax.models import transformer"),
        (layer_breaches, "el_jax/losses/x.py", "import el_jax.tasks.copy"),
        (layer_breaches, "el_jax/losses/x.py", "from ..tasks import copy"),
        (layer_breaches, "el_jax/losses/x.py", "from el_jax import tasks"),
        (layer_breaches, "el_jax/losses/x.py", "def f():\n    from el_jax.tasks import copy"),
        (layer_breaches, "el_jax/losses/x.py", "from configs.el import copy"),
        (layer_breaches, "el_jax/training/x.py", "from el_jax.probing import probe"),
        (layer_breaches, "el_jax/plots/x.py", "from el_jax.losses import stats"),
        (layer_breaches, "el_jax/train.py", "from el_jax import measure"),
        (layer_breaches, "el_jax/types.py", "from el_jax import losses"),
        (layer_breaches, "el_jax/__init__.py", "from el_jax import losses"),
        (layer_breaches, "el_jax/attic/x.py", ""),
        (layer_breaches, "el_jax/train.py", "from el_jax.attic import x"),
        (library_breaches, "el_jax/losses/x.py", "import flax.linen as nn"),
        (library_breaches, "el_jax/losses/x.py", "from flax import struct"),
        (library_breaches, "el_jax/training/state.py", "from flax import linen"),
        (library_breaches, "el_jax/training/state.py", "import ml_collections"),
        (library_breaches, "el_jax/flatness/x.py", "import matplotlib.pyplot as plt"),
        (library_breaches, "experiments/report.py", "from scipy import stats"),
        (jit_breaches, "el_jax/losses/x.py", "import jax\nf = jax.jit(g)"),
        (jit_breaches, "el_jax/losses/x.py", "from jax import jit"),
        (size_breaches, "el_jax/x.py", "x = 1\n" * 301),
        (size_breaches, "el_jax/x.py", LONG_FUNCTION),
        (signature_breaches, "el_jax/x.py", "def f() -> None: pass"),
        (signature_breaches, "el_jax/x.py", "def f(a) -> None:\n    '''What it does.'''"),
        (signature_breaches, "el_jax/x.py", "def f(*, a) -> None:\n    '''What it does.'''"),
        (signature_breaches, "el_jax/x.py", "def f(a: int):\n    '''What it does.'''"),
        (signature_breaches, "el_jax/x.py", "class A:\n    def f(self) -> None: pass"),
        (name_breaches, "el_jax/losses/utils.py", ""),
        (name_breaches, "el_jax/core/x.py", ""),
        (path_breaches, "README.md", "see `" + "/" + "home/someone/el_jax`"),
    ],
)
def test_a_breach_is_seen(check: Check, path: str, text: str):
    assert len(list(check(path, text))) == 1


@pytest.mark.parametrize(
    ("check", "path", "text"),
    [
        (layer_breaches, "el_jax/weighting/x.py", "from el_jax.losses import stats"),
        (layer_breaches, "el_jax/losses/x.py", "from .stats import token_stats"),
        (layer_breaches, "el_jax/losses/__init__.py", "from . import stats"),
        (layer_breaches, "el_jax/train.py", "from el_jax import __version__, build, launch"),
        (layer_breaches, "el_jax/__init__.py", "from el_jax.runtime import arithmetic"),
        (library_breaches, "el_jax/training/state.py", "from flax import struct\nimport flaxen"),
        (jit_breaches, "el_jax/training/step.py", "import jax\nf = jax.jit(g)"),
        (jit_breaches, "el_jax/linear_ntp/x.py", "import jax\nf = jax.jit(g)"),
        (size_breaches, "el_jax/x.py", LONG_FUNCTION.replace("    x = 1\n", "", 1)),
        (signature_breaches, "el_jax/x.py", "class A:\n    def _f(self): pass\ndef _g(a): pass"),
        (signature_breaches, "el_jax/x.py", "def _f():\n    def g(a): pass"),
        (path_breaches, "README.md", "https://host.org/home/x runs/home/x $HOME/tmp/x"),
    ],
)
def test_what_is_allowed_passes(check: Check, path: str, text: str):
    assert not list(check(path, text))
