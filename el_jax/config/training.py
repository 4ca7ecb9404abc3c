"""Turn a config into settings; string names are read only here.

No world is made, no text or file of a task is read, and nothing is traced; see ``el_jax.checks``.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ml_collections import ConfigDict

from el_jax.config.methods import Choice, Numbers, read_method
from el_jax.config.models import ModelChoice, parse_model
from el_jax.config.runs import RunNumbers, parse_runs
from el_jax.config.sections import (
    check_keys,
    choose,
    keys_and_values,
    section,
    typed,
    values_of,
)
from el_jax.config.tasks import parse_task
from el_jax.probes import PROBES
from el_jax.process.errors import ConfigError, require
from el_jax.process.imports import import_all
from el_jax.tasks import Task
from el_jax.training.fit import FitOptions
from el_jax.training.layout import Method, Shard
from el_jax.training.objectives.adversary import Adversary
from el_jax.training.optimizers import OptimizerConfig
from el_jax.training.runs import RunAxis
from el_jax.training.trackers import TRACKERS

Config: TypeAlias = ConfigDict  # the result of a config file
SECTIONS = ("seed", "parallel", "task", "loss", "model", "optim", "train", "eval", "sweep")
_LATER = {"stop_at_ce": 0.0}  # keys that workdirs of earlier versions lack
METHODS: dict[str, Method] = {"jit": "jit", "pmap": "pmap"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSection(FitOptions):
    """The train section of a config; see configs/el/copy.py for the meaning of each key."""

    seeds: int
    run_axis: RunAxis
    max_runs_at_once: int
    shard: Shard
    eval_tokens: int
    eval_last: tuple[str, ...]
    probes: tuple[str, ...]
    keep_checkpoints: int
    init_from: str
    tracker: str
    profile: tuple[int, ...]
    stop_at_ce: float

    def __post_init__(self) -> None:
        for name in ("seeds", "eval_tokens"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("max_runs_at_once", "keep_checkpoints"):
            require(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        require("stop_at_ce", self.stop_at_ce, self.stop_at_ce >= 0, "at least 0")
        span = self.profile
        rising = len(span) == 2 and 0 < span[0] < span[1]
        require("profile", span, not span or rising, "empty, or two rising updates")
        super().__post_init__()
        every = self.log_every  # a trace begins with the first row in its span
        begun = not span or -(-span[0] // every) * every < min(span[1], self.num_updates)
        within = f"log_every={every} below its end and num_updates={self.num_updates}"
        require("profile", span, begun, f"empty, or hold a multiple of {within}")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Validated settings; no data are read or drawn yet.

    Attributes:
        task: the task.
        model: the network's name and numbers.
        loss: the token loss; its numbers belong to each run.
        optimizer: the optimizer options that all runs share.
        train: the train section.
        evaluations: split name -> number of test examples.
        runs: the numbers of each run.
        parallel: the transformation that spreads a training over devices.
        imports: files and modules of the user that were executed first.
        adversary: the optional section for a term against a downstream label.
        future: the optional section for an objective on later tokens.
        weighting: the optional section for weights by loss.
    """

    task: Task
    model: ModelChoice
    loss: Choice
    optimizer: OptimizerConfig
    train: TrainSection
    evaluations: dict[str, int]
    runs: tuple[RunNumbers, ...]
    parallel: Method
    imports: tuple[str, ...] = ()
    adversary: Adversary | None = None
    future: Choice | None = None
    weighting: Choice | None = None

    @property
    def rows(self) -> tuple[Numbers, ...]:
        """Seed and numbers of each run, by name; see ``RunNumbers.row``."""
        return tuple(run.row() for run in self.runs)

    @property
    def model_config(self) -> Any:
        """See ``ModelChoice.config_for``; makes the task's world or reads its text."""
        return self.model.config_for(self.task)


def parse(config: Config) -> Settings:
    """Read and check a config."""
    values = values_of(config, "task")
    given = {"imports": values.pop("imports", ())}
    imports = typed("", given, {"imports": tuple[str, ...]})["imports"]
    import_all(imports)
    further = {name: values.pop(name, None) for name in ("adversary", "future", "weighting")}
    if isinstance(values.get("train"), Mapping):
        values["train"] = _LATER | values["train"]
    check_keys("", values, SECTIONS)
    task = parse_task(values["task"])
    train = section("train", values["train"], TrainSection)
    loss, optimizer = (read_method(name, values[name]) for name in ("loss", "optim"))
    runs = parse_runs(values, train.seeds, loss, optimizer)
    _check_warmup(runs, train)
    evaluations = _evaluations(values["eval"])
    for name in train.eval_last:
        choose("train.eval_last", name, evaluations)
    for name in train.probes:
        choose("train.probes", name, PROBES)
    if train.tracker:
        choose("train.tracker", train.tracker, dict.fromkeys(TRACKERS))
    against, ahead, weighting = further.values()
    return Settings(
        task=task,
        model=parse_model(values["model"], labels_follow=task.labels_follow),
        loss=loss,
        optimizer=_optimizer(optimizer, train.num_updates, runs[0]),
        train=train,
        evaluations=evaluations,
        runs=runs,
        parallel=choose("parallel", values["parallel"], METHODS),
        imports=imports,
        adversary=None if against is None else section("adversary", against, Adversary),
        future=None if ahead is None else read_method("future", ahead),
        weighting=None if weighting is None else read_method("weighting", weighting),
    )


def _optimizer(optimizer: Choice, num_updates: int, run: RunNumbers) -> OptimizerConfig:
    """The options of all runs: every number except those that belong to single runs."""
    alike = {name: value for name, value in optimizer.numbers.items() if name not in run.optimizer}
    return OptimizerConfig(optimizer.name, num_updates, optimizer.shared["schedule"], alike)


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved config without what a resumed run may change.

    That is its length at a constant rate, and the number of runs at once, here always 0, since a
    run may go on with less memory. Keys that came later and have their default are left out, too.

    Args:
        config: the config as plain values.
    """
    train, optim = config.get("train"), config.get("optim")
    if not isinstance(train, dict) or not isinstance(optim, dict):
        return dict(config)
    free = {"num_updates"} if optim.get("schedule") == "constant" else set()
    free |= {key for key, value in _LATER.items() if train.get(key) == value}
    kept = {key: value for key, value in train.items() if key not in free}
    if "max_runs_at_once" in kept:
        kept["max_runs_at_once"] = 0
    return {**config, "train": kept}


def _check_warmup(runs: tuple[RunNumbers, ...], train: TrainSection) -> None:
    longest = max(run.optimizer["warmup_steps"] for run in runs)
    if longest > train.num_updates:
        raise ConfigError(
            f"config.optim.warmup_steps={longest}: must be at most "
            f"train.num_updates={train.num_updates}"
        )


def _evaluations(values: Any) -> dict[str, int]:
    """Number of test examples of each split."""
    sizes = keys_and_values("eval", values)
    for name, num in sizes.items():
        if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in ("train", "batch"):
            raise ConfigError(
                f"config.eval.{name}: must be a name of small letters, digits and _, and not train "
                "or batch"
            )
        if type(num) is not int or not 1 <= num < 2**31:
            raise ConfigError(f"config.eval.{name}={num!r}: must be an integer, at least 1")
    return sizes
