"""The accuracy of a pre-trained model fine-tuned for a label, with all its parameters.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) fine-tune a linear classifier of the first token's vector
(CLS) together with the network: AdamW at 1e-4, 10 epochs. The linear decay, batches of 128, weight
decay .01 and gradients clipped at 1.0 are from their released code.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.probes.linear_probe import disjoint_splits, over_splits
from el_jax.process.errors import require
from el_jax.types import Batch, Estimate, Key, ModelFns, Params


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """Hyperparameters of fine-tuning.

    Attributes:
        num_epochs: passes over the training examples.
        batch_size: examples per update; an incomplete last batch of an epoch is dropped.
        peak_lr: peak learning rate of AdamW, which then falls linearly to 0.
        warmup: share of the updates with a rising rate; in the paper 200 updates, of an unstated
            total.
        weight_decay: weight decay of AdamW.
        clip: largest gradient norm.
    """

    num_epochs: int = 10
    batch_size: int = 128
    peak_lr: float = 1e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0

    def optimizer(self, num_updates: int) -> optax.GradientTransformation:
        """AdamW for ``num_updates`` updates."""
        rising = round(self.warmup * num_updates)
        up = optax.linear_schedule(0.0, self.peak_lr, rising)
        down = optax.linear_schedule(self.peak_lr, 0.0, num_updates - rising)
        rate = optax.join_schedules([up, down], [rising])
        return optax.chain(
            optax.clip_by_global_norm(self.clip),
            optax.adamw(rate, weight_decay=self.weight_decay),
        )


RECIPE = FineTuning()


def fine_tune(
    model: ModelFns,
    params: Params,
    windows: Batch,
    labels: Int[Array | np.ndarray, " n"],
    num_classes: int,
    key: Key,
    recipe: FineTuning = RECIPE,
) -> Estimate:
    """Accuracy on test examples of the network and a linear classifier, trained together.

    Args:
        model: one with ``features``; dropout is off.
        params: the initial parameters, which are not modified.
        windows: the examples, ``[n, T]``, whose first token is classified.
        labels: the class of each example, ``0 .. num_classes - 1``.
        num_classes: C.
        key: key of the splits and of the order of examples.
        recipe: hyperparameters.

    Returns:
        The mean over two halves of the examples, each with its own run, and its standard error.

    Raises:
        ValueError: if a half has fewer training examples than a batch.
    """
    labels = np.asarray(labels)
    split_key, order_key = jax.random.split(key)
    splits = disjoint_splits(len(labels), split_key)
    fewest = min(len(train) for train, _ in splits)
    allowed = f"at most the {fewest} training examples of a split"
    require("batch_size", recipe.batch_size, recipe.batch_size <= fewest, allowed)
    accuracies = []
    for number, (train, test) in enumerate(splits):
        of_split = jax.random.fold_in(order_key, number)
        tuned = _train(
            model, params, rows_of(windows, train), labels[train], num_classes, of_split, recipe
        )
        right = _logits(model, tuned, rows_of(windows, test)).argmax(1) == labels[test]
        accuracies.append(np.asarray(right, float).mean())
    return over_splits(accuracies)


class _Tuned(NamedTuple):
    """The trained parameters: the network's, and a classifier's, initially 0."""

    network: Params
    kernel: Float[Array, "D C"]
    bias: Float[Array, " C"]


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
    width = jax.eval_shape(functools.partial(hidden_states, model), params, windows).shape[2]
    start = _Tuned(params, jnp.zeros((width, num_classes)), jnp.zeros(num_classes))

    def loss(tuned: _Tuned, rows: Int[Array, " batch"]) -> Float[Array, ""]:
        logits = _logits(model, tuned, rows_of(windows, rows))
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

    rows = jax.vmap(order)(jax.random.split(key, recipe.num_epochs))
    rows = rows.reshape(-1, recipe.batch_size)
    return jax.lax.scan(update, (start, optimizer.init(start)), rows)[0][0]


@functools.partial(jax.jit, static_argnames="model")
def _logits(model: ModelFns, tuned: _Tuned, windows: Batch) -> Float[Array, "n C"]:
    first = hidden_states(model, tuned.network, windows)[:, 0]
    return first @ tuned.kernel + tuned.bias[None]


def hidden_states(model: ModelFns, params: Params, windows: Batch) -> Float[Array, "n T D"]:
    """The vectors of all tokens of windows."""
    assert model.features is not None
    return model.features(params, windows)


@jax.jit  # one program for all leaves
def rows_of(tree: Any, rows: Any) -> Any:
    """Some rows of each leaf."""
    return jax.tree.map(lambda leaf: leaf[rows], tree)
