"""Models to measure: a training's checkpoints, or a published model with a text."""

import itertools
import pathlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from el_jax import build
from el_jax.config.measure import MeasureSettings
from el_jax.models import TransformerConfig
from el_jax.models.pretrained import digests, is_pretrained, load_exact
from el_jax.probes import Curvature, NotFiniteError
from el_jax.probes.curvature_report import Estimates, since
from el_jax.process.errors import ConfigError, DataError, UserError
from el_jax.run import SavedRun, load
from el_jax.tasks import Task
from el_jax.tasks.documents import read_text
from el_jax.tasks.text_windows import reading_windows
from el_jax.tokenizers import load_tokenizer, token_ids
from el_jax.types import Batch, ModelFns, Params


class Checkpoint(NamedTuple):
    """The parameters of a model at one step; all but ``read`` are None for a published model.

    Attributes:
        run: index in the training's list of runs.
        seed: the run's seed.
        step: the checkpoint's step.
        read: returns the parameters.
    """

    run: int | None
    seed: int | None
    step: int | None
    read: Callable[[], Params]

    def __str__(self) -> str:
        if self.run is None:
            return "published model"
        return f"run {self.run} (seed {self.seed}), step {self.step}"


class Subject(NamedTuple):
    """A model, its checkpoints, and the text that it is measured on.

    Attributes:
        task: the training's task; None for a published model.
        model: the model in float32, with twice-differentiable attention.
        batch: windows; each supervised position is a context.
        words: the name of those windows.
        checkpoints: in order; those of one run from the first step to the last.
        sha256: sums of the files with a published model's parameters, separated by spaces.
    """

    task: Task | None
    model: ModelFns
    batch: Batch
    words: str
    checkpoints: list[Checkpoint]
    sha256: str = ""


def subject_of(source: pathlib.Path, settings: MeasureSettings) -> Subject:
    """The model from a workdir, a Hugging Face folder or a GGUF file.

    Raises:
        ConfigError: there is no such run, step, split or text, or it does not fit the model.
        MissingPackageError: a package with the text or the tokenizer is not installed.
        PretrainedError: the published model or its tokenizer cannot be read.
    """
    return _published(source, settings) if is_pretrained(source) else _trained(source, settings)


def measure_each(
    subject: Subject, of: Callable[[Params], Curvature], lost: list[str]
) -> Iterator[tuple[Checkpoint, Curvature, Estimates]]:
    """Measure one checkpoint after another.

    Args:
        subject: the model.
        of: returns the curvature at parameters, see :func:`el_jax.probes.measurement`.
        lost: gets a line for each checkpoint whose loss is not finite; the others are measured.

    Returns:
        For each: the checkpoint, its curvature, and the changes since the previous checkpoint of
        the same run.
    """
    latest: dict[int | None, tuple[int | None, Estimates]] = {}
    for checkpoint in subject.checkpoints:
        try:
            curvature = of(checkpoint.read())
        except NotFiniteError as error:
            lost.append(f"{checkpoint}: {error}")
            continue
        changes: Estimates = {}
        if checkpoint.run in latest:
            changes = since(*latest[checkpoint.run], curvature.estimates)
        latest[checkpoint.run] = checkpoint.step, curvature.estimates
        yield checkpoint, curvature, changes


def _trained(workdir: pathlib.Path, settings: MeasureSettings) -> Subject:
    run = load(workdir)
    trained = build.checked(run.settings)  # its world or text may no longer exist
    checkpoints = [
        Checkpoint(number, int(numbers["seed"]), step, partial(run.params, step=step, **numbers))
        for number, step in _places(run, settings)
        for numbers in [run.runs[number]]
    ]
    return Subject(
        trained.task,
        build.model_of(trained, exact=True),
        build.split_of(trained, settings.split),
        settings.split,
        checkpoints,
    )


def _places(run: SavedRun, settings: MeasureSettings) -> list[tuple[int, int]]:
    """Run and step of each checkpoint, ordered by step and then by run."""
    known = range(len(run.runs))
    for number in settings.runs:
        if number not in known:
            raise ConfigError(f"config.runs={number}: must be in 0 .. {known[-1]}")
    if not run.steps:
        raise ConfigError(f"{run.workdir}: has no checkpoint yet")
    steps = settings.steps or run.steps[-1:]
    for step in steps:
        if step not in run.steps:
            raise ConfigError(f"config.steps={step}: must be among {run.steps}, of {run.workdir}")
    return [(number, step) for step, number in itertools.product(steps, settings.runs or known)]


def _published(source: pathlib.Path, settings: MeasureSettings) -> Subject:
    for name in ("steps", "runs"):
        if given := getattr(settings, name):
            raise ConfigError(f"config.{name}={given}: must be empty for a published model")
    model, params, config = load_exact(source)
    if not config.causal:
        raise ConfigError(f"{source}: must be a causal model: this one sees the next token")
    tokens = _tokens(source, settings, config)
    try:
        batch = reading_windows(tokens, settings.window)
    except ValueError as error:
        raise ConfigError(f"config.text={settings.text!r}: {error}") from error
    files = digests(source)
    print(*(f"{name}: SHA-256 {digest}" for name, digest in files.items()), sep="\n")
    checkpoint = Checkpoint(None, None, None, lambda: params)
    return Subject(None, model, batch, settings.text, [checkpoint], " ".join(files.values()))


def _tokens(
    source: pathlib.Path, settings: MeasureSettings, config: TransformerConfig
) -> Int[np.ndarray, " n"]:
    """The text as the model's tokens."""
    if config.position == "learned" and settings.window > config.max_length:
        allowed = f"at most {config.max_length}, the positions of {source}"
        raise ConfigError(f"config.window={settings.window}: must be {allowed}")
    try:
        text = read_text(settings.text)
    except UserError:
        raise  # its message says how to install the package
    except ValueError as error:
        raise ConfigError(f"config.text={settings.text!r}: {error}") from error
    tokenizer = load_tokenizer(source)
    try:
        tokens = np.array(token_ids(tokenizer, [text])[0], np.int32)
    except DataError as error:
        raise ConfigError(f"config.text={settings.text!r}: {error}") from error
    if tokens.size and tokens.max() >= config.vocab_size:
        raise ConfigError(
            f"{source}: its tokenizer has token {tokens.max()}, its model {config.vocab_size} of "
            "them: not of one model"
        )
    return tokens
