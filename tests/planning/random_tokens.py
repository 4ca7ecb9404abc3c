"""A language model's task of any size, for programs that are compiled and never run."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from configs import common
from configs.by_name import get_config
from el_jax.process.imports import import_all
from el_jax.types import Batch

KNOWN = ("tests.planning.known_tasks",)


@dataclasses.dataclass(frozen=True)
class RandomTokens:
    """Predict the next token at every position of windows of uniform tokens."""

    vocab_size: int = 50_257
    window_length: int = 1024
    windows: int = 4
    answer_length: ClassVar[int] = 1
    group_names: ClassVar[tuple[str, ...]] = ("all",)
    labels_follow: ClassVar[bool] = True

    def train_set(self):
        return self.test_set(64)

    def test_set(self, num):
        shape = num, self.window_length + 1
        return jax.random.randint(jax.random.key(0), shape, 0, self.vocab_size)

    def pack(self, rows):
        tokens = rows[:, :-1]
        places = jnp.broadcast_to(jnp.arange(self.window_length), tokens.shape)
        return Batch(tokens, places, rows[:, 1:], tokens >= 0, 0 * tokens)

    def batch_at(self, data, step, key):
        chosen = jax.random.randint(jax.random.fold_in(key, step), (self.windows,), 0, len(data))
        return self.pack(data[chosen])


def language_config(task, **model):
    """A language model on random tokens, one run; the task is known from now on."""
    import_all(KNOWN)
    config = get_config("model=gpt2")
    config.task = common.task("random_tokens", **task)
    config.model.update(embedding_dropout=0.0, attention_dropout=0.0, residual_dropout=0.0)
    config.model.update(model)
    config.train.update(seeds=1, eval_tokens=1024)
    config.eval = {"test": 4}
    config.imports = KNOWN
    return config


def gpt2_config(windows=4):
    """GPT-2 124M in bfloat16 on windows of 1024 tokens."""
    return language_config(
        {"windows": windows}, width=768, num_layers=12, num_heads=12, dtype="bfloat16"
    )


def pythia_config(name, windows, window_length=2048):
    """A model of the Pythia suite in bfloat16, each device with a part of its parameters."""
    task = {"vocab_size": 50_304, "window_length": window_length, "windows": windows}
    config = language_config(task, dtype="bfloat16")
    config.model = common.model(name, dtype="bfloat16")
    config.train.shard = "fsdp"
    return config
