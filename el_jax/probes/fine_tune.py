"""The accuracy of a pre-trained model that is trained on for a label, with all its parameters.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) fine-tune a linear classifier of the first token's vector
(CLS) together with the network: AdamW at 1e-4, 10 epochs. The linear decay, batches of 128, weight
decay .01 and gradients clipped at 1.0 are those of the code that they released.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.probes.linear_probe import check_labels, disjoint_splits, over_splits
from el_jax.runtime.errors import require
from el_jax.types import Batch, Estimate, Key, ModelFns, Params


@dataclass(frozen=True)
class FineTuning:
    """Constants of the training.

    Attributes:
        num_epochs: passes over the training examples.
        batch_size: examples of an update; those of an epoch that fill no update are left out.
        peak_lr: highest rate of AdamW, which then falls linearly to 0.
        warmup: share of the updates in which the rate rises; in the paper 200 of a number that it
            does not state.
        weight_decay: of AdamW.
        clip: longest gradient.
    """

    num_epochs: int = 10
    batch_size: int = 128
    peak_lr: float = 1e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0

    def __post_init__(self) -> None:
        for name in ("num_epochs", "batch_size"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("peak_lr", "clip"):
            require(name, getattr(self, name), getattr(self, name) > 0, "positive")
        require("warmup", self.warmup, 0 <= self.warmup < 1, "in [0, 1)")
        require("weight_decay", self.weight_decay, self.weight_decay >= 0, "at least 0")

    def optimizer(self, num_updates: int) -> optax.GradientTransformation:
        """AdamW for a training of so many updates."""
        rising = round(self.warmup * num_updates)
        rate = optax.join_schedules(
            [
                optax.linear_schedule(0.0, self.peak_lr, rising),
                optax.linear_schedule(self.peak_lr, 0.0, num_updates - rising),
            ],
            [rising],
        )
        return optax.chain(
            optax.clip_by_global_norm(self.clip),
            optax.adamw(rate, weight_decay=self.weight_decay),
        )


class _Tuned(NamedTuple):
    """The trained parameters: the network's, and a classifier's, which start at 0."""

    network: Params
    kernel: Float[Array, "D C"]
    bias: Float[Array, " C"]


def fine_tune(
    model: ModelFns,
    params: Params,
    windows: Batch,
    labels: Int[Array | np.ndarray, " n"],
    num_classes: int,
    key: Key,
    *,
    recipe: FineTuning = FineTuning(),
    num_splits: int = 2,
    test_fraction: float = 0.4,
) -> Estimate:
    """Accuracy on test examples of the network and a linear classifier, trained together.

    Args:
        model: one with ``features``; dropout is off.
        params: where the training starts; they stay as they are.
        windows: the examples, ``[n, T]``, whose first token is classified.
        labels: the class of each example, ``0 .. num_classes - 1``.
        num_classes: C.
        key: of the splits and of the order of examples.
        recipe: constants of the training.
        num_splits: disjoint parts of the examples, each with a training of its own.
        test_fraction: share of a split's examples that are tested.

    Returns:
        The mean over splits, and its standard error.

    Raises:
        ValueError: if the model has no features, a label is not a class, or a split has fewer
            training examples than a batch.
    """
    labels = check_labels(np.asarray(labels), num_classes)
    require("windows", len(windows.tokens), len(windows.tokens) == len(labels), f"{len(labels)}")
    split_key, order_key = jax.random.split(key)
    splits = disjoint_splits(
        len(labels), split_key, num_splits=num_splits, test_fraction=test_fraction
    )
    fewest = min(len(train) for train, _ in splits)
    allowed = f"at most the {fewest} training examples of a split"
    require("batch_size", recipe.batch_size, recipe.batch_size <= fewest, allowed)
    accuracies = []
    for number, (train, test) in enumerate(splits):
        of_split = jax.random.fold_in(order_key, number)
        tuned = _train(
            model, params, _rows(windows, train), labels[train], num_classes, of_split, recipe
        )
        right = _logits(model, tuned, _rows(windows, test)).argmax(1) == labels[test]
        accuracies.append(np.asarray(right, float).mean())
    return over_splits(accuracies)


@functools.partial(jax.jit, static_argnames=("model", "num_classes", "recipe"))
def _train(
    model: ModelFns,
    params: Params,
    windows: Batch,
    labels: Int[Array, " n"],
    num_classes: int,
    key: Key,
    recipe: FineTuning,
) -> _Tuned:
    num_batches = len(labels) // recipe.batch_size
    optimizer = recipe.optimizer(recipe.num_epochs * num_batches)
    width = jax.eval_shape(functools.partial(_first, model), params, windows).shape[1]
    start = _Tuned(params, jnp.zeros((width, num_classes)), jnp.zeros(num_classes))

    def loss(tuned: _Tuned, rows: Int[Array, " batch"]) -> Float[Array, ""]:
        logits = _logits(model, tuned, _rows(windows, rows))
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels[rows]).mean()

    def update(
        carry: tuple[_Tuned, optax.OptState], rows: Int[Array, " batch"]
    ) -> tuple[tuple[_Tuned, optax.OptState], None]:
        tuned, state = carry
        steps, state = optimizer.update(jax.grad(loss)(tuned, rows), state, tuned)
        return (optax.apply_updates(tuned, steps), state), None

    def order(key: Key) -> Int[Array, "batches batch"]:
        rows = jax.random.permutation(key, len(labels))[: num_batches * recipe.batch_size]
        return rows.reshape(num_batches, recipe.batch_size)

    orders = jax.vmap(order)(jax.random.split(key, recipe.num_epochs))
    rows = orders.reshape(-1, recipe.batch_size)
    (tuned, _), _ = jax.lax.scan(update, (start, optimizer.init(start)), rows)
    return tuned


@functools.partial(jax.jit, static_argnames="model")
def _logits(model: ModelFns, tuned: _Tuned, windows: Batch) -> Float[Array, "n C"]:
    return _first(model, tuned.network, windows) @ tuned.kernel + tuned.bias[None]


def _first(model: ModelFns, params: Params, windows: Batch) -> Float[Array, "n D"]:
    """The vector of each window's first token."""
    if model.features is None:
        raise ValueError("needs a model with features, one that has hidden states")
    return model.features(params, windows)[:, 0]


def _rows(windows: Batch, rows: Int[Array | np.ndarray, " k"]) -> Batch:
    return jax.tree.map(lambda leaf: leaf[rows], windows)
