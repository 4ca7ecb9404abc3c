"""Training through statistics of the readout equals training through the logits.

Each program runs once, so ``Once`` compiles it, in a third of the time.
"""

import dataclasses
import functools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.losses import TOKEN_LOSSES
from el_jax.models import PRESETS, transformer
from el_jax.numbers import declared
from el_jax.process.compilation import Once
from el_jax.tasks.copy import PaddedCopy
from el_jax.training.objectives.heads import FusedHead, LogitHead
from el_jax.training.objectives.next_token import NextToken
from el_jax.types import Batch, ModelFns, Readout
from tests.training.small_training import built, small_config

V, T, P, B = 40, 6, 4, 2
CONFIG = dataclasses.replace(
    PRESETS["gpt_neox"],
    vocab_size=V,
    width=8,
    num_layers=1,
    num_heads=1,
    mlp_width=12,
    rotary_fraction=0.5,
    residual_dropout=0.2,
    head_bias=True,
)


def bag_of_one():
    """A network that compiles fast: each token alone goes through a hidden layer with dropout."""

    def readout(params, batch, key=None):
        tokens = jnp.take_along_axis(batch.tokens, batch.supervised, axis=1)
        hidden = jnp.tanh(params["table"][tokens])
        kept = 1.0 if key is None else jax.random.bernoulli(key, 0.8, hidden.shape)
        return Readout(hidden * kept, params["head"], params["bias"])

    def apply(params, batch, key=None):
        hidden, head, bias = readout(params, batch, key)
        return hidden @ head + bias[None, None]

    def init(key):
        return {"table": jnp.zeros((V, 8)), "head": jnp.zeros((8, V)), "bias": jnp.zeros(V)}

    return ModelFns(init, apply, readout=readout)


TASK = PaddedCopy(copy_length=2)  # two groups, answers of two tokens
FUSED = {
    "plain": {"path": "plain"},
    "chunked": {"path": "chunked", "vocab_chunk": 16},
    "gram": {"path": "gram", "vocab_chunk": 7},
}


def batch_of(windows=B, num_classes=V):
    rng = np.random.default_rng(0)

    def draw(high, columns):
        return jnp.asarray(rng.integers(high, size=(windows, columns)), jnp.int32)

    supervised = jnp.tile(jnp.arange(P) + 1, (windows, 1))
    mask = jnp.ones((windows, P), bool).at[0, 1].set(False).at[-1, 2:].set(False)
    return Batch(draw(num_classes, T), supervised, draw(num_classes, P), mask, draw(2, P))


def random_params(model, scale=0.4):
    """Random parameters without zeros and ones, so that each affects the output."""
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return jax.tree.map(lambda x: jnp.asarray(scale * rng.normal(size=x.shape), x.dtype), shapes)


def network(config):
    return bag_of_one() if config is None else transformer(config)


def objective(name, fused, config=None, temperature=1.0):
    defaults = {key: each.default for key, each in declared(TOKEN_LOSSES[name]).items()}
    loss = partial(TOKEN_LOSSES[name], **defaults)
    args = network(config), lambda s, *_: loss(s), temperature
    return NextToken(TASK, FusedHead(*args, **fused) if fused else LogitHead(*args))


def trained(own, key, params, batch):
    """Loss, its gradient and the metrics of one update."""
    found = jax.value_and_grad(own.loss, has_aux=True)(params, batch, (), {}, key)
    (loss, (metrics, _)), gradient = found
    return loss, gradient, metrics


@functools.cache
def compiled(name, path, config=None, temperature=1.0):
    fused = FUSED[path] if path else None
    return Once(partial(trained, objective(name, fused, config, temperature)))


def assert_close(actual, expected, tolerance):
    """Assert agreement to ``tolerance`` times each array's largest entry, plus 1e-7."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        a, e = np.asarray(a, np.float64), np.asarray(e, np.float64)
        np.testing.assert_allclose(a, e, rtol=0, atol=tolerance * np.abs(e).max() + 1e-7)


def compare(name, path, tolerance=1e-5, config=None, temperature=1.0):
    params, batch = random_params(network(config)), batch_of()
    with_dropout = jax.random.key(3)
    expected = compiled(name, None, config, temperature)(with_dropout, params, batch)
    found = compiled(name, path, config, temperature)(with_dropout, params, batch)
    assert_close(found, expected, tolerance)
    assert expected[2]["gradient"].mean.min() > 1e-4


@pytest.mark.parametrize("path", FUSED)
@pytest.mark.parametrize(("name", "config"), [("e1", CONFIG), ("e3", None)], ids=["e1", "e3"])
def test_loss_gradient_and_metrics_are_those_of_the_logits(name, config, path):
    compare(name, path, config=config)


def test_with_products_in_bfloat16():
    compare("e1", "chunked", 2e-2, dataclasses.replace(CONFIG, dtype="bfloat16"))


def test_with_a_temperature_and_the_token_table_as_head():
    compare("e2", "chunked", config=dataclasses.replace(CONFIG, tie_head=True), temperature=2.0)


def test_memory_of_an_update_is_less_than_half():
    config = dataclasses.replace(CONFIG, vocab_size=8192, width=32, num_heads=2, head_bias=False)
    params = jax.eval_shape(transformer(config).init, jax.random.key(0))
    batch = batch_of(windows=32, num_classes=8192)

    def temporary_bytes(fused):
        update = Once(partial(trained, objective("e1", fused, config), None))
        return update.lower(params, batch).compile().memory_analysis().temp_size_in_bytes

    chunked = {"path": "chunked", "vocab_chunk": 512}
    assert temporary_bytes(chunked) < 0.5 * temporary_bytes(None)


def history(path, **train):
    """Metrics of every update, and the parameters after the last update."""
    config = small_config("loss=e1,optimizer=sgd,smoke", seeds=2, **train)
    config.loss.path = path
    config.model.residual_dropout = 0.1
    config.optim.peak_lr = 0.1
    program = built(config).program
    state, measured, _ = program.advance(program.init(), 5)
    return jax.device_get((measured, state.params))


@pytest.fixture(scope="module")
def through_logits():
    return history("plain")


@pytest.mark.parametrize(
    ("path", "train"),
    [("chunked", {"run_axis": "map"}), ("chunked", {"shard": "runs"})],
)
def test_a_whole_training(path, train, through_logits):
    assert_close(history(path, **train), through_logits, 1e-5)


def test_auto_goes_by_width_vocabulary_and_loss():
    def fused(loss, letters=26, **model):
        config = small_config(f"loss={loss},smoke")
        config.model.update(model)
        config.task.alphabet_size = letters
        return build.make_spec(build.parse(config)).objective.head

    assert isinstance(fused("e1"), LogitHead)  # V = 29, D = 8
    small = {"width": 4, "num_heads": 1, "matmul_precision": "highest"}
    assert isinstance(fused("e1", **small), LogitHead)  # one block
    chunked = fused("e1", letters=2046, **small)
    assert (chunked.path, chunked.precision) == ("chunked", "highest")
    gram = fused("e3", **small)
    assert (gram.path, gram.precision) == ("gram", "highest")
    narrow = fused("e3", embedding_width=5)
    assert (narrow.path, narrow.precision) == ("gram", "default")
