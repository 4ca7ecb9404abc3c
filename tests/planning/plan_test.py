"""A training's plan: what fits, how long it takes, and what is said of it."""

import dataclasses
import json
import math
import subprocess
import sys

import pytest

from el_jax import build
from el_jax.planning import compile_worker, compilers, plans
from el_jax.planning.compilers import CompilerError
from el_jax.planning.forecast import UTILISATION, Interval, forecast
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import products_of_block, products_of_update, shapes_of
from el_jax.planning.report import as_json, lines
from el_jax.planning.units import duration, quantity
from el_jax.runtime.errors import ConfigError
from el_jax.runtime.own_environment import NoEnvironmentError
from el_jax.runtime.target import Target, compiling_for
from el_jax.training.devices.memory import USABLE
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


def planned(machine, compiled=None, model=(), loss=(), task=(), **train):
    config = small_config(**train)
    config.task.update(dict(task))
    config.model.update(dict(model))
    config.loss.update(dict(loss))
    with compiling_for(Target("cpu", machine.num_devices, machine.num_hosts)):
        settings = build.parse(config)
        shapes = shapes_of(build.spec_of(settings))
        update, block = products_of_update(shapes), products_of_block(shapes)
    reason = "" if compiled else "not asked, by --compile=no"
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


REFUSED = {"needed": 40e9, "at_once": 1}


def test_what_does_not_fit_is_told_with_what_to_change():
    found = planned(V5E, REFUSED, seeds=2)
    assert not found.memory.fits
    said = "\n".join(lines("copy", found, V5E))
    assert "does not fit: 40 GB of 17.2 GB" in said
    assert "1 of 2 runs at once" in said
    assert "  to fit       --config.model.dtype=bfloat16" in said
    assert changes(found) == [
        "model.dtype=bfloat16",
        "loss.path=chunked",
        "model.remat_layers=True",
        "a device with more than 44.4 GB",
    ]  # no groups, since one run is computed at once; no devices, since there is one
    assert planned(V5E, seeds=2).to_fit == ()


def changes(found):
    return [line.partition(":")[0].removeprefix("--config.") for line in found.to_fit]


def test_what_the_config_has_already_is_not_advised():
    found = planned(
        V5E, REFUSED, model={"dtype": "bfloat16", "remat_layers": True}, loss={"path": "chunked"}
    )
    assert changes(found) == ["a device with more than 44.4 GB"]
    unknown = planned(V5E, REFUSED | {"needed": math.inf}, model={"dtype": "bfloat16"})
    assert changes(unknown) == ["loss.path=chunked", "model.remat_layers=True"]


def test_groups_are_advised_where_several_runs_are_computed_at_once():
    found = planned(V5E, REFUSED | {"at_once": 4}, seeds=8, max_runs_at_once=4)
    (groups,) = [line for line in found.to_fit if "max_runs_at_once" in line]
    assert groups.endswith("(now 4 of 8 at once)")
    assert not [line for line in found.to_fit if "train.seeds" in line]


def test_fewer_runs_are_advised_only_where_their_states_are_too_many():
    fitting = planned(V5E, REFUSED, seeds=8).memory
    room = USABLE * fitting.available
    found = planned(V5E, REFUSED | {"needed": room + 1.5 * fitting.state_of_run}, seeds=8)
    (seeds,) = [line for line in found.to_fit if "train.seeds" in line]
    assert seeds.endswith("at most 6 runs in all (now 8)")
    on_four = planned(
        V5E_4, REFUSED | {"needed": room + 1.5 * fitting.state_of_run}, seeds=16, shard="runs"
    )
    (seeds,) = [line for line in on_four.to_fit if "train.seeds" in line]
    assert seeds.endswith("at most 8 runs in all (now 16)")
    too_large = planned(V5E, REFUSED | {"needed": room + 9 * fitting.state_of_run}, seeds=8)
    assert not [line for line in too_large.to_fit if "train.seeds" in line]


def test_devices_are_advised_where_they_divide_the_windows():
    on_four = planned(V5E_4, REFUSED, seeds=4, shard="runs")
    (parts,) = [line for line in on_four.to_fit if "fsdp" in line]
    assert parts.endswith("a part of each parameter on 4 devices")
    assert not [line for line in on_four.to_fit if "shard=data" in line]
    alone = planned(V5E_4, REFUSED, seeds=1, shard="none")
    assert [line for line in alone.to_fit if "shard=data" in line]
    in_parts = planned(V5E_4, REFUSED, seeds=1, shard="fsdp")
    assert not [line for line in in_parts.to_fit if "shard" in line]


def test_the_shapes_fit_in_groups_where_not_all_gradients_do():
    whole = planned(V5E, seeds=8).memory
    gradients = whole.parts["gradients"] / 8
    room = whole.needed - 3 * gradients
    chip = dataclasses.replace(V5E.chip, memory=room / USABLE)
    found = planned(dataclasses.replace(V5E, chip=chip), seeds=8).memory
    assert (found.fits, found.runs_at_once) == (True, 4)
    assert found.parts["gradients"] == pytest.approx(4 * gradients)


def test_a_compiler_that_does_not_count_is_not_quoted():
    for name in ("h100-1", "t4-1"):
        found = planned(machine_of(name), COMPILED, seeds=2)
        assert found.compiler_operations is None
        assert "by the compiler" not in "\n".join(lines("copy", found, machine_of(name)))


def test_sums_between_slices_go_over_the_network_of_hosts():
    slices = machine_of("tpu-v5e-2x16")
    between = ["all-reduce between slices", int(slices.chip.network), 2.0, True]
    facts = {"cycles": 0.0, "messages": [["all-reduce", 1000, 1.0, True], between]}
    found = planned(slices, COMPILED | facts, seeds=32, shard="runs")
    assert found.update.ideal == pytest.approx(2)
    assert "all-reduce between slices of 3.12 GB, 2 times" in "\n".join(lines("x", found, slices))
    # without a compiler: each of 16 chips sends its part of the gradients, here a byte a second
    slow = dataclasses.replace(slices, chip=dataclasses.replace(slices.chip, network=1.0))
    found = planned(slow, seeds=1, shard="data", task={"strings_per_update": 32})
    assert found.update.ideal == 4 * found.parameters // 16


def not_in_json(name):
    raise AssertionError(f"{name} is not in JSON")


@pytest.mark.parametrize("compiled", [None, COMPILED, REFUSED | {"needed": math.inf}])
def test_the_json_has_the_verdict_and_nothing_that_json_has_not(compiled):
    found = planned(V5E, compiled, seeds=2)
    text = json.dumps(as_json(found))
    read = json.loads(text, parse_constant=not_in_json)
    assert read["memory"]["fits"] == found.memory.fits
    assert read["memory"]["needed"] == (found.memory.needed if found.memory.fits else None)
    assert read["to_fit"] == list(found.to_fit)
    assert bool(read["to_fit"]) != found.memory.fits
    assert read["intensity"] == found.intensity
    assert read["device_hours"]["likely"] == found.device_hours.likely


def test_the_command_line_writes_the_plan(tmp_path):
    command = [sys.executable, "-m", "el_jax.plan", "--config=configs/el/copy.py:smoke"]
    options = ["--machine=tpu-v5e-4", "--compile=no", f"--workdir={tmp_path / 'new'}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"wrote {tmp_path / 'new' / 'plan.json'}"
    read = json.loads((tmp_path / "new" / "plan.json").read_text(), parse_constant=not_in_json)
    assert (read["machine"], read["memory"]["fits"], read["to_fit"]) == ("tpu-v5e-4", True, [])
    assert read["not_compiled"] == "not asked, by --compile=no"


def test_this_machine_compiles_for_itself():
    found = plans.plan(small_config(seeds=2), machine_of("cpu"), install=False)
    assert (found.not_compiled, found.messages, found.by) == ("", (), "roofline")
    assert found.memory.parts["aliased"] > 0


def test_devices_share_the_runs_and_then_send_nothing(by_shapes):
    found = planned(V5E_4, seeds=8, shard="runs")
    assert found.devices == 4
    assert found.operations == 4 * by_shapes.operations
    assert found.update.ideal == pytest.approx(by_shapes.update.ideal, rel=1e-3)


def test_lines_have_units(by_shapes):
    said = "\n".join(lines("copy", by_shapes, V5E))
    for words in ("197 Top/s bfloat16", "17.2 GB", "an update", "device-hours", "fits: at least"):
        assert words in said
    assert "compiler " in said
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
