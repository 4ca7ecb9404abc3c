"""From a command line to a checked config and a workdir that explains itself."""

import inspect
import json
import os
import pathlib
import runpy
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import jax
from absl import flags
from ml_collections import ConfigDict, config_flags

from el_jax import distributed, environment
from el_jax.training.fit import NonFiniteError, Stopped
from el_jax.typed_config import ConfigError, unknown_key

_CONFIG = config_flags.DEFINE_config_file(
    "config", None, "Config file, with an argument after a colon.", lock_config=True
)
_WORKDIR = flags.DEFINE_string(
    "workdir", None, "Folder of the run; training again in it resumes. Made if missing."
)

# exit codes; a run that a signal stopped has 128 + its number, as in a shell
USAGE_ERROR = 2  # a command line or config that cannot be run
NOT_FINITE = 3  # a training that met a NaN or an infinity


def command_line(argv: Sequence[str]) -> tuple[ConfigDict, pathlib.Path]:
    """Read ``--config`` (with its overrides) and ``--workdir``.

    Raises:
        ConfigError: one line saying which flag or key is wrong and what is allowed.
    """
    try:
        rest = flags.FLAGS(list(argv))
        config = _CONFIG.value
        if config is not None:
            len(config)  # a file that could not be loaded raises on its first use
    except (flags.Error, AttributeError, KeyError, TypeError, ValueError, OSError) as error:
        raise _one_line(argv, error) from error
    if len(rest) > 1:
        raise ConfigError(f"{rest[1]!r}: unexpected; give --config=FILE and --workdir=FOLDER")
    if config is None:
        raise ConfigError("--config: missing; for example --config=configs/el/copy.py:smoke")
    if not _WORKDIR.value:
        raise ConfigError("--workdir: missing; the folder for metrics and checkpoints")
    return config, pathlib.Path(_WORKDIR.value)


def _one_line(argv: Sequence[str], error: Exception) -> ConfigError:
    """What the flag parser meant, without its traceback."""
    text = str(error).strip()
    wrong = _unknown_override(argv)
    if wrong is not None:
        return wrong
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "Traceback" in text:  # get_config raised: its own message is the last line
        return ConfigError(lines[-1].partition(": ")[2] or lines[-1])
    flag, _, why = (lines or [type(error).__name__])[0].removeprefix("flag --").partition(": ")
    name, _, value = flag.partition("=")
    return ConfigError(f"{name}={value!r}: {why}" if value and why else (lines or [flag])[0])


def _config_file(given: Sequence[str]) -> str | None:
    """What follows ``config=``, or ``config`` as an argument of its own."""
    for item, following in zip(given, [*given[1:], ""], strict=True):
        flag, equals, value = item.partition("=")
        if flag == "config":
            return value if equals else following
    return None


def _unknown_override(argv: Sequence[str]) -> ConfigError | None:
    """The error for a missing config file or the first ``--config.a.b`` that it does not have."""
    given = [item.lstrip("-") for item in argv]
    file = _config_file(given)
    if file is None:
        return None
    path, _, argument = file.partition(":")
    if not pathlib.Path(path).is_file():
        return ConfigError(f"--config={file!r}: there is no such file")
    try:
        config = runpy.run_path(path)["get_config"](argument or None)
    except Exception:  # whatever a config file may raise, the first error tells it
        return None
    for override in (item for item in given if item.startswith("config.")):
        keys = override.partition("=")[0].split(".")[1:]
        node: Any = config
        for depth, key in enumerate(keys, 1):
            known = node if isinstance(node, ConfigDict) else ConfigDict()
            if key not in known:
                return unknown_key(".".join(keys[:depth]), known)
            node = node[key]
    return None


def use_compilation_cache() -> None:
    """Keep compiled programs in the user's cache folder, so that a second start is quick.

    ``JAX_COMPILATION_CACHE_DIR`` moves it, or switches it off when set to nothing.
    """
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(home / "el_jax" / "xla"))
    jax.config.update("jax_compilation_cache_dir", folder or None)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def _exit_with(error: Exception, code: int) -> None:
    """Print one line on standard error and leave."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(code)


def _flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        flat |= _flatten(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat


def config_differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Dotted keys at which two configs differ, each as ``key: old -> new``."""
    a, b = _flatten(old), _flatten(new)
    keys = sorted(k for k in a.keys() | b.keys() if a.get(k) != b.get(k))
    return [f"{k}: {a.get(k, 'absent')!r} -> {b.get(k, 'absent')!r}" for k in keys]


def _environment(argv: Sequence[str]) -> dict[str, Any]:
    commit, dirty = environment.checkout_state()
    return {
        "command": " ".join(argv),
        "commit": commit,
        "dirty": dirty,
        "hardware": environment.hardware(),
        "versions": environment.versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def open_workdir(
    workdir: pathlib.Path,
    config: ConfigDict,
    runs: Sequence[dict[str, int | float]],
    argv: Sequence[str],
) -> None:
    """Make the workdir, or check that it belongs to this config.

    Writes config.json (resolved), runs.json (seed and numbers of each run, in the order of every
    list in metrics.jsonl) and environment.json.

    Raises:
        ConfigError: the workdir was made with another config; the message lists the keys.
    """
    resolved = json.loads(config.to_json_best_effort())
    path = workdir / "config.json"
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        if path.exists():
            different = config_differences(json.loads(path.read_text()), resolved)
            if different:
                raise ConfigError(
                    f"--workdir={workdir} holds a run with another config "
                    f"({'; '.join(different)}); use another workdir"
                )
        write_json(path, resolved)
        write_json(workdir / "runs.json", list(runs))
        write_json(workdir / "environment.json", _environment(argv))
    except OSError as error:
        raise ConfigError(f"--workdir={workdir}: cannot be written ({error.strerror})") from error


def write_json(path: pathlib.Path, value: Any) -> None:
    """Write readable JSON, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    temporary.replace(path)


def run(
    main: Callable[[ConfigDict, pathlib.Path], None], argv: Sequence[str] | None = None
) -> None:
    """Call ``main(config, workdir)``; what ends it early is one line and an exit code.

    With ``--help``, print the documentation of main's module instead.
    """
    given = sys.argv if argv is None else argv
    if {"-h", "--help"} & set(given):
        print(inspect.getdoc(inspect.getmodule(main)))
        return
    use_compilation_cache()
    try:
        config, workdir = command_line(given)
        distributed.start()
        main(config, workdir)
    except ConfigError as error:
        _exit_with(error, USAGE_ERROR)
    except NonFiniteError as error:
        _exit_with(error, NOT_FINITE)
    except Stopped as stopped:
        _exit_with(stopped, 128 + stopped.signum)
