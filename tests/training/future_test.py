"""Objectives on later tokens: each compared with its definition, and the head that adds them."""

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs import by_name, common
from configs.el import copy
from configs.el.path_star import get_config
from el_jax import build
from el_jax.losses import cross_entropy
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.training.objectives.future import FUTURE, Answers
from el_jax.training.objectives.future.bag import to_come
from el_jax.training.objectives.future.next_latent import smooth_l1
from el_jax.training.objectives.future.token_order import places_until

KEY = jax.random.key(0)
E, V = 4, 5
LABELS = np.array([[2, 0, 2], [1, 3, 4]])
MASK = np.array([[True, True, True], [True, True, False]])


def answers():
    rng = np.random.default_rng(0)
    hidden, head, bias = (rng.normal(size=s).astype(np.float32) for s in ((2, 3, E), (E, V), (V,)))
    return Answers(*map(jnp.asarray, (hidden, LABELS, MASK, head, bias)))


def objective(name, **numbers):
    """The objective, and parameters without zeros."""
    chosen = dict(common.future(name, **numbers))
    del chosen["name"], chosen["weight"]
    future = FUTURE[name](E, V, **chosen)
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(future.init, KEY)
    return future, jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype), shapes)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def places():
    return itertools.product(range(2), range(3))


@pytest.mark.parametrize("num_heads", [1, 2, 5])
def test_each_head_predicts_a_token_further_on(num_heads):
    future, own = objective("multi_token", num_heads=num_heads)
    given = jax.tree.map(np.asarray, answers())
    expected = np.zeros((2, 3))
    for (i, t), k in itertools.product(places(), range(1, num_heads + 1)):
        if t + k < 3 and MASK[i, t + k]:
            hidden = given.hidden[i, t] + gelu(given.hidden[i, t] @ own["in"][k - 1]) @ np.asarray(
                own["out"][k - 1]
            )
            logits = hidden @ given.head + given.bias
            expected[i, t] -= log_softmax(logits)[LABELS[i, t + k]]
    np.testing.assert_allclose(future.term(own, answers()), expected, rtol=1e-5)


def test_the_bag_holds_what_is_still_to_come():
    future, own = objective("bag")
    bag = to_come(answers(), V)
    assert [np.flatnonzero(row).tolist() for row in bag[0]] == [[0, 2], [0, 2], [2]]
    assert [np.flatnonzero(row).tolist() for row in bag[1]] == [[1, 3], [3], []]
    logits = np.asarray(answers().hidden @ own["kernel"]) + np.asarray(own["bias"])
    right = 1 / (1 + np.exp(-logits))
    expected = -(bag * np.log(right) + (1 - bag) * np.log(1 - right)).sum(-1)
    np.testing.assert_allclose(future.term(own, answers()), expected, rtol=1e-5)


def test_tokens_are_ranked_by_how_soon_they_come():
    future, own = objective("token_order")
    inf = np.inf
    np.testing.assert_array_equal(
        places_until(answers(), V),
        [
            [[1, inf, 0, inf, inf], [0, inf, 1, inf, inf], [inf, inf, 0, inf, inf]],
            [[inf, 0, inf, 1, inf], [inf, inf, inf, 0, inf], 5 * [inf]],
        ],
    )
    log_p = log_softmax(np.asarray(answers().hidden @ own["kernel"]))
    near, far = 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))
    term = np.asarray(future.term(own, answers()))
    np.testing.assert_allclose(term[0, 0], -near * log_p[0, 0, 2] - far * log_p[0, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(term[0, 2], -log_p[0, 2, 2], rtol=1e-5)
    assert term[1, 2] == 0
    slopes = jax.grad(lambda own: future.term(own, answers()).sum())(own)
    assert np.isfinite(slopes["kernel"]).all()


@pytest.mark.parametrize("horizon", [1, 2, 8])
def test_a_latent_is_rolled_over_the_tokens_of_the_answer(horizon):
    future, own = objective("next_latent", horizon=horizon, kl_weight=0.5)
    given = jax.tree.map(np.asarray, answers())
    first, middle, out = (np.asarray(own[name]) for name in ("in", "middle", "out"))
    expected = np.zeros((2, 3))
    for i, t in places():
        state, terms = given.hidden[i, t], []
        for k in range(1, horizon + 1):
            if t + k > 2 or not MASK[i, t + k]:
                break
            both = np.concatenate([state, given.head[:, LABELS[i, t + k - 1]]])
            both = (both - both.mean()) / np.sqrt(both.var() + 1e-5)
            state = state + gelu(gelu(both @ first) @ middle) @ out
            aim = given.hidden[i, t + k]
            wanted, found = (log_softmax(h @ given.head + given.bias) for h in (aim, state))
            terms.append(
                np.asarray(smooth_l1(jnp.asarray(state - aim))).mean()
                + 0.5 * (np.exp(wanted) * (wanted - found)).sum()
            )
        expected[i, t] = np.mean(terms) if terms else 0
    np.testing.assert_allclose(future.term(own, answers()), expected, rtol=2e-4)
    np.testing.assert_allclose(smooth_l1(jnp.array([-3.0, 0.5])), [2.5, 0.125])


def test_a_latents_target_and_the_output_matrix_are_held_fixed():
    future, own = objective("next_latent", horizon=1)

    def total(hidden, head):
        return future.term(own, answers()._replace(hidden=hidden, head=head)).sum()

    of_hidden, of_head = jax.grad(total, (0, 1))(answers().hidden, answers().head)
    assert (of_head == 0).all()
    assert (of_hidden[0, 2] == 0).all()  # the last place is only a target
    assert (of_hidden[0, :2] != 0).all()


def test_a_prefix_and_a_suffix_predict_both_ends_of_the_gap():
    future, own = objective("belief_state")
    given = jax.tree.map(np.asarray, answers())
    of = jax.tree.map(np.asarray, own)

    def standardize(x):
        return (x - x.mean()) / np.sqrt(x.var() + 1e-5)

    def suffix(i, j):
        """The state that has read the answer's labels after place j, last one first."""
        state = np.zeros(E)
        for t in range(2, j, -1):
            if MASK[i, t]:
                token = standardize(of["tokens"][LABELS[i, t]])
                gate = 1 / (1 + np.exp(-np.concatenate([state, token]) @ of["gate"]))
                fresh = np.tanh(np.concatenate([gate * state, token]) @ of["fresh"])
                state = (1 - gate) * state + gate * fresh
        return standardize(state)

    expected = np.zeros((2, 3))
    for i, t in places():
        terms = []
        for j in range(t, 3):
            if MASK[i, j]:
                inner = gelu(np.concatenate([given.hidden[i, t], suffix(i, j)]) @ of["inner"])
                ends = (given.hidden[i, t] + inner @ of[end] for end in ("next", "previous"))
                log_p = [log_softmax(end @ given.head + given.bias) for end in ends]
                terms.append(-log_p[0][LABELS[i, t]] - log_p[1][LABELS[i, j]])
        expected[i, t] = np.mean(terms) if terms else 0
    np.testing.assert_allclose(future.term(own, answers()), expected, rtol=2e-5)


def make_spec(name, **changes):
    config = get_config(f"smoke,future={name}")
    config.future.update(changes)
    return build.make_spec(build.parse(config))


def batch_of(task, num):
    return Once(lambda: task.pack(task.test_set(num)))()


@pytest.mark.parametrize("name", FUTURE)
def test_a_loss_is_that_of_the_next_token_and_the_weighted_term(name):
    heads = [make_spec(name, weight=weight).objective.head for weight in (0.0, 0.5, 1.0)]
    plain = build.make_spec(build.parse(get_config("smoke"))).objective.head
    task = make_spec(name).task
    batch = batch_of(task, 4)
    params = Once(heads[0].model.init)(KEY)
    of_model = {key: value for key, value in params.items() if key != "future"}
    jax.tree.map(np.testing.assert_array_equal, of_model, Once(plain.model.init)(KEY))

    @Once
    def measured(params):
        losses = [head.loss(head.outputs(params, batch), batch, {}) for head in (*heads, plain)]
        return losses, *(
            (
                head.stats(outputs := head.outputs(params, batch), batch).label_logit,
                head.gradient_norm(outputs, batch, {}),
                head.model.apply(params, batch),
            )
            for head in (heads[2], plain)
        )

    (none, half, whole, alone), ours, theirs = measured(params)
    np.testing.assert_allclose(none, alone, rtol=1e-6)
    assert (whole > none)[:, 0].all()
    np.testing.assert_allclose(half, (none + whole) / 2, rtol=1e-5)
    for of_head, of_plain in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(of_head, of_plain, rtol=1e-5, atol=1e-6)


def test_later_tokens_end_with_their_answer():
    """Two strings in a window are two answers."""
    config = by_name.get_config("task=copy")
    config.future = common.future("multi_token")
    config.task.update(copy_length=3, strings_per_window=2, padding_length=4)
    spec = build.make_spec(build.parse(config))
    head, task = spec.objective.head, spec.task
    batch = batch_of(task, 4)
    term = Once(lambda key: head.outputs(head.model.init(key), batch).term)(KEY)
    assert batch.labels.shape == term.shape == (2, 2 * 3)
    assert (np.asarray(term == 0) == [False, False, True] * 2).all()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"future.name": "multi"}, "config.future.name='multi': must be one of bag, belief_state"),
        ({"future.num_heads": 0}, "config.future.num_heads=0: must be at least 1"),
        ({"loss.path": "gram"}, "config.loss.path='gram': must be 'auto' or 'plain' with config.f"),
    ],
)
def test_a_bad_number_is_refused(changes, fault):
    config = get_config("smoke,future=multi_token")
    for key, value in changes.items():
        section, name = key.split(".")
        with config[section].ignore_type():
            config[section][name] = value
    with pytest.raises(ConfigError, match=re.escape(fault)):
        build.make_spec(build.parse(config))


def test_a_task_whose_answers_are_single_tokens_is_refused():
    config = copy.get_config("smoke")
    config.future = common.future("multi_token")
    with pytest.raises(ConfigError, match="needs answers of at least 2 tokens, where"):
        build.make_spec(build.parse(config))


def test_another_loss_leaves_the_objective_on_later_tokens():
    training = build.build(build.parse(get_config("smoke,future=multi_token")))
    other = training.with_loss(lambda stats: 2 * cross_entropy(stats))
    head, earlier = other.spec.objective.head, training.spec.objective.head
    batch = batch_of(training.spec.task, 2)

    @Once
    def measured(key):
        params = head.model.init(key)
        losses, ordinary = (h.loss(h.outputs(params, batch), batch, {}) for h in (head, earlier))
        return losses - ordinary, cross_entropy(head.stats(head.outputs(params, batch), batch))

    np.testing.assert_allclose(*measured(KEY), rtol=1e-4)
