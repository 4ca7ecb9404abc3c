"""The few rules of size, naming and documentation that every file keeps."""

import ast
import pathlib
import re
from collections.abc import Callable, Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[1]
# The caller compiles rooms of mathematics. linear_ntp compiles itself: its functions take whole
# problems, enter float64 and give NumPy arrays, so no caller could.
UNCOMPILED = ("losses", "worlds", "curvature", "tasks")
CALLERS = ("el_jax/curvature/conformance/",)  # commands in those rooms
MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 60
EMPTY_NAMES = {"utils", "util", "helpers", "misc", "core", "manager", "common_utils"}
# An absolute path on somebody's machine; an address such as https://host/home/ does not count.
MACHINE_PATH = re.compile(r"(?<![\w.:/}])/(?:home|Users|root|work|mnt|scratch|tmp|content)/\w")


def jit_breaches(path: str, text: str) -> Iterator[str]:
    if path.split("/")[1] not in UNCOMPILED or path.startswith(CALLERS):
        return
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        for name in {"jit", "pmap"} & set(names):
            yield f"{path}:{node.lineno}: {name} in the mathematics; leave it to the caller"


def functions(text: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its dotted name; a private part in a name marks it as internal."""

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
# Each check with the folders that it applies to.
CHECKS: dict[Check, tuple[str, ...]] = {
    jit_breaches: ("el_jax",),
    size_breaches: ("el_jax",),
    signature_breaches: ("el_jax",),
    name_breaches: CODE,
    path_breaches: (*CODE, "tests", ".ci"),
}


def files(check: Check) -> list[pathlib.Path]:
    """Every file that a check reads: Python files, or all texts for paths of one machine."""
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
