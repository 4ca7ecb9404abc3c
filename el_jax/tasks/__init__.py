"""Tasks: strings that a model learns from, each in a group such as easy or hard."""

from collections.abc import Hashable
from typing import Any

from jax import Array
from jaxtyping import Int
from typing_extensions import Protocol, runtime_checkable  # its isinstance evaluates no member

from el_jax.tasks.causal import CausalWords
from el_jax.tasks.copy import PaddedCopy
from el_jax.tasks.label import SentenceLabel
from el_jax.tasks.masked import Labelled, MaskedWords
from el_jax.tasks.path_star import PathStar
from el_jax.tasks.running_text import RunningText
from el_jax.tasks.star_in_weights import Facts, StarInWeights
from el_jax.tasks.text import TextCopy
from el_jax.types import Batch, Key


@runtime_checkable
class Task(Hashable, Protocol):
    """The interface of a task: a hashable value whose methods can be jitted.

    The data of a task is a pytree of device arrays that only the task looks into; it is an
    argument of the compiled step rather than a constant inside it.
    """

    @property
    def labels_follow(self) -> bool:
        """True if labels are tokens of the window after their supervised position.

        As in next-token prediction, where a model that sees later tokens could copy them.
        """

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups that ``Batch.groups`` counts."""

    @property
    def vocab_size(self) -> int:
        """Number of classes of every logit vector, ``V``."""

    @property
    def window_length(self) -> int:
        """Tokens of a training window, ``T``."""

    @property
    def answer_length(self) -> int:
        """Supervised tokens of one example, consecutive along ``P``."""

    def train_set(self) -> Any:
        """The training data, a tree of arrays on the device; drawn inside a program."""

    def test_set(self, num: int, /) -> Any:
        """The first ``num`` test examples, as ``pack`` takes them."""

    def pack(self, examples: Any, /) -> Batch:
        """All of the examples as windows, in order."""

    def batch_at(self, train_set: Any, step: int | Int[Array, ""], key: Key, /) -> Batch:
        """The windows that update ``step`` (may be traced) reads in the run with this key."""


@runtime_checkable
class Guessable(Protocol):
    """A task with a known accuracy of guessing."""

    @property
    def chance(self) -> float:
        """Accuracy of a model that can only guess, in the hardest group or position."""


TASKS: dict[str, type[Task]] = {
    "copy": PaddedCopy,
    "masked": MaskedWords,
    "causal": CausalWords,
    "label": SentenceLabel,
    "path_star": PathStar,
    "running_text": RunningText,
    "star_in_weights": StarInWeights,
    "text_copy": TextCopy,
}
