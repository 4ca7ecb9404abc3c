"""Pre-training against a downstream task: a low loss with features that tell little of a label.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), sections 3.2 and A.4, train min_ψ L(ψ) - λ L_D2(φ̂(ψ)),
where φ̂(ψ) is the best linear head on features of labelled sentences D1, and D2 are others: a model
with the same pre-training loss whose features are worse. The head has a closed form, so that the
gradient passes through it (Liu, HaoChen, Wei, Ma 2020, arXiv 2011.01418, "MeRLin").

As in the code they released, features are divided by their length, labels are one-hot less 1 / C,
and the head is ridge regression with 1e-3. Two things are not: features are those of all tokens,
which a linear probe reads, where theirs are of CLS, which pre-training leaves alone; and sentences
are new in every update, as those that are pre-trained on.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.tasks import Labelled
from el_jax.training.learner import Learner, Metrics
from el_jax.training.moments import single
from el_jax.types import Batch, Key, ModelFns, Params

TEST_SHARE = 8  # one in so many examples is predicted from the others


class Update(NamedTuple):
    """Data of one update: the batch of the task, and sentences with labels."""

    batch: Batch
    labelled: Labelled


@dataclass(frozen=True)
class Adversary:
    """The term -λ min(share, cap) of a loss; see the head of this module.

    Attributes:
        label: of the world, such as ``prefix_2``.
        weight: λ, in nats; share is what the head leaves of the labels' variance, 1 where features
            tell nothing.
        cap: largest share that is rewarded: beyond 1 features mislead a head.
        num_examples: labelled sentences of an update, of which 1/8 are predicted from the others.
        ridge: of the head.
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
    """The share of the labels' variance that ridge regression leaves, on examples it has not seen.

    Args:
        features: of each example; only their directions matter.
        labels: the class of each; the last 1/8 are predicted from the others.
        num_classes: C.
        ridge: added to the diagonal of the Gram matrix of unit features.

    Returns:
        Squared error over (C - 1) / C², that of the prediction 0, which is 1 / C for each class.
    """
    lengths = jnp.linalg.norm(features, axis=1, keepdims=True)
    unit = features / jnp.maximum(lengths, 1e-12)
    targets = jax.nn.one_hot(labels, num_classes) - 1 / num_classes
    num_seen = len(labels) - len(labels) // TEST_SHARE
    seen, unseen = unit[:num_seen], unit[num_seen:]
    gram = jnp.matmul(seen, seen.T, precision="highest") + ridge * jnp.eye(num_seen)
    weights = jax.scipy.linalg.solve(gram, targets[:num_seen], assume_a="pos")
    across = jnp.matmul(unseen, seen.T, precision="highest")
    missed = jnp.matmul(across, weights, precision="highest") - targets[num_seen:]
    return jnp.square(missed).mean() / ((num_classes - 1) / num_classes**2)


def against(learner: Learner, task: Any, model: ModelFns, adversary: Adversary) -> Learner:
    """A learner less the adversary's term, whose metrics have ``unexplained``, the share uncapped.

    Args:
        learner: of the objective alone.
        task: masked words of a world that has the label; it draws labelled sentences.
        model: the network, with features.
        adversary: the term.
    """
    features_of, label = model.features, adversary.label
    assert features_of is not None  # build refuses such a model
    num_classes = task.world.make().num_classes[label]

    def batch_at(data: Any, step: Array, key: Key) -> Update:
        labelled = task.labelled_at(label, adversary.num_examples, data, step, key)
        return Update(learner.batch_at(data, step, key), labelled)

    def loss(params: Params, update: Update, hypers: Any, key: Key) -> tuple[Array, Any]:
        ordinary, outputs = learner.loss(params, update.batch, hypers, key)
        features = features_of(params, update.labelled.windows)
        rows = features.reshape(len(update.labelled.labels), -1)
        share = unexplained(rows, update.labelled.labels, num_classes, adversary.ridge)
        return ordinary - adversary.weight * jnp.minimum(share, adversary.cap), (outputs, share)

    def measure(outputs: tuple[Any, Array], update: Update, hypers: Any) -> Metrics:
        ordinary, share = outputs
        return learner.measure(ordinary, update.batch, hypers) | {"unexplained": single(share)}

    return Learner(batch_at, loss, measure)
