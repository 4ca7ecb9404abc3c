"""A mistake in a user's loss, task or model ends in one line before anything is compiled."""

import dataclasses
from typing import Annotated

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import ScalarLike

from configs.by_name import get_config
from el_jax import build
from el_jax.losses import TOKEN_LOSSES
from el_jax.models import MODELS
from el_jax.numbers import Number
from el_jax.process.errors import ConfigError
from el_jax.tasks import TASKS
from el_jax.types import Batch, ModelFns


def scalar(stats):
    return -stats.label_logit.mean()


def one_per_class(stats):
    return jnp.stack([stats.mean, stats.variance], axis=-1)


def reads_margin(stats):
    return stats.margin


def of_logits(logits, labels):
    return jnp.take_along_axis(logits, labels[..., None], -1)


def positional(stats, lam: Annotated[ScalarLike, Number(1.0)]):
    return lam * stats.variance


def fine(stats, *, lam: Annotated[ScalarLike, Number(1.0)]):
    return lam * stats.variance


@dataclasses.dataclass(frozen=True)
class FirstToken:
    vocab_size: int = 8
    window_length: int = 6
    answer_length: int = 1
    group_names = ("all",)
    labels_follow = False

    def train_set(self):
        return jax.random.randint(jax.random.key(0), (64, 6), 0, self.vocab_size)

    def test_set(self, num):
        return jax.random.randint(jax.random.key(1), (num, 6), 0, self.vocab_size)

    def pack(self, tokens):
        end = jnp.full((len(tokens), 1), self.window_length - 1)
        return Batch(tokens, end, tokens[:, :1], end > 0, 0 * end)

    def batch_at(self, data, _step, _key):
        return self.pack(data[:8])


class LabelsOfAllTokens(FirstToken):
    def pack(self, tokens):
        return super().pack(tokens)._replace(labels=tokens)


class NoBatch(FirstToken):
    def pack(self, tokens):
        return tokens


class MaskOfIntegers(FirstToken):
    def pack(self, tokens):
        return super().pack(tokens)._replace(mask=jnp.ones((len(tokens), 1), jnp.int32))


@dataclasses.dataclass(frozen=True)
class HasNoPack:
    vocab_size: int = 8
    window_length: int = 6
    answer_length: int = 1
    group_names = ("all",)
    labels_follow = False


@dataclasses.dataclass(frozen=True)
class BagConfig:
    vocab_size: int
    width: int = 16


def everywhere(config: BagConfig) -> ModelFns:
    """Logits at all tokens, not at the supervised ones."""
    return ModelFns(
        lambda key: jax.random.normal(key, (config.vocab_size, config.vocab_size)),
        lambda params, batch, key=None: params[batch.tokens],
    )


@pytest.fixture(autouse=True)
def own(monkeypatch):
    for function in (scalar, one_per_class, reads_margin, of_logits, positional, fine):
        monkeypatch.setitem(TOKEN_LOSSES, function.__name__, function)
    for task in (FirstToken, LabelsOfAllTokens, NoBatch, MaskOfIntegers, HasNoPack):
        monkeypatch.setitem(TASKS, task.__name__, task)
    monkeypatch.setitem(MODELS, "everywhere", everywhere)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "loss=scalar",
            r"loss.name='scalar': returns float32\[\]: must be of shape \[8, 1\], one num",
        ),
        ("loss=one_per_class", r"float32\[8, 1, 2\]: must be of shape \[8, 1\]"),
        ("loss=positional", r"its number lam must stand behind a \*"),
        (
            "task=HasNoPack",
            "HasNoPack has no batch_at, pack, test_set, train_set; see",
        ),
        ("task=LabelsOfAllTokens", r"returns labels int32\[8, 6\]: must be of shape \[8, 1\]"),
        ("task=NoBatch", "batch_at returns .*: must be an el_jax.types.Batch"),
        ("task=MaskOfIntegers", r"returns mask int32\[8, 1\]: must be bool"),
        (
            "task=FirstToken,model=everywhere",
            r"apply returns float32\[8, 6, 8\]: must be .*\[8, 1, 8\]",
        ),
    ],
)
def test_a_mistake_is_one_line(argument, message):
    with pytest.raises(ConfigError, match=message) as refused:
        build.make_spec(build.parse(get_config(argument)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("reads_margin", "no attribute 'margin'.* .*contracts_test.py, line "),
        ("of_logits", "missing 1 required positional argument: 'labels'"),
    ],
)
def test_a_loss_that_raises_says_what_it_was_called_with(loss, message):
    said = rf"loss.name='{loss}': .*{message}.*; it is called with TokenStats \(label_logit, "
    with pytest.raises(ConfigError, match=said):
        build.make_spec(build.parse(get_config(f"loss={loss}")))


def test_what_is_right_passes():
    build.make_spec(build.parse(get_config("loss=fine,task=FirstToken")))
