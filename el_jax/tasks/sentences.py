"""Sentences of a world as the examples of a task, new for every update or a fixed set."""

import abc
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from el_jax.process.errors import require
from el_jax.tasks.packing import epoch_order
from el_jax.types import Batch, Key
from el_jax.worlds import WorldChoice, choose_world

# uses of a key derived from `data_seed`; one stream each, so no two draws are related
TRAIN, TEST, DOWNSTREAM = range(3)
FRESH_TRAIN_SPLIT = 1024  # stand-in sentences if every update draws new ones
SMALL_GRAMMAR = choose_world("pcfg")  # at its defaults

Asked = TypeVar("Asked")  # sentences as ``tokens``, and their supervision


class Corpus(NamedTuple):
    """The training data: the world, and the sentences drawn so far."""

    world: Any
    sentences: Any


@dataclass(frozen=True)
class WorldSentences(abc.ABC, Generic[Asked]):
    """Base class of tasks whose examples are sentences of a world.

    A task defines what it supervises (``ask``) and how that becomes windows (``pack``).

    Attributes:
        world: the world.
        num_train: training sentences, a multiple of those that an update reads of them; 0 draws new
            ones for every update, and the split "train" is then 1,024 other sentences.
        sentences_per_update: sentences one update reads.
        fresh_share: share of an update's sentences, rounded to whole ones, that are new instead of
            from the training sentences, which are then repeated within new data.
        data_seed: seed of the data sets; the run's seed draws its updates.
    """

    world: WorldChoice = SMALL_GRAMMAR
    num_train: int = 0
    sentences_per_update: int = 256
    fresh_share: float = 0.0
    data_seed: int = 0

    def __post_init__(self) -> None:
        update, train, fresh = self.sentences_per_update, self.num_train, self.fresh_share
        require("sentences_per_update", update, update >= 1, "at least 1")
        mixes = fresh == 0 or (train > 0 and 0 < fresh < 1 and 1 <= self._repeated < update)
        allowed = "0, or with num_train > 0 a share that leaves room for a repeated and a new one"
        require("fresh_share", fresh, mixes, allowed)
        allowed = f"0 or a multiple of {self._repeated}, the training sentences of an update"
        require("num_train", train, train >= 0 and train % self._repeated == 0, allowed)
        require("data_seed", self.data_seed, self.data_seed >= 0, "at least 0")

    @abc.abstractmethod
    def ask(self, tokens: Int[Array, "S T"], key: Key) -> Asked:
        """Sentences with their supervision; that of sentence ``i`` depends on the key and ``i``."""

    @abc.abstractmethod
    def pack(self, examples: Corpus | Asked) -> Batch:
        """Each sentence as a window."""

    def train_set(self) -> Corpus:
        """The world and the training sentences."""
        num = self.num_train or FRESH_TRAIN_SPLIT
        return Corpus(self.world.make(), self._drawn(TRAIN, num))

    def test_set(self, num: int) -> Asked:
        """The first ``num`` test sentences with their supervision."""
        return self._drawn(TEST, num)

    def batch_at(self, train_set: Corpus, step: int | Int[Array, ""], key: Key) -> Batch:
        """The windows of an update; every update chooses its supervision anew.

        The key draws, or orders, the sentences and chooses the supervision.
        """
        draw_key, ask_key = jax.random.split(jax.random.fold_in(key, step))
        repeated = self._repeated if self.num_train else 0
        parts = []
        if repeated:
            updates = self.num_train // repeated
            of_epoch = jax.random.fold_in(key, step // updates)
            order = epoch_order(of_epoch, self.num_train, repeated, static=False)
            parts.append(train_set.sentences.tokens[order[step % updates]])
        if fresh := self.sentences_per_update - repeated:
            parts.append(train_set.world.sample(draw_key, fresh).tokens)
        return self.pack(self.ask(jnp.concatenate(parts), ask_key))

    @property
    def _repeated(self) -> int:
        """Training sentences that an update reads."""
        return self.sentences_per_update - round(self.sentences_per_update * self.fresh_share)

    def _drawn(self, stream: int, num: int) -> Asked:
        key = jax.random.fold_in(jax.random.key(self.data_seed), stream)
        draw_key, ask_key = jax.random.split(key)
        return self.ask(self.world.make().sample(draw_key, num).tokens, ask_key)
