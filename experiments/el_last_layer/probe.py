"""Last layers fitted anew on the features of a trained network, and their answers.

The experiment's runs import this file; their config names it.
"""

import dataclasses

import jax
import numpy as np
from jaxtyping import Float, Int

from el_jax.linear_ntp import NTPProblem, max_margin
from el_jax.linear_ntp.theory.norms import logit_margin
from el_jax.probes import PROBES
from el_jax.probes.linear_probe import logistic_regression
from el_jax.probes.over_runs import over_runs_on_host
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy, Task
from el_jax.types import Batch, ModelFns, Params, Probe, Readout

FRESH, TESTED = 4_000, 4_000  # strings to fit on, and to test on
L2, GAP = 1e-3, 1e-4  # penalty of the logistic regression; largest distance of a fit from the best
ASKED = {"hard": "hard_accuracy", "swap": "copies"}  # a set, and the name of the share right on it

Features = Float[np.ndarray, "n E"]
Labels = Int[np.ndarray, " n"]
Kernel = Float[np.ndarray, "E V"]


def last_layer(task: Task, model: ModelFns) -> Probe:
    """Probe ``DECODER_hard_accuracy`` and ``DECODER_copies`` for last layers on fixed features.

    Features are the inputs of the network's last layer. The first number is the accuracy on unseen
    hard strings, the second the share of a swap set that is copied. The decoders:

    - ``own``: the network's own layer;
    - ``max_margin``: the layer with the largest margin on the training strings, in the Frobenius
      norm; NaN if the network errs on one of them, since they may then not be separable;
    - ``least_squares`` on them, (Y - 1/V) H⁺, toward which E-losses lead in a linear model;
    - ``fresh``: logistic regression on other hard strings, whose padding is uninformative.

    ``margin_share`` is the least margin of the network's own layer on the training strings, divided
    by the largest that a layer of its norm can have. ``within_share`` is the within-letter share of
    the features' variance over training strings.

    Raises:
        ValueError: the task is not the copy task with answers of one letter, or the model's
            logits are not a product of features and a last layer.
    """
    if not isinstance(task, PaddedCopy) or task.copy_length != 1:
        raise ValueError("needs the copy task with copy_length=1")
    readout = model.readout
    if readout is None:
        raise ValueError("needs a model whose logits are features times a last layer")

    def draw() -> dict[str, Batch]:
        hard = dataclasses.replace(task, easy_fraction=0.0).test_set(FRESH + TESTED)
        drawn = {"train": task.train_set(), "hard": hard, "swap": task.swap_set(TESTED)[0]}
        return {name: task.pack(strings) for name, strings in drawn.items()}

    batches, read = Once(draw)(), jax.jit(readout)
    labels = {name: np.asarray(batch.labels).ravel() for name, batch in batches.items()}

    def of_run(params: Params) -> dict[str, float]:
        parts = {name: read(params, batch) for name, batch in batches.items()}
        hidden = {name: features(part)[0] for name, part in parts.items()}
        train, right, own = hidden["train"], labels["train"], features(parts["train"])[1]
        decoders = {"own": own, "least_squares": least_squares(train, right, task.vocab_size)}
        margin = least_margin(own, train, right)
        widest = max_margin_kernel(train, right, task.vocab_size) if margin > 0 else own * np.nan
        decoders["max_margin"] = widest
        fresh = logistic_regression(
            hidden["hard"][:FRESH], labels["hard"][:FRESH], task.vocab_size, l2=L2, tolerance=GAP
        )
        found = {"within_share": within_share(train, right)}
        found["margin_share"] = margin / least_margin(widest, train, right)
        for name, metric in ASKED.items():
            asked, answers = hidden[name][-TESTED:], labels[name][-TESTED:]
            found[f"fresh_{metric}"] = (fresh.predict(asked) == answers).mean()
            for of, kernel in decoders.items():
                share = ((asked @ kernel).argmax(1) == answers).mean()
                found[f"{of}_{metric}"] = share if np.isfinite(kernel).all() else np.nan
        return found

    return over_runs_on_host(of_run)


def features(part: Readout) -> tuple[Features, Kernel]:
    """The last layer's inputs, and its kernel."""
    head = np.asarray(part.head, np.float64)
    return np.asarray(part.hidden, np.float64).reshape(-1, len(head)), head


def max_margin_kernel(hidden: Features, labels: Labels, vocab: int) -> Kernel:
    """The max-margin decoder of separable examples."""
    shares = np.full(len(labels), 1 / len(labels))
    return max_margin(NTPProblem(hidden.T, shares, np.eye(vocab)[labels].T), tolerance=GAP).w.T


def least_squares(hidden: Features, labels: Labels, vocab: int) -> Kernel:
    """The decoder nearest to equal margins, in least squares."""
    return np.linalg.lstsq(hidden, np.eye(vocab)[labels] - 1 / vocab)[0]


def least_margin(kernel: Kernel, hidden: Features, labels: Labels) -> float:
    """The least margin over examples, for a kernel of norm 1 whose rows have mean 0."""
    kernel = kernel - kernel.mean(1, keepdims=True)
    logits = (hidden @ kernel / np.linalg.norm(kernel)).T
    support = np.arange(len(logits))[:, None] == labels
    return float(logit_margin(logits, support).margin.min())


def within_share(hidden: Features, labels: Labels) -> float:
    """The within-class share of the features' variance; 0 if each class has a single vector."""
    means = np.stack([hidden[labels == label].mean(0) for label in labels])
    return float(np.square(hidden - means).sum() / np.square(hidden - hidden.mean(0)).sum())


PROBES["last_layer"] = last_layer
