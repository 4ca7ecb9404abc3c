"""The commands in the READMEs run, and the targets of their links exist.

In each ```bash block, every `python -m` line must name a module that exists and flags it takes.
A block after `<!-- test: run -->` is executed in a copy of the repository, in which the block after
`<!-- test: file NAME -->` is the file of that name. The other ```python blocks of one README are
executed in order, in one namespace.
"""

import ast
import contextlib
import importlib.util
import io
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest.mock
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from el_jax.losses import TOKEN_LOSSES

ROOT = pathlib.Path(__file__).parents[1]
READMES = [
    *(
        ROOT / folder / "README.md"
        for folder in (
            *("", "configs", "el_jax", "el_jax/linear_ntp", "el_jax/process"),
            "el_jax/curvature/conformance",
        )
    ),
    *sorted((ROOT / "experiments").glob("**/README.md")),
]
OURS = {"el_jax", "experiments", "colab"}
SHELL = ("&", "|", ";", ">", "<")  # where a command ends
RUN_LIMIT = 600  # seconds for one executed block

FENCE = re.compile(
    r"^(?:<!-- test: (run|file \S+) -->\s*\n)?```(\w*)[^\n]*\n(.*?)^```", re.M | re.S
)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")

# Reads commands, one a line, and starts each as `python -m` does. The command ends once it has read
# its command line and, for the mains of el_jax, its config; the answer is the exit code and the
# errors. Each runs in a copy of a process that has made the common imports, which take seconds.
ONLY_PARSE = """
import argparse, json, os, runpy, signal, sys, tempfile
import experiments.bench.run, experiments.harness.report
from el_jax import build
from el_jax.process import launch

def checked(config):
    build.checked(build.parse(config))

def parse_arguments(*args, parse=argparse.ArgumentParser.parse_args, **kwargs):
    parse(*args, **kwargs)
    os._exit(0)  # without taking apart what it imported

def parse_config(main, names=None, **options):
    parse = main.__globals__.get("parse", checked)  # of a linear problem, or of a training
    parse(launch.command_line(sys.argv, **options)[0])
    os._exit(0)

def start(command, limit, told):
    signal.alarm(limit)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(told.fileno(), 2)
    argparse.ArgumentParser.parse_args = parse_arguments
    if command[0].startswith("el_jax."):
        launch.run = parse_config
    sys.argv[:] = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    sys.exit("ended without reading its command line")

for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as told:
        if not (child := os.fork()):
            start(json.loads(line), int(sys.argv[1]), told)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        print(json.dumps([code, told.read().strip()]), flush=True)
"""
PARSE_LIMIT = 300  # seconds for one command


class Block(NamedTuple):
    """One fenced block: its language, text, first line, and the words of its mark."""

    language: str
    text: str
    line: int
    mark: str

    @property
    def run(self) -> bool:
        """True for a block that a test executes in a copy of the repository."""
        return self.mark == "run"

    @property
    def file(self) -> str:
        """Name of the file that the block holds; empty if it holds none."""
        return self.mark.removeprefix("file ") if self.mark.startswith("file ") else ""


def blocks(readme: str) -> list[Block]:
    def block(match: re.Match[str]) -> Block:
        line = readme.count("\n", 0, match.start(3))
        return Block(match[2], match[3], line, match[1] or "")

    return [block(match) for match in FENCE.finditer(readme)]


def write_files(readme: str, folder: pathlib.Path) -> None:
    """Write the blocks that are files into a folder."""
    for block in blocks(readme):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)


def written_experiments() -> list[str]:
    """The experiments whose files are blocks of a README."""
    files = [pathlib.Path(b.file) for readme in READMES for b in blocks(readme.read_text())]
    return [file.parent.name for file in files if file.name == "run.py"]


def bash_lines(readme: str) -> list[list[str]]:
    """The lines of the bash blocks as words, comments gone and continued lines joined."""
    texts = [block.text for block in blocks(readme) if block.language == "bash"]
    lines = "".join(texts).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines]


def commands(readme: str) -> list[list[str]]:
    """The `python -m` lines, each as [module, argument, ...]."""
    found = []
    for words in bash_lines(readme):
        for start, (program, option) in enumerate(itertools.pairwise(words)):
            if re.fullmatch(r"(.*/)?python[\d.]*", program) and option == "-m":
                rest = words[start + 2 :]
                ours = itertools.takewhile(lambda word: not word.startswith(SHELL), rest)
                found.append(list(ours))
    return found


def scripts(readme: str) -> list[str]:
    """The files that lines such as `bash tests/run.sh` start."""
    return [words[1] for words in bash_lines(readme) if words[:1] == ["bash"] and words[1:]]


Parser = subprocess.Popen[str]


def fault_of_command(command: list[str], parser: Parser) -> str:
    """The fault of one `python -m` line; an empty string if there is none."""
    module, *arguments = command
    try:
        exists = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        exists = None
    if not exists:
        return f"there is no module {module}"
    if module.split(".")[0] not in OURS:
        return ""
    for argument in arguments:
        config = re.match(r"--config=([^:]+)", argument)
        if config and not (ROOT / config[1]).is_file():
            return f"there is no config file {config[1]}"
    if module == "experiments" and arguments[:1] == ["run"]:
        names = [argument for argument in arguments[1:] if not argument.startswith("-")]
        folders = [path.parent.name for path in (ROOT / "experiments").glob("*/run.py")]
        if names and names[0] not in folders + written_experiments():
            return f"there is no experiment {names[0]}"
    print(json.dumps(command), file=parser.stdin, flush=True)
    code, errors = json.loads(parser.stdout.readline())
    return (errors or f"exit code {code}")[-2000:] if code else ""


def anchors(readme: str) -> set[str]:
    """The addresses of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", readme), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(readme: str, folder: pathlib.Path) -> list[str]:
    """Relative links and images that lead nowhere; addresses on the web are not checked."""
    broken = []
    for match in LINK.finditer(FENCE.sub("", readme)):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = readme
        if path:
            if not (folder / path).exists():
                broken.append(target)
                continue
            page = (folder / path).read_text() if path.endswith(".md") else ""
        if anchor and page and anchor not in anchors(page):
            broken.append(target)
    return broken


def shown(comment: str) -> float | tuple | None:
    """The value a comment such as `# 1.32` or `# (8, 1)` gives; None for one in words."""
    try:
        return ast.literal_eval(comment)
    except (ValueError, SyntaxError):
        return None


def is_shown(printed: str, comment: str) -> bool:
    """True if the printed text equals the comment's value, to the digits that the comment gives."""
    value = shown(comment)
    if not isinstance(value, float):
        return printed == repr(value)
    (number,) = re.findall(r"[-+.\de]+", printed)
    digits = len(comment.partition(".")[2])
    return f"{float(number):.{digits}f}" == comment


def run_statements(text: str, name: str, namespace: dict) -> None:
    """Runs a block; a line `print(...)  # VALUE` must print that value."""
    for statement in ast.parse(text).body:
        code = compile(ast.Module([statement], []), name, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        _, _, comment = text.splitlines()[statement.end_lineno - 1].partition("  # ")
        if comment and shown(comment) is not None:
            line = f"{name}:{statement.end_lineno}"
            assert is_shown(printed.getvalue().strip(), comment), f"{line}: {printed.getvalue()}"


def execute(readme: str, name: str) -> None:
    """Runs the python blocks in one namespace; a print must give the value in its comment."""
    namespace = {"__name__": "__main__"}
    for block in blocks(readme):
        if block.language == "python" and not block.file:
            lines_before = "\n" * block.line  # so that a traceback names the line of the README
            run_statements(lines_before + block.text, name, namespace)


@pytest.fixture
def copy_of_root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the repository, so that the files a block writes stay out of the repository."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "runs", ".*_cache", ".hypothesis", "__pycache__"
    )
    copy = pathlib.Path(shutil.copytree(ROOT, tmp_path / "el_jax", ignore=ignored))
    if (ROOT / ".venv").exists():
        (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """The process that reads command lines."""
    with subprocess.Popen(
        [sys.executable, "-c", ONLY_PARSE, str(PARSE_LIMIT)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def relative(readme: pathlib.Path) -> str:
    return readme.relative_to(ROOT).as_posix()


EVERY_COMMAND = sorted({shlex.join(c) for readme in READMES for c in commands(readme.read_text())})
EVERY_RUN = [  # by default those of the first page and of the first recipe
    pytest.param(
        readme,
        block.text,
        id=f"{relative(readme)}:{block.line}",
        marks=[pytest.mark.slow] * (readme != ROOT / "README.md" and "my_loss" not in block.text),
    )
    for readme in READMES
    for block in blocks(readme.read_text())
    if block.run
]
WITH_PYTHON = [
    readme
    for readme in READMES
    if any(b.language == "python" and not b.file for b in blocks(readme.read_text()))
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with all files that READMEs write."""
    folder = tmp_path_factory.mktemp("files")
    for readme in READMES:
        write_files(readme.read_text(), folder)
    return folder


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_command_is_understood(command: str, files: pathlib.Path, parser: Parser):
    own = [f"--import={file.name}" for file in files.iterdir()]
    own += [f"--config={file.name}" for file in files.iterdir()]
    words = shlex.split(command)
    here = [word.replace("=", f"={files}{os.sep}") if word in own else word for word in words]
    assert not (fault := fault_of_command(here, parser)), fault


@pytest.mark.parametrize(("readme", "script"), EVERY_RUN)
def test_marked_block_runs(readme: pathlib.Path, script: str, copy_of_root: pathlib.Path):
    write_files(readme.read_text(), copy_of_root)
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=copy_of_root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("readme", WITH_PYTHON, ids=relative)
def test_python_blocks_run(readme: pathlib.Path, copy_of_root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(copy_of_root)
    with unittest.mock.patch.dict(TOKEN_LOSSES):  # a page may add one
        execute(readme.read_text(), relative(readme))


def test_links_and_scripts_lead_somewhere():
    for readme in READMES:
        text = readme.read_text()
        assert not broken_links(text, readme.parent), readme
        assert not [name for name in scripts(text) if not (ROOT / name).is_file()], readme
