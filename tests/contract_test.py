"""The contract of every task, model, loss and optimizer that a config can name.

A new one is covered once its line is in the dict. The first update of each is traced at its default
sizes and not compiled; its mathematics is tested in a file of its own.
"""

import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs import by_name
from el_jax import build
from el_jax.losses import ALL_LOSSES
from el_jax.models import FAMILIES as TRANSFORMERS, MODELS
from el_jax.process.compilation import Once
from el_jax.tasks import TASKS, Task
from el_jax.training.objectives.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS, make_optimizer, optimizer_numbers
from el_jax.training.program import initial_state
from el_jax.training.state import Hypers
from el_jax.training.step import update

ROOT = pathlib.Path(__file__).parents[1]
FAMILIES = {
    "task": TASKS,
    "model": {**MODELS, **{name: p for name, p in TRANSFORMERS.items() if p.causal}},
    "loss": ALL_LOSSES,
    "optimizer": OPTIMIZERS,
}
ALONE = [
    (family, name) for family, table in FAMILIES.items() for name in table if name != "transformer"
]  # the transformer is named by its presets


def make_spec(family, name):
    both_ways = name == "bidirectional_lstm"  # it would see the labels of the default task
    config = by_name.get_config(f"{family}={name}" + ",task=masked" * both_ways)
    if name == "llama":
        config.model.num_kv_heads = 1  # its own three do not divide the two heads
    if family == "model" and name in TRANSFORMERS:
        config.model.num_layers = 1
    config.train.seeds = 2
    return build.make_spec(build.parse(config))


@pytest.mark.parametrize(("family", "name"), ALONE)
def test_each_makes_an_update_from_its_name(family, name):
    spec = make_spec(family, name)
    optimizer = functools.partial(make_optimizer, spec.optimizer)
    step_of = functools.partial(update, objective=spec.objective, optimizer=optimizer)

    def first_update(state, hypers, data):
        def one_run(run, hypers):
            return step_of(run, state.step, data, hypers)

        return jax.vmap(one_run)(state.runs, hypers)

    state = jax.eval_shape(initial_state(spec), spec.hypers)
    data = jax.eval_shape(spec.task.train_set)
    runs, measured = jax.eval_shape(first_update, state, spec.hypers, data)
    assert runs == state.runs
    groups = spec.hypers.num_runs, len(spec.task.group_names)
    assert {moments.mean.shape for moments in measured.of_tokens.values()} == {groups}
    assert measured.norms.shape == (spec.hypers.num_runs, 3)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_hashable_source_of_equal_windows(name):
    task = make_spec("task", name).task
    assert isinstance(task, Task)
    assert hash(task) == hash(type(task)(**vars(task)))
    key, data = jax.random.key(0), Once(task.train_set)()
    first = Once(lambda data: task.batch_at(data, 0, key))(data)
    assert first.tokens.shape[1] == task.window_length
    assert first.supervised.shape == first.labels.shape == first.mask.shape == first.groups.shape
    assert first.labels.shape[1] % task.answer_length == 0
    test = Once(lambda: task.pack(task.test_set(first.tokens.shape[0])))()
    for batch in (first, test):
        assert 0 <= batch.tokens.min() <= batch.tokens.max() < task.vocab_size
        assert 0 <= batch.labels.min() <= batch.labels.max() < task.vocab_size
        assert 0 <= batch.supervised.min() <= batch.supervised.max() < task.window_length
        assert batch.groups.max() < len(task.group_names)
        assert batch.mask.any()
    again = Once(task.batch_at)(data, jnp.int32(0), key)  # traced, as in a resumed training
    jax.tree.map(np.testing.assert_array_equal, again, first)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_pure_float32_and_answers_at_the_supervised_positions(name):
    spec = make_spec("model", "gpt_neox" if name == "transformer" else name)
    model, task = spec.objective.head.model, spec.task
    batch = jax.eval_shape(task.batch_at, jax.eval_shape(task.train_set), 0, jax.random.key(0))
    params = jax.eval_shape(model.init, jax.random.key(0))
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {np.dtype("float32")}
    logits = jax.eval_shape(model.apply, params, batch)
    assert (logits.shape, logits.dtype) == ((*batch.labels.shape, task.vocab_size), jnp.float32)
    jax.eval_shape(model.apply, params, batch, jax.random.key(1))  # the key of dropout
    if model.readout is not None:
        hidden, head, _ = jax.eval_shape(model.readout, params, batch)
        assert hidden.shape == (*batch.labels.shape, model.head_width)
        assert head.shape == (model.head_width, task.vocab_size)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_zero_gradient_moves_nothing_but_what_decays(name):
    config, decays = (
        make_spec("optimizer", name).optimizer,
        "weight_decay" in optimizer_numbers(name),
    )
    numbers = {"peak_lr": jnp.float32(0.5)} | ({"weight_decay": jnp.float32(0.1)} if decays else {})
    numbers |= {"noise": jnp.float32(0)} if "noise" in optimizer_numbers(name) else {}
    hypers = Hypers(jnp.uint32(0), {}, numbers)
    params = {"kernel": jnp.ones((2, 2)), "bias": jnp.ones(2)}

    @jax.jit
    def step(params, state):
        optimizer = make_optimizer(config, hypers)
        zeros = jax.tree.map(jnp.zeros_like, params)
        flat = lambda params: (0 * params["bias"].sum(), None)  # noqa: E731
        further = {"loss_of": flat, "key": jax.random.key(0)}
        changes, state = optimizer.update(zeros, state, params, **further)
        return jax.tree.map(jnp.add, params, changes), state

    state = make_optimizer(config, hypers).init(params)
    for _ in range(3):
        params, state = step(params, state)
    np.testing.assert_array_equal(params["bias"], 1.0)
    assert ((params["kernel"] < 1) if decays else (params["kernel"] == 1)).all()


@pytest.mark.parametrize(
    ("folder", "methods", "shared"),
    [
        ("training/optimizers", OPTIMIZERS, "choice clipping decayed methods schedules"),
        ("training/objectives/future", FUTURE, "head term"),
    ],
)
def test_every_method_of_a_folder_is_in_its_dict(folder, methods, shared):
    files = {path.stem for path in (ROOT / "el_jax" / folder).glob("*.py")}
    modules = {function.__module__ for function in methods.values()}
    ours = {module for module in modules if module.startswith("el_jax.")}  # experiments add theirs
    assert files - {"__init__", *shared.split()} == {module.rsplit(".", 1)[-1] for module in ours}
