"""The programs of a training are compiled from shapes, here for the devices of this machine."""

import jax
import pytest

from el_jax import build
from el_jax.planning.compile_worker import compile_program
from el_jax.planning.compiled_text import CompiledText, bytes_needed
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import PROGRAMS, lowered, shapes_of
from el_jax.probes import contexts_of
from el_jax.training.devices.memory import num_bytes
from tests.training.small_training import built, small_config


def shapes(**train):
    return shapes_of(build.spec_of(build.parse(small_config(**train))))


def test_shapes_are_those_of_the_arrays():
    config = small_config(seeds=2)
    found, state = shapes(seeds=2), built(config).program.init()
    assert num_bytes(found.state) == num_bytes(state)
    assert found.num_params == sum(leaf[0].size for leaf in jax.tree.leaves(state.params))


@pytest.mark.parametrize("program", PROGRAMS)
def test_by_runs_nothing_is_sent(program):
    compiled = lowered(shapes(seeds=2, shard="runs"), program, 10).compile()
    text = CompiledText(compiled.as_text())
    assert (text.messages(), text.host_transfers()) == ([], [])


@pytest.mark.parametrize("strings_per_window", [1, 2])
def test_contexts_have_the_shapes_of_the_probe(strings_per_window):
    config = small_config()
    config.task.strings_per_window = strings_per_window
    spec = build.spec_of(build.parse(config))
    found = shapes_of(spec)
    drawn = spec.task.batch_at(spec.task.train_set(), 0, jax.random.key(0))
    windows, _ = contexts_of(drawn)
    asked = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), windows)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), found.contexts) == asked


def test_by_data_gradients_are_summed_once_an_update_and_metrics_once_a_dispatch():
    found = shapes(seeds=1, shard="data")
    text = CompiledText(lowered(found, "updates", 10).compile().as_text())
    summed = [m for m in text.messages() if m.looped]
    assert {m.kind for m in summed} == {"all-reduce"}
    sent = sum(m.num_bytes * m.times for m in summed) / 10
    # the two biases that a parallel layer adds to the stream have one gradient, sent once
    twins = num_bytes(found.state.params["layers_0"]["mlp"]["out"]["bias"])
    assert (
        sent == num_bytes(found.state.params) - twins + 4
    )  # the loss is summed with its gradients
    assert {m.kind for m in text.messages() if not m.looped} == {"all-gather"}


def test_facts_of_a_program_have_its_memory_and_reuse_its_state():
    found = shapes(seeds=2)
    facts = compile_program(found, machine_of("h100-1"), "updates", 10)
    assert facts["state"] == num_bytes(found.state)
    assert facts["aliased"] >= facts["state"]
    assert bytes_needed(facts) >= facts["arguments"] + facts["temporaries"]
    assert (facts["at_once"], facts["cycles"], facts["host_transfers"]) == (2, 0.0, [])
    assert {product.operand for product in facts["products"]} <= {"f32"}
    assert facts["exponential_types"].keys() == {"f32"}
