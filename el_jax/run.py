"""Read a workdir: its config, its metrics as a table, its parameters and its model.

    run = el_jax.load("runs/copy_e1")
    run.metrics.query("metric == 'test_hard_accuracy'").groupby("step").value.mean()
    params = run.params(seed=0)
    logits = run.model.apply(params, run.task.batch_at(run.task.train_set(), 0, jax.random.key(0)))

Running or interrupted trainings can be read as well; nothing is changed.
"""

import functools
import json
import math
import pathlib
import warnings
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from el_jax import build
from el_jax.checkpoint import CheckpointError
from el_jax.checkpoint_step import DamagedError, committed_steps, config_hash, describe, read_step
from el_jax.config.training import Config, Numbers, Settings, identity, parse
from el_jax.models.pretrained import is_pretrained, load_pretrained
from el_jax.process.errors import ConfigError, PretrainedError
from el_jax.process.imports import ImportedFileError, files_in, fingerprints
from el_jax.tasks import Task
from el_jax.training.program import Program, initial_state
from el_jax.training.sinks import History, read_rows
from el_jax.training.state import TrainState
from el_jax.types import ModelFns, Params

if TYPE_CHECKING:
    import pandas as pd

_FILES = ("config.json", "runs.json", "metrics.jsonl")


class SavedRun:
    """The files of a training, read from its workdir.

    Args:
        workdir: the folder.

    Attributes:
        workdir: the folder.
        config: the resolved config, as ``build.parse`` takes it.
        runs: seed and numbers of each run, in the order of every list of metrics.

    Raises:
        ConfigError: it is not a training's workdir, or belongs to another version of el_jax.
    """

    def __init__(self, workdir: str | pathlib.Path) -> None:
        self.workdir = pathlib.Path(workdir)
        if not self.workdir.is_dir():
            raise ConfigError(f"{self.workdir}: no such folder")
        missing = [name for name in _FILES if not (self.workdir / name).exists()]
        if missing:
            raise ConfigError(f"{self.workdir}: not the workdir of a training, has no {missing[0]}")
        self._resolved: dict[str, Any] = self._read("config.json")
        self.config = Config(self._resolved)
        runs: list[Numbers] = self._read("runs.json")
        self.runs: list[Numbers] = [{"seed": run["seed"], **run} for run in runs]

    def __repr__(self) -> str:
        return f"SavedRun({str(self.workdir)!r}: {len(self.runs)} runs, steps {self.steps})"

    @functools.cached_property
    def settings(self) -> Settings:
        """The config, checked.

        Raises:
            ConfigError: the config belongs to another version of el_jax.
            ImportedFileError: a user file, named by ``imports``, no longer exists.
        """
        config = self.workdir / "config.json"
        imports = ", ".join(map(str, self._resolved.get("imports", ())))
        try:
            return parse(self.config)
        except ImportedFileError as error:  # the config is right, but a user file is missing
            raise ImportedFileError(
                f"{error}; {config} says imports={imports}: put the file back there, or start in "
                "the folder from which it was trained"
            ) from error
        except ConfigError as error:
            own = f", or of {imports} as it is now" if imports else ""
            raise ConfigError(
                f"{config} is not of this version of el_jax{own} ({error}); environment.json names "
                "the commit that reads it"
            ) from error

    @property
    def task(self) -> Task:
        """The task that was trained on."""
        return self.settings.task

    @property
    def model(self) -> ModelFns:
        """The network as pure functions."""
        return build.make_spec(self.settings).objective.head.model

    @property
    def history(self) -> History:
        """Every row of metrics.jsonl.

        Raises:
            ConfigError: a line of it is no JSON.
        """
        path = self.workdir / "metrics.jsonl"
        try:
            return read_rows(path)
        except ValueError as error:
            raise ConfigError(f"{path}: damaged ({error})") from error

    @property
    def metrics(self) -> "pd.DataFrame":
        """Every measured number, one per line.

        Returns:
            Columns run, seed, the numbers in which runs may differ (``lam``, ``peak_lr``, ...),
            step, metric, value. A run stopped by a non-finite number has NaN.
        """
        import pandas as pd  # not at the top: a training starts without it

        history = self.history
        frames = [
            pd.DataFrame(
                {"run": range(len(self.runs)), "step": step, "metric": metric, "value": values}
            )
            for step, row in zip(history.steps, history.rows, strict=True)
            for metric, values in row.items()
        ]
        columns = ["run", "step", "metric", "value"]
        measured = pd.concat(frames) if frames else pd.DataFrame(columns=columns)
        runs = pd.DataFrame(self.runs).rename_axis("run").reset_index()
        order = [*runs.columns, "step", "metric", "value"]
        return measured.merge(runs, on="run")[order].reset_index(drop=True)

    @property
    def steps(self) -> list[int]:
        """Steps that have a checkpoint, oldest first."""
        return committed_steps(self.workdir / "checkpoints")

    def params(
        self, seed: int | float | None = None, step: int | None = None, **numbers: int | float
    ) -> Params:
        """Parameters of one run, from a checkpoint that is verified first.

        Args:
            seed: the run's seed; may be None if one run has the numbers.
            step: the checkpoint's step; None for the newest.
            **numbers: further numbers of the run, such as ``lam=2.0``, if a sweep has several runs
                with this seed.

        Returns:
            Those of the network; an objective on later tokens has its own under "future".

        Raises:
            ConfigError: there is no such run or step, or several such runs.
            CheckpointError: the checkpoint is damaged.
        """
        run = self._run(numbers if seed is None else {"seed": seed, **numbers})
        state = self._state(step)
        return jax.tree.map(lambda leaf: leaf[run], state.params)

    def params_for(self, num_runs: int) -> Params:
        """The newest parameters, to start another training from; every leaf ``[num_runs, ...]``.

        Each run of the other training gets the parameters of the run at the same index here; if
        there is only one run here, all get its parameters.

        Args:
            num_runs: number of runs of the other training.

        Raises:
            ConfigError: there is no checkpoint, or the numbers of runs do not match.
            CheckpointError: the checkpoint is damaged.
        """
        own = len(self.runs)
        if own not in (1, num_runs):
            raise ConfigError(
                f"{self.workdir}: has {own} runs, where one or {num_runs} can be started from"
            )
        params = self._state(None).params
        return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (num_runs, *leaf.shape[1:])), params)

    def _run(self, wanted: Numbers) -> int:
        unknown = [name for name in wanted if name not in self.runs[0]]
        if unknown:
            known = ", ".join(self.runs[0])
            raise ConfigError(f"{unknown[0]}: no number of these runs; they have {known}")
        found = [
            number
            for number, run in enumerate(self.runs)
            if all(_same(run[name], value) for name, value in wanted.items())
        ]
        if len(found) == 1:
            return found[0]
        shown = ", ".join(f"{name}={value:g}" for name, value in wanted.items()) or self.workdir
        among = [self.runs[number] for number in found] or self.runs
        raise ConfigError(f"{shown}: {len(found)} runs of {len(self.runs)}; choose from {among}")

    def _state(self, step: int | None) -> TrainState:
        steps = self.steps
        if not steps or step not in (None, *steps):
            raise ConfigError(f"step={step}: must be one of {steps} in {self.workdir}/checkpoints")
        step = steps[-1] if step is None else step
        folder = self.workdir.absolute() / "checkpoints" / str(step)  # orbax takes no other path
        spec = build.make_spec(self.settings)
        with jax.enable_x64(False):  # trainings are in float32, whatever their reader computes in
            target = jax.eval_shape(initial_state(spec), spec.hypers)
        try:
            state, about = read_step(folder, target, config_hash(identity(self._resolved)))
        except DamagedError as error:
            raise CheckpointError(f"{folder}: {error}") from error
        then, now = about["origin"].get("files"), fingerprints(files_in(self._resolved.get("task")))
        if then not in (None, now):
            warnings.warn(f"{folder}: trained on {then}, but now it is {now}", stacklevel=2)
        return state

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.workdir / name).read_bytes())
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.workdir / name}: damaged ({error})") from error


def _same(own: int | float, wanted: int | float) -> bool:
    """Equal, or for floats equal in nine digits."""
    return own == wanted if isinstance(own, int) else math.isclose(own, wanted)


def load(workdir: str | pathlib.Path) -> SavedRun:
    """Read a workdir; see ``SavedRun``."""
    return SavedRun(workdir)


def number_of(text: str) -> tuple[str, int | float]:
    """Name and value of ``NUMBER=VALUE``, the form in which a command line identifies a run.

    Raises:
        ValueError: the value is not a number.
    """
    name, _, value = text.partition("=")
    return name, int(value) if value.isdigit() else float(value)


def start_from(source: str, program: Program) -> TrainState:
    """Step 0 of a training, with given parameters.

    Args:
        source: a workdir, whose newest parameters are taken (see ``SavedRun.params_for``), or a
            Hugging Face folder or GGUF file, whose parameters all runs get.
        program: the training's program.

    Raises:
        ConfigError: there is no such source, its parameters have other names or shapes, or its runs
            do not match. Another activation, say, has the same shapes and is not noticed.
        CheckpointError: the workdir's checkpoint is damaged.
    """
    field = f"config.train.init_from={source!r}"
    try:
        params = _params_of(pathlib.Path(source), program.hypers.num_runs)
    except (ConfigError, PretrainedError) as error:
        raise ConfigError(f"{field}: {error}") from error
    needed, given = describe(jax.eval_shape(program.init).params), describe(params)
    for name in sorted(needed.keys() | given.keys()):
        if needed.get(name) != given.get(name):
            ours, theirs = (tree.get(name, "none") for tree in (needed, given))
            raise ConfigError(f"{field}: its {name} is {theirs}, where this model has {ours}")
    return program.init_from(params)


def _params_of(source: pathlib.Path, num_runs: int) -> Params:
    if not is_pretrained(source):
        return load(source).params_for(num_runs)
    _, params, _ = load_pretrained(source)
    return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (num_runs, *leaf.shape)), params)
