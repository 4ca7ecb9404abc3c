"""Traces in a training, for a model whose curvature is known in closed form."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.curvature import Fisher
from el_jax.models import MODELS, PRESETS, transformer
from el_jax.models.bidirectional_lstm import BidirectionalLSTMConfig
from el_jax.probes import context_logits, contexts_of, curvature
from el_jax.probes.curvature import group_function
from el_jax.process.compilation import Once
from el_jax.tasks import MaskedWords
from el_jax.types import ModelFns
from el_jax.worlds import choose_world
from tests.models.tiny_models import bert_of

TASK = MaskedWords(world=choose_world("hmm", {"num_states": 4, "vocab_size": 4, "length": 4}))
V = TASK.vocab_size


def unigram():
    """Logits w in every context, and an unused leaf: the Fisher trace is 1 - |p|²."""

    def apply(params, batch, key=None):
        del key
        return jnp.broadcast_to(params["w"], (*batch.supervised.shape, V))

    return ModelFns(lambda key: {"w": jax.random.normal(key, (V,)), "zero": jnp.zeros(3)}, apply)


def measured(model, seeds=(0, 1)):
    params = Once(jax.vmap(model.init))(jnp.stack([jax.random.key(seed) for seed in seeds]))
    values = curvature(TASK, model).of_params(params)
    return params, {name: np.asarray(value) for name, value in values.items()}


def test_traces_of_a_unigram_model_are_those_of_the_formula():
    params, found = measured(unigram())
    laws = np.asarray(jax.nn.softmax(params["w"]))
    exact = 1 - np.square(laws).sum(1)
    for name in ("fisher_trace", "hessian_trace"):
        error = found[f"{name}_sem"]
        assert (error < 0.05 * exact).all()
        assert (np.abs(found[name] - exact) < 4 * error).all()
    length = np.linalg.norm(params["w"], axis=1)
    np.testing.assert_allclose(found["weight_norm"], length, rtol=1e-5)
    # both use the same draws at the same weights, so no error separates them
    np.testing.assert_allclose(found["scale_free_trace"], length**2 * found["fisher_trace"], 1e-4)


def test_traces_of_a_transformer_are_those_over_all_labels():
    model = transformer(bert_of(TASK, width=8))
    params, found = measured(model, seeds=(3,))
    windows, _ = contexts_of(Once(lambda: TASK.pack(TASK.train_set()))())
    alone = jax.tree.map(lambda leaf: leaf[0], params)
    exact = Once(lambda p: Fisher(context_logits(model), p, windows).all_labels_trace())(alone)
    assert abs(found["fisher_trace"][0] - exact.mean) < 4 * found["fisher_trace_sem"][0]
    assert found["fisher_trace_sem"][0] < 0.1 * exact.mean


def test_embeddings_norms_biases_and_matrices_are_apart():
    sizes = {"vocab_size": V, "width": 8, "num_layers": 1}
    of_transformer = dataclasses.replace(PRESETS["budget_bert"], num_heads=2, **sizes)
    of_lstm = BidirectionalLSTMConfig(**sizes)
    kind = group_function("kind")
    for name, config in (("transformer", of_transformer), ("bidirectional_lstm", of_lstm)):
        params = jax.eval_shape(MODELS[name](config).init, jax.random.key(0))
        for path, _ in jax.tree_util.tree_leaves_with_path(params):
            leaf_name = jax.tree_util.keystr(path, simple=True, separator="/")
            *modules, last = leaf_name.split("/")
            if last.endswith("emb"):
                expected = "embeddings"
            elif modules[-1].startswith("ln") or modules[-1].endswith("ln"):
                expected = "norms"
            else:
                expected = {"kernel": "matrices", "bias": "biases"}[last]
            assert kind(leaf_name) == expected, leaf_name
