"""Pre-training against a downstream task: a low loss with features that say little about a label.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), sections 3.2 and A.4, train min_ψ L(ψ) - λ L_D2(φ̂(ψ)),
where φ̂(ψ) is the best linear head on features of labelled sentences D1, and D2 are others. They get
a model with the same pre-training loss but worse features. The head has a closed form, so the
gradient passes through it (Liu, HaoChen, Wei, Ma 2020, arXiv 2011.01418, "MeRLin").

As in their released code, features are divided by their length, labels are one-hot less 1 / C, and
the head is ridge regression with 1e-3. There are two differences: our features are those of all
tokens, which a linear probe reads, while theirs are of CLS, which pre-training leaves alone; and
sentences are new in every update, as in pre-training.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.tasks import Labelled, MaskedWords
from el_jax.training.moments import single
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.objective import Metrics, Objective, Wrapper
from el_jax.types import Batch, Key, Params

TEST_SHARE = 8  # one in so many examples is predicted from the others


class Update(NamedTuple):
    """Data of one update: the batch of the task, and sentences with labels."""

    batch: Batch
    labelled: Labelled


@dataclass(frozen=True)
class Adversary:
    """The loss term -λ min(share, cap); see the module docstring.

    Attributes:
        label: a label of the world, such as ``prefix_2``.
        weight: λ, in nats; share is the part of the labels' variance that the head leaves, 1 where
            features carry no information.
        cap: largest share that is rewarded; beyond 1 features mislead a head.
        num_examples: labelled sentences per update; 1/8 of them are predicted from the others.
        ridge: the head's ridge penalty.
    """

    label: str
    weight: float = 0.1
    cap: float = 1.5
    num_examples: int = 256
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("weight", "cap", "ridge"):
            value = getattr(self, name)
            require(name, value, value >= 0 if name == "weight" else value > 0, _ALLOWED[name])
        num = self.num_examples
        allowed = f"a multiple of {TEST_SHARE}"
        require("num_examples", num, num > 0 and num % TEST_SHARE == 0, allowed)


_ALLOWED = {"weight": "at least 0", "cap": "positive", "ridge": "positive"}


def unexplained(
    features: Float[Array, "n D"], labels: Int[Array, " n"], num_classes: int, ridge: float
) -> Float[Array, ""]:
    """Share of the labels' variance that ridge regression leaves on held-out examples.

    Args:
        features: features of each example; only their directions matter.
        labels: the class of each, or -1 for one without, which is left out; the last 1/8 are
            predicted from the others.
        num_classes: C.
        ridge: added to the diagonal of the Gram matrix of unit features.

    Returns:
        Squared error over (C - 1) / C², the error of predicting 0, that is 1 / C for each class.
    """
    lengths = jnp.linalg.norm(features, axis=1, keepdims=True)
    unit = features / jnp.maximum(lengths, 1e-12)
    known = (labels >= 0)[:, None]
    unit = jnp.where(known, unit, 0)
    targets = jnp.where(known, jax.nn.one_hot(labels, num_classes) - 1 / num_classes, 0)
    num_seen = len(labels) - len(labels) // TEST_SHARE
    seen, unseen = unit[:num_seen], unit[num_seen:]
    gram = jnp.matmul(seen, seen.T, precision="highest") + ridge * jnp.eye(num_seen)
    weights = jax.scipy.linalg.solve(gram, targets[:num_seen], assume_a="pos")
    across = jnp.matmul(unseen, seen.T, precision="highest")
    missed = jnp.matmul(across, weights, precision="highest") - targets[num_seen:]
    errors = jnp.maximum(known[num_seen:].sum(), 1) * num_classes
    return jnp.square(missed).sum() / errors / ((num_classes - 1) / num_classes**2)


@dataclass(frozen=True)
class Against(Wrapper):
    """An objective less the adversary's term; its metrics have ``unexplained``, the share uncapped.

    Attributes:
        base: the objective alone; its task draws labelled sentences, its model has features.
        adversary: the term.
        num_classes: number of the label's classes.
    """

    adversary: Adversary
    num_classes: int

    def batch_at(self, data: Any, step: Array, key: Key) -> Update:
        """The batch, and new sentences with labels."""
        own, task = self.adversary, self.task
        assert isinstance(task, MaskedWords)  # parse refuses any other
        labelled = task.labelled_at(own.label, own.num_examples, data, step, key)
        return Update(self.base.batch_at(data, step, key), labelled)

    def loss(
        self, params: Params, batch: Update, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """The loss less the term; the share is among the metrics."""
        features_of, own = self.head.model.features, self.adversary
        assert features_of is not None  # build refuses a model without
        ordinary, (metrics, memory) = self.base.loss(params, batch.batch, memory, numbers, key)
        windows, labels = batch.labelled
        rows = features_of(params, windows).reshape(len(labels), -1)
        share = unexplained(rows, labels, self.num_classes, own.ridge)
        metrics |= {"unexplained": single(share)}
        return ordinary - own.weight * jnp.minimum(share, own.cap), (metrics, memory)


def against(base: Objective, adversary: Adversary) -> Against:
    """An objective less the term of an adversary."""
    task = base.task
    assert isinstance(task, MaskedWords)  # parse refuses any other
    return Against(base, adversary, task.world.make().num_classes[adversary.label])
