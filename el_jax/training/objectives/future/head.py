"""A head whose loss adds a term on later tokens to that of the next token."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.losses import TokenStats
from el_jax.models import logits_of
from el_jax.training.objectives.future.term import Answers, Future
from el_jax.training.objectives.heads import LogitHead, Numbers, PerToken
from el_jax.types import Batch, Key, ModelFns, Params, Readout

OWN = "future"  # the objective's parameters, among the model's
_STREAM = 1  # folded into the initialisation key; the model takes the key itself


def with_own_parameters(model: ModelFns, future: Future) -> ModelFns:
    """The model, initialised with the objective's parameters too, which it does not read."""

    def init(key: Key) -> Params:
        return {**model.init(key), OWN: future.init(jax.random.fold_in(key, _STREAM))}

    return model._replace(init=init)


class FutureOutputs(NamedTuple):
    """The logits, and the term of each token.

    Attributes:
        logits: at the supervised positions, ``[B, P, V]``.
        term: the loss term on later tokens, ``[B, P]`` in nats.
    """

    logits: Array
    term: Array


class FutureHead(NamedTuple):
    """A head that adds a weighted objective on later tokens to the token loss.

    Accuracy, margin and gradient are those of the next token.

    Attributes:
        base: the next-token head; its model has a readout, and parameters of the objective.
        future: the objective.
        weight: weight of its term.
        answer_length: supervised tokens per answer; later tokens of the answer are predicted.
    """

    base: LogitHead
    future: Future
    weight: float
    answer_length: int

    @property
    def model(self) -> ModelFns:
        """See ``Head``."""
        return self.base.model

    @property
    def temperature(self) -> float:
        """See ``Head``."""
        return self.base.temperature

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> FutureOutputs:
        """Logits and term from one pass through the model."""
        assert self.model.readout is not None  # build refuses other models
        readout = self.model.readout(params, batch, key)
        term = self.future.term(params[OWN], _answers(readout, batch, self.answer_length))
        logits = logits_of(readout, self.model.matmul_precision)
        return FutureOutputs(logits, term.reshape(batch.labels.shape))

    def stats(self, outputs: FutureOutputs, batch: Batch) -> TokenStats:
        """See ``Head``."""
        return self.base.stats(outputs.logits, batch)

    def loss(self, outputs: FutureOutputs, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        return self.base.loss(outputs.logits, batch, numbers) + self.weight * outputs.term

    def gradient_norm(self, outputs: FutureOutputs, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        return self.base.gradient_norm(outputs.logits, batch, numbers)


def _answers(readout: Readout, batch: Batch, length: int) -> Answers:
    """One answer per row, in float32."""
    head = readout.head.astype(jnp.float32)

    def by_answer(values: Any) -> Any:
        return values.reshape(-1, length, *values.shape[2:])

    return Answers(
        hidden=by_answer(readout.hidden.astype(jnp.float32)),
        labels=by_answer(batch.labels),
        mask=by_answer(batch.mask),
        head=head,
        bias=jnp.zeros(head.shape[1]) if readout.bias is None else readout.bias,
    )
