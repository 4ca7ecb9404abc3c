"""A small transformer inside a large one computes the same function, and its traces obey the law.

The law of a group is 1 / (n s²) (Liu, Xie, Li, Ma 2023, arXiv 2210.14199, B.4); it is compared with
exact Fisher and Hessian traces of networks of a few hundred parameters, in float64.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_models import TINY, batch_of, random_params, random_tokens

from el_jax.curvature import Fisher, Hessian
from el_jax.models import enlarge, replication, transformer
from el_jax.process.compilation import Once

GPT2, BERT, LLAMA = TINY["gpt2"], TINY["bert"], TINY["llama"]
PRE_LN_BERT = TINY["budget_bert"]
UNTIED_BERT = dataclasses.replace(PRE_LN_BERT, tie_head=False)
SMALL = {**TINY, "untied_bert": UNTIED_BERT}
del SMALL["opt_350m"]  # its token table is narrower than its stream: refused below
SMALL = {name: dataclasses.replace(config, num_layers=1) for name, config in SMALL.items()}
SCALABLE = ("bert", "budget_bert", "untied_bert", "gpt_neox")


def widened(config, k, **changes):
    heads = {"num_heads": k * config.num_heads, "num_kv_heads": k * config.kv_heads}
    sizes = {"width": k * config.width, "mlp_width": k * config.mlp_dim, **heads}
    return dataclasses.replace(config, **{**sizes, **changes})


def params_of(config):
    """Random parameters in the default number format."""
    leaves = random_params(config)
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf, np.float64)), leaves)


def enlarged(small, params, large, scale=1.0):
    return Once(lambda params: enlarge(small, params, large, scale))(params)


def deviation(small, large, scale, x64):
    """Largest difference of the two networks' logits at all tokens, over the largest logit."""

    def both(params):
        batch = batch_of(random_tokens())
        filled = enlarge(small, params, large, scale)
        return transformer(small).apply(params, batch), transformer(large).apply(filled, batch)

    with jax.enable_x64(x64):
        expected, found = Once(both)(params_of(small))
        assert found.dtype == (jnp.float64 if x64 else jnp.float32)
        return float(jnp.abs(found - expected).max() / jnp.abs(expected).max())


@pytest.mark.parametrize("name", SMALL)
def test_a_large_network_has_the_outputs_of_the_small_one(name):
    small, scale = SMALL[name], 3**-0.5 if name in SCALABLE else 1.0
    deeper = small.num_layers + (small.norm_placement == "pre")
    large = widened(small, 3, mlp_width=3 * small.mlp_dim + 5, num_layers=deeper)
    assert deviation(small, large, scale, x64=False) < 1e-5
    # Rotations are float32 everywhere, and those of a last block are rounded another way.
    tolerance = 1e-7 if small.position == "rope" else 1e-10
    assert deviation(small, large, scale, x64=True) < tolerance


def test_the_same_sizes_give_the_same_parameters():
    params = random_params(PRE_LN_BERT)
    jax.tree.map(np.testing.assert_array_equal, enlarge(PRE_LN_BERT, params, PRE_LN_BERT), params)


def test_runs_are_enlarged_together():
    small = SMALL["gpt2"]
    large = widened(small, 2)
    runs = [random_params(small, seed) for seed in (0, 1)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *runs)
    together = Once(jax.vmap(lambda params: enlarge(small, params, large)))(stacked)
    alone = enlarged(small, runs[1], large)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[1], b), together, alone)


# One block of width 4 and 2 heads on 3 tokens, as few parameters as a transformer can have.
MINUTE = {"vocab_size": 4, "width": 4, "num_heads": 2, "num_layers": 1, "mlp_width": 6}
BERT_1 = dataclasses.replace(PRE_LN_BERT, **MINUTE, max_length=3)
NEOX_1 = dataclasses.replace(TINY["gpt_neox"], **MINUTE, rotary_fraction=1.0)
TOKENS = jax.random.randint(jax.random.key(1), (6, 3), 0, 4)


def logits(config):
    def of_context(params, context):
        tokens, place = context
        return transformer(config).apply(params, batch_of(tokens[None], place[None, None]))[0, 0]

    return of_context


def contexts():
    return TOKENS, jnp.arange(len(TOKENS)) % 3


@functools.cache
def fisher_function(config, groups):
    """The compiled function from parameters to the Fisher trace of each group of leaf names."""
    of_context = logits(config)

    def trace(params, names):
        fisher = Fisher(of_context, params, contexts(), label_chunk=4)
        return fisher.restrict(names.__contains__).all_labels_trace().mean

    return Once(lambda params: {group: trace(params, names) for group, names in groups})


def groups_of(plan):
    """``(group, names)`` of the leaves of each group, hashable."""
    names = {}
    for name, replica in plan.items():
        names.setdefault(replica.group, []).append(name)
    return tuple((group, tuple(members)) for group, members in names.items())


def fisher(config, params, plan):
    return jax.tree.map(float, fisher_function(config, groups_of(plan))(params))


def measured_factors(small, large, scale):
    """Fisher trace of each group of the large network over that of its sources in the small one."""
    plan = replication(small, large, scale)
    sources = {n: r for n, r in plan.items() if r.group not in ("added", "added_biases")}
    params = params_of(small)
    before = fisher(small, params, sources)
    after = fisher(large, enlarged(small, params, large, scale), plan)
    return before, after, {group: after[group] / trace for group, trace in before.items()}


@pytest.mark.parametrize("k", [2, 3])
def test_fisher_factors_of_bert_are_those_of_the_law(k):
    with jax.enable_x64(True):
        for scale, tables, last_norm in ((1 / k, k, 1 / k), (k**-0.5, 1, 1)):
            expected = {
                "embeddings": tables,
                "matrices": 1,
                "biases_norms": 1 / k,
                "last_norm": last_norm,
                "head_bias": 1,
            }
            large = widened(BERT_1, k, mlp_width=6 * k + 2)
            assert measured_factors(BERT_1, large, scale)[2] == pytest.approx(expected, rel=1e-8)
            audit = {r.group: r.fisher_factor for r in replication(BERT_1, large, scale).values()}
            assert audit == pytest.approx(expected)


def test_without_an_embedding_norm_the_tables_are_copied_and_the_head_has_the_scale():
    large, scale = widened(NEOX_1, 2), 2**-0.5
    expected = {"embeddings": 0.5, "matrices": 1, "biases_norms": 0.5, "last_norm": 1, "head": 1}
    with jax.enable_x64(True):
        assert measured_factors(NEOX_1, large, scale)[2] == pytest.approx(expected, rel=1e-8)
        by_copies = measured_factors(NEOX_1, large, 1.0)[2]
    assert by_copies == pytest.approx({**expected, "head": 0.5, "last_norm": 2}, rel=1e-8)


@pytest.mark.parametrize("small", [BERT_1, NEOX_1], ids=["bert", "gpt_neox"])
def test_added_layers_have_the_trace_of_their_two_last_biases_alone(small):
    large = widened(small, 2, num_layers=3)
    plan = replication(small, large)
    added = {n: r for n, r in plan.items() if r.group == "added_biases"}
    assert len(added) == 4
    (source,) = {r.source for r in added.values()}
    with jax.enable_x64(True):
        params = params_of(small)
        one = fisher_function(small, (("last", (source,)),))(params)["last"]
        after = fisher(large, enlarged(small, params, large), plan)
    assert after["added"] == 0
    expected = sum(r.fisher_factor for r in added.values()) * float(one)
    assert after["added_biases"] == pytest.approx(expected, rel=1e-8)


def hessian_factors(small, large, scale, targets_of):
    """Hessian trace of each group over that of the small network, and its deviation from the law.

    The loss is cross entropy to the distributions ``targets_of(logits)``.
    """
    plan = replication(small, large, scale)
    params = params_of(small)
    outputs = Once(lambda params: jax.vmap(lambda c: logits(small)(params, c))(contexts()))
    targets = targets_of(outputs(params))

    def traces(config, params, names):
        def loss(params):
            found = jax.vmap(lambda c: logits(config)(params, c))(contexts())
            return -(targets * jax.nn.log_softmax(found)).sum(-1).mean()

        diagonal = Once(lambda p: Hessian(loss, p).exact_diagonal(chunk=32))(params)
        flat = jax.tree_util.tree_leaves_with_path(diagonal)
        sums = {jax.tree_util.keystr(p, simple=True, separator="/"): x.sum() for p, x in flat}
        return {group: float(sum(sums[n] for n in members)) for group, members in names}

    before = traces(small, params, groups_of(plan))
    after = traces(large, enlarged(small, params, large, scale), groups_of(plan))
    audit = {r.group: r.fisher_factor for r in plan.values()}
    return {group: after[group] / before[group] / audit[group] for group in before}


def test_hessian_factors_are_those_of_fisher_where_the_model_has_the_labels_distribution():
    with jax.enable_x64(True):
        found = hessian_factors(BERT_1, widened(BERT_1, 2), 0.5, jax.nn.softmax)
        assert found == pytest.approx(dict.fromkeys(found, 1.0), rel=1e-8)


def test_hessian_factors_are_others_elsewhere():
    with jax.enable_x64(True):
        found = hessian_factors(BERT_1, widened(BERT_1, 2), 0.5, lambda z: jax.nn.softmax(-z))
    assert abs(found["matrices"] - 1) > 0.01
    assert found["head_bias"] == pytest.approx(1)  # the logits are linear in it


REFUSED = {
    "width": (GPT2, {"width": 40}, 1.0),
    "num_layers": (GPT2, {"num_layers": 1}, 1.0),
    "norm_placement": (BERT, {"num_layers": 3}, 1.0),
    "embedding_width": (TINY["opt_350m"], {}, 1.0),
    "mlp_bias": (dataclasses.replace(GPT2, mlp_bias=False), {"num_layers": 3}, 1.0),
    "qk_norm": (dataclasses.replace(LLAMA, qk_norm=True), {}, 1.0),
    "scale": (GPT2, {}, 0.5),
    "norm_epsilon": (dataclasses.replace(BERT, norm_epsilon=1e-5), {}, 0.5),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_has_no_rule_is_refused_by_the_name_of_its_setting(field):
    small, changes, scale = REFUSED[field]
    with pytest.raises(ValueError, match=rf"^{field}=.*: must be .") as error:
        replication(small, widened(small, 2, **changes), scale)
    assert "\n" not in str(error.value)
