"""A training's plan: what fits, how long it takes, and what is said of it."""

import dataclasses
import json
import math

import pytest

from el_jax import build
from el_jax.planning import compile_worker, compilers, plans
from el_jax.planning.compilers import CompilerError
from el_jax.planning.forecast import UTILISATION, Interval, forecast
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import products_of_block, products_of_update, shapes_of
from el_jax.planning.report import advice, duration, lines, quantity
from el_jax.runtime.errors import ConfigError
from el_jax.runtime.own_environment import NoEnvironmentError
from el_jax.runtime.target import Target, compiling_for
from tests.training.small_training import small_config

V5E, V5E_4 = machine_of("tpu-v5e-1"), machine_of("tpu-v5e-4")
COMPILED = {
    "arguments": 3e9,
    "outputs": 2e9,
    "aliased": 2e9,
    "temporaries": 1e9,
    "code": 0,
    "operations": 2e9,
    "bytes": 1e9,
    "cycles": 1.5e6,
    "messages": [["all-reduce", 1000, 1.0, True]],
    "host_transfers": [],
    "at_once": 2,
    "of_all": 4e9,
}


def planned(machine, compiled=None, **train):
    config = small_config(**train)
    with compiling_for(Target("cpu", machine.num_devices, machine.num_hosts)):
        settings = build.parse(config)
        shapes = shapes_of(build.spec_of(settings))
        update, block = products_of_update(shapes), products_of_block(shapes)
    reason = "" if compiled else "not asked for"
    return forecast(settings, shapes, machine, update, block, compiled, reason)


@pytest.fixture(scope="module")
def by_shapes():
    return planned(V5E, seeds=2)


def test_without_a_compiler_the_roofline_and_the_shapes_decide(by_shapes):
    assert by_shapes.by == "roofline"
    assert by_shapes.messages is None
    assert by_shapes.update.ideal == pytest.approx(by_shapes.update.likely * UTILISATION)
    assert by_shapes.memory.fits
    state = by_shapes.memory.parts["state"]
    assert state > 2 * 3 * 4 * by_shapes.parameters  # AdamW keeps two numbers beside each
    assert by_shapes.training.ideal == pytest.approx(
        20 * by_shapes.update.ideal + by_shapes.evaluations.ideal
    )
    assert by_shapes.device_hours.likely == pytest.approx(by_shapes.training.likely / 3600)


def test_the_compiler_says_more():
    found = planned(V5E, COMPILED, seeds=2)
    assert (found.by, found.update.ideal) == ("compiler", 1e-3)  # 1.5e6 cycles at 1.5 GHz
    assert found.messages == (("all-reduce", 1000, 1.0),)
    assert (found.memory.needed, found.memory.fits) == (4e9, True)
    assert found.memory.room_for_runs == int(0.9 * 16 * 2**30 / 2e9)
    assert found.compiler_operations == 2e9
    assert found.stand_in == ""


def asked(**model):
    config = small_config(seeds=2)
    config.model.update(width=16, num_heads=2, **model)
    return json.loads(config.to_json_best_effort())


def test_plain_attention_stands_in_where_cudnn_would_be_chosen_but_is_not_installed(monkeypatch):
    h100, config = machine_of("h100-1"), asked(dtype="bfloat16")
    monkeypatch.setattr(compile_worker, "_is_here", lambda package: False)
    changed, replaced = compile_worker.without_cudnn(config, h100)
    assert changed == config | {"model": config["model"] | {"attention_impl": "xla"}}
    found = planned(h100, COMPILED | {"stand_in": replaced}, seeds=2)
    assert "  compiled     plain attention, since cuDNN" in "\n".join(lines("copy", found, h100))
    for given, machine in (
        (config, V5E),
        (config, machine_of("t4-1")),  # too old for cuDNN's
        (asked(dtype="float32"), h100),
        (asked(dtype="bfloat16", attention_impl="cudnn"), h100),
        (asked(dtype="bfloat16", attention_impl="xla"), h100),
    ):
        assert compile_worker.without_cudnn(given, machine) == (given, "")
    monkeypatch.setattr(compile_worker, "_is_here", lambda package: True)
    assert compile_worker.without_cudnn(config, h100) == (config, "")


def test_what_does_not_fit_is_told_with_what_to_change():
    found = planned(V5E, {"needed": 40e9, "at_once": 1}, seeds=2)
    assert not found.memory.fits
    said = "\n".join(lines("copy", found, V5E))
    assert "does not fit: 40 GB of 17.2 GB" in said
    assert "--config.loss.path=chunked" in said
    assert "shard=fsdp" not in said  # there is one device
    found = planned(V5E_4, {"needed": 40e9, "at_once": 1}, seeds=4, shard="runs")
    (parts,) = [line for line in advice(found) if "fsdp" in line]
    assert parts.endswith("a part of each parameter on 4 devices")
    assert not [
        line
        for line in advice(dataclasses.replace(found, layout="fsdp by jit: as asked for"))
        if "fsdp" in line
    ]
    assert not list(advice(dataclasses.replace(found, memory=planned(V5E).memory)))


def test_devices_share_the_runs_and_then_send_nothing(by_shapes):
    found = planned(V5E_4, seeds=8, shard="runs")
    assert found.devices == 4
    assert found.operations == 4 * by_shapes.operations
    assert found.update.ideal == pytest.approx(by_shapes.update.ideal, rel=1e-3)


def test_lines_have_units(by_shapes):
    said = "\n".join(lines("copy", by_shapes, V5E))
    for words in ("197 Top/s bfloat16", "17.2 GB", "an update", "device-hours", "fits: at least"):
        assert words in said
    assert "not compiled" in said
    assert (quantity(3.2e9, "B"), quantity(2, " words")) == ("3.2 GB", "2 words")
    assert quantity(math.inf, "B") == "more B than there is"
    assert [duration(s) for s in (7200, 90, 0.02, 3e-7)] == ["2 h", "1.5 min", "20 ms", "0.3 us"]
    assert Interval(1.0, 2.0) + Interval(1.0, 1.0).times(2) == Interval(3.0, 4.0)


@pytest.mark.parametrize("error", [NoEnvironmentError, CompilerError])
def test_no_compiler_leaves_the_roofline_and_a_reason(error, monkeypatch):
    def fail(*_, **__):
        raise error("no network")

    monkeypatch.setattr(plans, "compile_elsewhere", fail)
    found = plans.plan(small_config(), V5E)
    assert (found.by, found.not_compiled) == ("roofline", "no network")
    json.dumps(dataclasses.asdict(found))


def test_half_a_chip_is_not_compiled_for():
    with pytest.raises(NoEnvironmentError, match="whole device of tpu-v4-4"):
        compilers.compile_elsewhere({}, machine_of("tpu-v4-4"))


def test_a_layout_that_the_machine_cannot_have_is_refused():
    config = small_config(seeds=3, shard="runs")
    with pytest.raises(ConfigError, match=r"train\.shard='runs'.* on 4 devices"):
        plans.plan(config, V5E_4, compiled=False)
