"""Programs that run once compile in less time, to the same bits, and give back their memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.models import FAMILIES, transformer
from el_jax.process.compilation import Once
from el_jax.tasks import TASKS, MaskedWords, PaddedCopy
from el_jax.training import memory
from el_jax.worlds import WORLDS, choose_world
from tests.training.small_training import built, small_config


def optimised(function):
    """The function compiled as for a user, whatever flags speed up these tests."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 3})


def assert_same_bits(ours, theirs):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: jax.random.uniform(jax.random.key(1), (4097,)),
        lambda: jax.random.randint(jax.random.key(2), (999,), 0, 26),
        lambda: PaddedCopy(padding_length=5).test_set(64),
        # that of causal has the sentences of masked
        *(kind().train_set for name, kind in TASKS.items() if name != "causal"),
    ],
)
def test_what_is_drawn_once_has_the_bits_of_any_other_program(draw):
    assert_same_bits(Once(draw)(), optimised(draw)())


def test_normal_numbers_drawn_once_keep_their_bits_at_level_1():
    def draw():
        return jax.random.normal(jax.random.key(0), (513, 7)) * 0.02

    assert_same_bits(Once(draw, level=1)(), optimised(draw)())


@pytest.mark.slow
@pytest.mark.parametrize("world", sorted(WORLDS.keys() - {"grammar_file", "language_model"}))
def test_sentences_of_every_world_have_the_same_bits(world):
    draw = MaskedWords(world=choose_world(world, {})).train_set
    assert_same_bits(Once(draw)(), optimised(draw)())


def test_parameters_drawn_once_have_the_bits_of_any_other_program():
    spec = build.make_spec(build.parse(small_config(seeds=3)))
    init = spec.objective.head.model.init
    keys = jax.vmap(jax.random.key)(jnp.arange(3))
    assert_same_bits(Once(jax.vmap(init), level=1)(keys), optimised(jax.vmap(init))(keys))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_of_every_family_have_the_same_bits(name):
    import dataclasses

    sizes = {"vocab_size": 29, "width": 16, "num_layers": 2, "num_heads": 2}
    sizes |= dict.fromkeys(("num_kv_heads", "head_size", "mlp_width", "embedding_width"))
    config = dataclasses.replace(FAMILIES[name], **sizes)
    init = transformer(config).init
    assert_same_bits(Once(init, level=1)(jax.random.key(3)), optimised(init)(jax.random.key(3)))


def test_a_training_gives_back_what_its_compiler_freed(monkeypatch):
    given = []
    monkeypatch.setattr(memory, "release_freed_memory", lambda: given.append(True))
    training = built(small_config(seeds=1))
    training.program.advance(training.program.init(), 1)
    assert len(given) == 2
