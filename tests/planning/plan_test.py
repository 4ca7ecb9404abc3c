"""A training's plan: what fits, how long it takes, and what is said of it."""

import math
import subprocess
import sys

import jax
import jaxlib
import pytest

from el_jax import build
from el_jax.planning import plans
from el_jax.planning.compile_worker import compile_updates
from el_jax.planning.compilers import CompilerError, NoCompilerError, packages
from el_jax.planning.forecast import UTILISATION, Interval
from el_jax.planning.machines import machine_of
from el_jax.planning.programs import shapes_of
from el_jax.planning.report import hours, lines
from el_jax.planning.units import duration, quantity
from el_jax.training.memory import fewer_at_once, num_bytes
from tests.planning import compile_targets
from tests.training.small_training import built, small_config

V5E, V5E_4 = machine_of("tpu-v5e-1"), machine_of("tpu-v5e-4")
COMPILED = {
    "parts": {"arguments": 3e9, "temporaries": 1e9},
    "cycles": 1.5e6,
    "messages": [["all-reduce", 1000, 1.0]],
    "state": 3e9,
}
REFUSED = COMPILED | {"parts": {"refused by the compiler": 40e9}}


@pytest.fixture
def planned(monkeypatch):
    """A plan made with this report in place of the compiler's; None means no compiler."""

    def made(machine, compiled=None, model=(), loss=(), **train):
        config = small_config(**train)
        config.model.update(dict(model))
        config.loss.update(dict(loss))
        monkeypatch.setattr(plans, "compile_elsewhere", lambda *_, **__: compiled)
        return plans.plan(config, machine, compiled=compiled is not None)

    return made


def test_without_a_compiler_the_roofline_and_the_shapes_decide(planned):
    found = planned(V5E, seeds=2)
    assert (found.by, found.messages, found.memory.fits) == ("roofline", None, True)
    assert found.not_compiled == "not asked, by --compile=no"
    reading, computing = found.bytes_moved / 819e9, found.operations / 197e12
    assert found.update.ideal == pytest.approx(max(reading, computing))
    assert found.update.ideal == pytest.approx(found.update.likely * UTILISATION)
    assert found.training.ideal > 20 * found.update.ideal
    assert found.device_hours.likely == pytest.approx(found.training.likely / 3600)
    state = found.memory.parts["parameters and optimizer state"]
    assert state > 2 * 3 * 4 * found.parameters  # AdamW keeps two numbers beside each
    assert found.memory.parts["gradients"] == 2 * 4 * found.parameters


def test_the_compiler_says_more(planned):
    found = planned(V5E, COMPILED, seeds=2)
    assert (found.by, found.update.ideal) == ("compiler", 1e-3)  # 1.5e6 cycles at 1.5 GHz
    assert found.messages == (("all-reduce", 1000, 1.0),)
    assert (found.memory.needed, found.memory.fits) == (4e9, True)
    assert found.memory.room_for_runs == int(0.9 * 16 * 2**30 / 2e9)


def test_a_training_with_attention_by_cudnn_is_planned_with_plain_attention(planned):
    model = {"dtype": "bfloat16"}
    flash = planned(machine_of("h100-1"), model=model | {"attention_impl": "cudnn"})
    assert flash == planned(machine_of("h100-1"), model=model)


def test_devices_share_the_runs_and_then_send_nothing(planned):
    one, four = planned(V5E, seeds=2), planned(V5E_4, seeds=8, shard="runs")
    assert four.operations == 4 * one.operations
    assert four.update.ideal == pytest.approx(one.update.ideal, rel=1e-3)
    assert four.memory.runs == 2


def test_what_does_not_fit_is_told_with_the_number_that_a_training_would_say(planned):
    found = planned(V5E, REFUSED, seeds=8)
    said = "\n".join(lines("copy", found, V5E))
    assert "does not fit: 40 GB of 17.2 GB" in said
    # the state of all runs is there in any case
    number = fewer_at_once(8, needed=40e9 - 3e9, free=16 * 2**30 - 3e9)
    assert 1 < number < 8
    assert (
        f"; 8 of 8 runs at once, room for about 3; set --config.train.max_runs_at_once={number}"
        in said
    )
    alone = planned(V5E, REFUSED, seeds=8, max_runs_at_once=1)
    assert "max_runs_at_once" not in "\n".join(lines("copy", alone, V5E))
    state_alone = REFUSED | {"parts": {"arguments": 40e9}}
    assert planned(V5E, state_alone, seeds=8).memory.fewer_at_once == 0


def test_a_program_that_the_compiler_refuses_without_a_number_does_not_fit(planned):
    silent = REFUSED | {"parts": {"refused by the compiler": math.inf}}
    found = planned(V5E, silent, seeds=2)
    assert not found.memory.fits
    assert "does not fit: more B than there is of 17.2 GB" in "\n".join(lines("copy", found, V5E))


def test_the_command_line_prints_the_plan():
    command = [sys.executable, "-m", "el_jax.plan", "--config=configs/el/copy.py:smoke"]
    options = ["--machine=tpu-v5e-4", "--compile=no"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert said[0] == "copy, cross_entropy, transformer on tpu-v5e-4"
    assert any(line.startswith("  memory       fits: at least ") for line in said)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (999.96e6, "B", "1 GB"),
        (999.4e6, "B", "999 MB"),
        (3.234e19, "op", "32.3 Eop"),
        (1.234e22, "op", "12,300 Eop"),
    ],
)
def test_quantities_are_written_without_exponents(number, unit, text):
    assert quantity(number, unit) == text


def test_long_times_are_written_without_exponents():
    assert duration(1234 * 3600) == "1,230 h"
    assert hours(Interval(476.0, 1360.4)) == "476 to 1,360 device-hours"


# ── compilers ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [NoCompilerError, CompilerError])
def test_no_compiler_leaves_the_roofline_and_a_reason(error, monkeypatch):
    def fail(*_, **__):
        raise error("no network")

    monkeypatch.setattr(plans, "compile_elsewhere", fail)
    found = plans.plan(small_config(), V5E)
    assert (found.by, found.not_compiled) == ("roofline", "no network")


def test_compilers_are_installed_once_and_whole_or_not_at_all(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NoCompilerError, match="not installed"):
        packages(install=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(NoCompilerError, match=r"cannot be installed \(ERROR: No matching .*\)$"):
        packages()
    assert "installing the compilers" in capfd.readouterr().out
    assert not list((tmp_path / "el_jax" / "compilers").iterdir())
    monkeypatch.setattr(subprocess, "run", lambda command, **_: command[-4].mkdir())
    folder = packages()
    assert folder == packages(install=False)
    assert folder == tmp_path / "el_jax" / "compilers" / jaxlib.__version__


def shapes(**train):
    return shapes_of(build.make_spec(build.parse(small_config(**train))))


def test_shapes_and_compiled_memory_are_those_of_the_arrays():
    found, state = shapes(seeds=2), built(small_config(seeds=2)).program.init()
    assert num_bytes(found.state) == num_bytes(state)
    assert found.num_params == sum(leaf[0].size for leaf in jax.tree.leaves(state.params))
    facts = compile_updates(found, 10)
    assert (facts["messages"], facts["cycles"]) == ([], 0.0)
    assert facts["state"] == num_bytes(state) <= facts["parts"]["arguments"]
    assert facts["parts"]["results"] < facts["state"]  # which is given up


def test_by_data_gradients_are_summed_once_an_update_and_metrics_once_a_dispatch():
    found = shapes(seeds=1, shard="data")
    ten, twenty = (compile_updates(found, n)["messages"] for n in (10, 20))
    # the two biases that a parallel layer adds to the stream have one gradient, sent once
    twins = num_bytes(found.state.params["layers_0"]["mlp"]["out"]["bias"])
    gradients = num_bytes(found.state.params) - twins
    for messages in (ten, twenty):  # the loss is summed with its gradients
        assert sent(messages, "all-reduce") == pytest.approx(gradients + 4)
    gathered = sent(ten, "all-gather")
    assert 0 < gathered == pytest.approx(2 * sent(twenty, "all-gather"))
    assert {kind for kind, *_ in ten} == {"all-reduce", "all-gather"}


def sent(messages, of_kind):
    return sum(size * times for kind, size, times in messages if kind == of_kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tpu-v5e-4: copy by data", "h100-8: copy by runs"])
def test_updates_compiled_for_machines_that_are_not_here(name):
    """Skip without installed compilers, so that the suite does not download a gigabyte."""
    try:
        facts = compile_targets.compiled(compile_targets.CASES[name], install=False)
    except NoCompilerError as error:
        pytest.skip(f"{error}; python -m tests.planning.compile_targets installs them")
    assert not compile_targets.faults(compile_targets.CASES[name], facts)


def test_the_last_evaluation_is_counted(planned):
    marks = {"num_updates": 40, "log_every": 10}
    at_20_and_40, at_30_and_40 = (planned(V5E, eval_every=n, **marks) for n in (20, 30))
    assert at_30_and_40.training == at_20_and_40.training
