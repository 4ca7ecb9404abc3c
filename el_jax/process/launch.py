"""Turn a command line into a config, and an error into one line and an exit code."""

import difflib
import inspect
import logging
import os
import pathlib
import runpy
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
from absl import flags
from ml_collections import ConfigDict, config_flags

from el_jax.process import distributed
from el_jax.process.compilation import use_compilation_cache
from el_jax.process.errors import (
    ConfigError,
    NotEnoughMemoryError,
    describe,
    exit_code,
    is_out_of_memory,
    place_of,
    unknown_key,
)
from el_jax.process.imports import import_all

_WORKDIR = flags.DEFINE_string(
    "workdir", None, "Folder of the run; training again in it resumes. Made if missing."
)

EXAMPLE = "configs/el/copy.py:smoke"
_FLAGS = ("config", "workdir", "import")
_MAX_MESSAGE = 2_000  # characters; XLA's on memory may have thousands of lines


def command_line(
    argv: Sequence[str], *, needs_workdir: bool = True, config: str = "", example: str = EXAMPLE
) -> tuple[ConfigDict, pathlib.Path | None]:
    """Read ``--config`` (with its overrides) and ``--workdir``, which is None if not given.

    Args:
        argv: the command line.
        needs_workdir: True to refuse a command line without ``--workdir``.
        config: the default config file; if empty, one must be given.
        example: a config file to name in the message if it is missing.

    Raises:
        ConfigError: one line that names the wrong flag or key and the allowed values.
    """
    file, imports, rest = _config_file(argv, config, example)
    import_all(imports)
    loaded = _load(file)
    if imports:
        loaded.imports = imports
    _check_overrides(rest, loaded)
    known = flags.FlagValues()
    known.append_flag_values(flags.FLAGS)
    try:
        holder = config_flags.DEFINE_config_dict(
            "config", loaded, lock_config=True, flag_values=known, sys_argv=rest
        )
        unread = known(rest)
        flags.FLAGS.mark_as_parsed()
        loaded = holder.value
    except (flags.Error, AttributeError, KeyError, TypeError, ValueError, OSError) as error:
        raise _flag_error(error) from error
    if len(unread) > 1:
        raise ConfigError(f"{unread[1]!r}: unexpected; give --config=FILE and --workdir=FOLDER")
    if needs_workdir and not _WORKDIR.value:
        raise ConfigError("--workdir: missing; the folder for metrics and checkpoints")
    return loaded, pathlib.Path(_WORKDIR.value) if _WORKDIR.value else None


def _flag_error(error: Exception) -> ConfigError:
    """The flag parser's error as one line."""
    lines = [line.removeprefix("ERROR:: ").strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line]
    flag, _, why = (lines or [type(error).__name__])[0].removeprefix("flag --").partition(": ")
    name, _, value = flag.partition("=")
    for words, kind in (("invalid literal for int", "an integer"), ("to float", "a number")):
        why = f"must be {kind}" if words in why else why
    return ConfigError(f"{name}={value!r}: {why}" if value and why else (lines or [flag])[0])


def _config_file(
    argv: Sequence[str], default: str, example: str
) -> tuple[str, tuple[str, ...], list[str]]:
    """The value of ``--config``, the values of ``--import``, and the other arguments.

    Raises:
        ConfigError: ``--config`` is missing, empty, or given twice.
    """
    given: dict[str, list[str]] = {"config": [], "import": []}
    rest, items = [], iter(argv)
    for item in items:
        flag, equals, value = item.lstrip("-").partition("=")
        if flag in given and item.startswith("-"):
            given[flag].append(value if equals else next(items, ""))
        else:
            rest.append(item)
    files = given["config"]
    if len(files) > 1:
        raise ConfigError("--config: given twice; --config.KEY=VALUE overrides one key of a config")
    files = files or [default]
    if not files[0]:
        misspelt = [f"--{flag}" for item in rest if (flag := item.lstrip("-").partition("=")[0])]
        for flag in misspelt:
            close = difflib.get_close_matches(flag, [f"--{name}" for name in _FLAGS], n=1)
            if close and flag not in close:
                raise ConfigError(f"{flag}: unknown flag; did you mean {close[0]}?")
        raise ConfigError(f"--config: missing; for example --config={example}")
    return files[0], tuple(given["import"]), rest


def _load(file: str) -> ConfigDict:
    """Load the config of ``FILE:ARGUMENT``.

    Raises:
        ConfigError: the file is missing, or it returns no config.
    """
    path, _, argument = file.partition(":")
    if not os.path.isfile(path):
        known = [str(path) for path in pathlib.Path("configs").rglob("*.py")]
        by_name = {pathlib.Path(name).name: name for name in known}
        close = difflib.get_close_matches(path, known, n=1, cutoff=0.8)
        near = difflib.get_close_matches(pathlib.Path(path).name, by_name, n=1)
        close = close or [by_name[name] for name in near]
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"--config={file!r}: there is no such file in {pathlib.Path.cwd()}{hint}")
    try:
        get_config = runpy.run_path(path).get("get_config")
        if get_config is None:
            raise ValueError("has no function get_config, which returns the config")
        config = get_config(argument) if argument else get_config()
    except (Exception, SystemExit) as error:  # a config file may raise anything
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        where = place_of(error, path) if kind else ""
        raise ConfigError(f"--config={file!r}: {kind}{error}{where}") from error
    if not isinstance(config, ConfigDict):
        raise ConfigError(f"--config={file!r}: its get_config must return a ConfigDict")
    return config


def _check_overrides(argv: Sequence[str], config: ConfigDict) -> None:
    """Refuse the first ``--config.a.b`` whose key is not in the config.

    Raises:
        ConfigError: names the key, and the known keys.
    """
    for item in argv:
        flag = item.lstrip("-").partition("=")[0]
        keys = flag.split(".")[1:] if flag.startswith("config.") else []
        node: Any = config
        for depth, key in enumerate(keys, 1):
            known = node if isinstance(node, ConfigDict) else ConfigDict()
            if key not in known:
                raise unknown_key(".".join(keys[:depth]), known)
            node = node[key]


def _end(error: Exception) -> NoReturn:
    """Leave with one line on standard error and an exit code, or with a traceback."""
    if is_out_of_memory(error):
        error = NotEnoughMemoryError(f"memory: there is no more ({error})")
    code = exit_code(error)
    if code is None and not jax.distributed.is_initialized():
        raise error
    if code is None:
        traceback.print_exception(error)
    else:
        line = textwrap.shorten(f"error: {describe(error)}", _MAX_MESSAGE, placeholder=" ...")
        print(line, file=sys.stderr)
    if jax.distributed.is_initialized():
        distributed.leave(code or 1)
    sys.exit(code)


def run(
    main: Callable[[ConfigDict, Any], None],
    argv: Sequence[str] | None = None,
    names: Callable[[], str] = str,
    *,
    needs_workdir: bool = True,
    config: str = "",
    example: str = EXAMPLE,
) -> None:
    """Call ``main(config, workdir)``; expected errors end in one line and an exit code.

    With ``--help``, print the documentation of main's module and the known ``names()`` instead. If
    no workdir is given and none is needed, ``main`` gets None. ``config`` and ``example`` are as
    for :func:`command_line`.
    """
    given = sys.argv if argv is None else argv
    if {"-h", "--help"} & set(given):
        print(inspect.getdoc(inspect.getmodule(main)), names(), sep="\n\n")
        return
    use_compilation_cache()
    for library in ("absl", "asyncio"):  # orbax also raises the errors it logs there
        logging.getLogger(library).setLevel(logging.CRITICAL)
    try:
        loaded, workdir = command_line(
            given, needs_workdir=needs_workdir, config=config, example=example
        )
        distributed.start()
        main(loaded, workdir)
    except Exception as error:
        _end(error)
    except KeyboardInterrupt:  # before the training listens for signals
        sys.exit(128 + signal.SIGINT)
