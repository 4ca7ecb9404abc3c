"""A mistake in a user's own method ends in one line before anything is compiled."""

import dataclasses
from typing import Annotated

import jax
import jax.numpy as jnp
import optax
import pytest
from jaxtyping import ScalarLike

from configs.by_name import get_config
from el_jax import build
from el_jax.losses import TOKEN_LOSSES
from el_jax.models import MODELS
from el_jax.numbers import Number
from el_jax.process.errors import ConfigError
from el_jax.tasks import TASKS
from el_jax.training.optimizers import OPTIMIZERS
from el_jax.training.optimizers.schedules import SCHEDULES
from el_jax.types import Batch, ModelFns
from el_jax.weighting import WEIGHTINGS
from el_jax.worlds import WORLDS


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


def path(stats, *, path: Annotated[ScalarLike, Number(1.0)]):
    return path * stats.variance


def no_optimizer(learning_rate):
    return 3 * learning_rate(0)


def needs_value(learning_rate):
    return optax.lbfgs(learning_rate)


def half(elapsed):
    return 1.0 if elapsed < 0.5 else 0.1


def negative(elapsed):
    return elapsed - 0.5


def one_weight(losses):
    return losses.mean()


def no_world():
    return 3


def misspelt_world():
    return periods


def fine(stats, *, lam: Annotated[ScalarLike, Number(1.0, above=0)]):
    return lam * stats.variance


@dataclasses.dataclass(frozen=True)
class HasNoPack:
    vocab_size: int = 8
    window_length: int = 6
    answer_length: int = 1
    group_names = ("all",)
    labels_follow = False


class FirstToken(HasNoPack):
    def train_set(self):
        return jax.random.randint(jax.random.key(0), (64, 6), 0, self.vocab_size)

    def test_set(self, num):
        return jax.random.randint(jax.random.key(1), (num, 6), 0, self.vocab_size)

    def pack(self, tokens):
        end = jnp.full((len(tokens), 1), self.window_length - 1)
        return Batch(tokens, end, tokens[:, :1], end > 0, 0 * end)

    def batch_at(self, data, _step, _key):
        return self.pack(data[:8])


class NumberForTestSet(FirstToken):
    def test_set(self, num):
        return num


PACKED = {  # name of a task -> what it packs, from the tokens and the right batch
    "NoBatch": lambda tokens, _: tokens,
    "LabelsOfAllTokens": lambda tokens, batch: batch._replace(labels=tokens),
    "BeyondWindow": lambda _, batch: batch._replace(supervised=0 * batch.labels + 6),
    "SecondGroup": lambda _, batch: batch._replace(groups=0 * batch.labels + 1),
    "NothingSupervised": lambda _, batch: batch._replace(mask=batch.labels < 0),
    "MaskOfIntegers": lambda _, batch: batch._replace(mask=0 * batch.labels + 1),
}


def task_that_packs(name):
    def pack(self, tokens):
        return PACKED[name](tokens, FirstToken.pack(self, tokens))

    return type(name, (FirstToken,), {"pack": pack})


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
    losses = (scalar, one_per_class, reads_margin, of_logits, positional, path, fine)
    tasks = (FirstToken, HasNoPack, NumberForTestSet, *map(task_that_packs, PACKED))
    tables = [
        (TOKEN_LOSSES, losses),
        (TASKS, tasks),
        (MODELS, (everywhere,)),
        (OPTIMIZERS, (no_optimizer, needs_value)),
        (SCHEDULES, (half, negative)),
        (WEIGHTINGS, (one_weight,)),
        (WORLDS, (no_world, misspelt_world)),
    ]
    for table, methods in tables:
        for method in methods:
            monkeypatch.setitem(table, method.__name__, method)


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
        ("loss=path", "path has a number or option 'path', which is a key of every such"),
        ("task=NumberForTestSet", "NumberForTestSet: TypeError: .*contracts_test.py, line"),
        ("task=BeyondWindow", r"batch_at returns supervised with 6: must be in 0 \.\. 5"),
        ("task=SecondGroup", r"batch_at returns groups with 1: must be in 0 \.\. 0"),
        ("task=NothingSupervised", "a mask that is False everywhere"),
        ("optimizer=no_optimizer", "'no_optimizer': (AttributeError: .* 'init'|TypeCheckError)"),
        ("optimizer=needs_value", "'needs_value': TypeError: .* missing"),
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


def test_what_is_right_passes_and_its_numbers_have_their_range():
    config = get_config("loss=fine,task=FirstToken")
    build.make_spec(build.parse(config))
    config.loss.lam = 0.0
    with pytest.raises(ConfigError, match=r"^config.loss.lam=0\.0: must be above 0$"):
        build.parse(config)


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("schedule", "half", r"'half': TracerBoolConversionError.*contracts_test.py, line \d+"),
        ("schedule", "negative", r"returns \[-0.5, -0.25, .*: must be at least 0"),
        ("weighting", "one_weight", r"returns float32\[\]: must be of shape \[.*\], one weight"),
        ("world", "no_world", "'no_world': (gives int, not a World|TypeCheckError)"),
        ("world", "misspelt_world", r"NameError: .*contracts_test.py, line \d+"),
    ],
)
def test_so_does_one_in_a_schedule_weighting_or_world(section, value, message):
    config = get_config("task=masked" if section == "world" else None)
    if section == "world":
        config.task.world = {"name": value}
    elif section == "weighting":
        config.weighting = {"name": value}
    else:
        config.optim.schedule = value
    with pytest.raises(ConfigError, match=message) as refused:
        build.make_spec(build.parse(config))
    assert "\n" not in str(refused.value)
