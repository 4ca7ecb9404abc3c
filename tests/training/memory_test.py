"""What does not fit into memory is refused, and numbers do not depend on how many runs share it."""

import math
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.process.errors import NotEnoughMemoryError, is_out_of_memory
from el_jax.train import train
from el_jax.training import memory, runs
from el_jax.training.memory import fewer_at_once, planned_bytes
from el_jax.training.metrics import summarise
from tests.training.small_training import built, small_config

GB = 10**9


@pytest.mark.parametrize(("donate", "least", "most"), [((), 4_000_000, 4_100_000), (0, 0, 100_000)])
def test_the_plan_is_what_a_call_allocates_beside_its_arguments(donate, least, most):
    doubled = jax.jit(lambda a: 2 * a, donate_argnums=donate)
    assert least <= planned_bytes(doubled.lower(jnp.ones(1_000_000))) <= most


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("3G of 2G", math.inf),
        ("Used 19.50G of 15.75G hbm", 19.5 * 2**30),
        ("while allocating (3.0MiB) exceeds", 3 * 2**20),
    ],
)
def test_a_compiler_that_refuses_needs_what_it_says_or_more_than_there_is(said, expected):
    lowered = mock.Mock(spec=jax.stages.Lowered)
    lowered.compile.side_effect = jax.errors.JaxRuntimeError(f"RESOURCE_EXHAUSTED: {said}")
    assert planned_bytes(lowered) == expected
    lowered.compile.side_effect = jax.errors.JaxRuntimeError("INTERNAL: bug")
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        planned_bytes(lowered)


def machine(root, cgroup="0::/"):
    """The files in which Linux reports the memory of the machine."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:    3000 kB\n")
    (root / "proc/self/cgroup").write_text(f"{cgroup}\n")


def test_cpu_devices_share_what_the_machine_has(tmp_path, monkeypatch):
    machine(tmp_path)
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    cpus = jax.local_devices(backend="cpu")
    assert memory.free_bytes(cpus[:1]) == 3000 * 1024
    assert memory.free_bytes(cpus[:2]) == 1500 * 1024
    monkeypatch.setattr(memory, "_ROOT", tmp_path / "none")
    assert memory.free_bytes(cpus) is None


@pytest.mark.parametrize(
    ("groups", "line", "expected"),
    [
        # 2 MB less the .5 MB in use, plus the .1 MB of those that are cache
        ({"job": ("2000000", 500_000, 100_000)}, "0::/job", 1_600_000),
        ({"job": ("9000000000", 500_000, 0)}, "0::/job", 3000 * 1024),
        # the limit of the parent group
        ({"job": ("1000000", 1000, 0), "job/step": ("max", 1000, 0)}, "0::/job/step", 999_000),
        ({"": ("1000000", 1000, 0)}, "0::/seen/from/outside", 999_000),
        ({}, "3:cpuset:/job", 3000 * 1024),
    ],
)
def test_the_limit_of_a_container_or_a_job_counts(groups, line, expected, tmp_path, monkeypatch):
    machine(tmp_path, line)
    for group, numbers in groups.items():
        folder = tmp_path / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, number in zip(("max", "current"), numbers, strict=False):
            (folder / f"memory.{name}").write_text(f"{number}\n")
        stat = f"anon 1\ninactive_file {numbers[2]}\nactive_file 7\n"
        (folder / "memory.stat").write_text(stat)
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    assert memory.free_bytes(jax.local_devices(backend="cpu")[:1]) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."), True),
        (jax.errors.JaxRuntimeError("INTERNAL: bug"), False),
        (ValueError("RESOURCE_EXHAUSTED"), False),
    ],
)
def test_errors_of_no_memory(error, expected):
    assert is_out_of_memory(error) is expected


# ── the training ─────────────────────────────────────────────────────────────────────────────────


def trained(num_updates=100, **train):
    """Parameters of every run after some updates, with training metrics and test metrics."""
    config = small_config(seeds=4, **train)
    config.optim.epsilon = 1e-4  # else Adam turns rounding errors of zero gradients into updates
    training = built(config)
    program = training.program
    state, batch, _ = program.advance(program.init(), num_updates)
    test = program.evaluate(state.params, training.evaluations["test"])
    params, batch, test = program.layout.fetch((state.params, batch, test))
    names = training.spec.task.group_names
    return params, summarise(batch, names, "batch") | summarise(test, names, "test")


def assert_same(ours, theirs, tolerance):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance), ours, theirs
    )


@pytest.fixture(scope="module")
def one_by_one():
    return trained(run_axis="map")


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "at_once",
    [pytest.param(1, marks=slow), pytest.param(2, marks=slow), 3],  # which leaves one run over
)
def test_groups_of_any_size_train_each_run_as_it_would_alone(one_by_one, at_once):
    assert_same(trained(max_runs_at_once=at_once), one_by_one, 1e-5)


def test_one_after_the_other_is_bit_equal_whatever_the_group(one_by_one):
    assert_same(trained(max_runs_at_once=3, run_axis="map"), one_by_one, 0.0)


@slow
def test_a_device_groups_its_own_share(one_by_one, monkeypatch):
    seen = []
    over_runs = runs.over_runs
    monkeypatch.setattr(
        "el_jax.training.program.over_runs",
        lambda *args: seen.append(args[2:]) or over_runs(*args),
    )
    assert_same(trained(max_runs_at_once=1, shard="runs"), one_by_one, 1e-5)
    assert (2, 1) in seen  # of four runs on two devices


def test_runs_that_do_not_fit_together_are_refused_with_a_number_that_does(monkeypatch):
    training = built(small_config(seeds=4))
    program, test = training.program, training.evaluations["test"]
    state = program.init()
    monkeypatch.setattr(runs, "free_bytes", lambda devices: 6 * GB)
    monkeypatch.setattr(runs, "planned_bytes", lambda *_: 8 * GB)  # real plans are tested below
    said = r"\(%s 8 GB\), 6 GB available; set --config.train.max_runs_at_once=2, or lower "
    with pytest.raises(NotEnoughMemoryError, match=said % "updates"):
        program.advance(state, 10)
    with pytest.raises(NotEnoughMemoryError, match=said % "evaluation"):
        program.evaluate(state.params, test)


@pytest.mark.parametrize(
    ("at_once", "needed", "expected"),
    [(10, 2.0, 4), (10, 1.01, 8), (10, 1e9, 1), (10, math.inf, 1), (2, 0.95, 1), (1, 2.0, 0)],
)
def test_the_number_to_set_is_smaller_and_what_fits_if_every_run_takes_the_same(
    at_once, needed, expected
):
    assert fewer_at_once(at_once, needed, free=1.0) == expected


def test_one_run_at_once_is_planned_with_less_memory_than_all(monkeypatch):
    planned = []

    def watched(lowered):
        planned.append(planned_bytes(lowered))
        return planned[-1]

    monkeypatch.setattr(runs, "planned_bytes", watched)
    for at_once in (0, 1):
        program = built(small_config(seeds=4, max_runs_at_once=at_once)).program
        program.advance(program.init(), 10)
    _, of_all, _, of_one = planned  # each after that of the initialisation
    assert of_one < of_all


def test_a_resumed_training_may_compute_fewer_runs_at_once_and_says_so(tmp_path, capfd):
    train(small_config(seeds=2), tmp_path)
    before = capfd.readouterr().err
    train(small_config(seeds=2, max_runs_at_once=1), tmp_path)
    change = "bits may differ by runs at once: '2' -> '1'"
    assert change in capfd.readouterr().err
    assert change not in before


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"model.width": 100_000}, "parameters and optimizer state "),
        ({"eval.test": 2**31 - 1}, "data sets "),
    ],
)
def test_what_never_fits_is_refused_before_anything_is_allocated(changes, part, monkeypatch):
    config = small_config()
    for name, value in changes.items():
        section, key = name.split(".")
        config[section][key] = value
    settings = build.parse(config)
    monkeypatch.setattr(runs, "free_bytes", lambda devices: 20 * GB)
    monkeypatch.setattr(build, "make_program", lambda *_, **__: pytest.fail("data were drawn"))
    with pytest.raises(NotEnoughMemoryError, match=rf"^memory: at least .* needed \({part}"):
        build.build(settings)


@pytest.mark.parametrize("seeds", [1, pytest.param(2, marks=slow)])
def test_programs_that_do_not_fit_are_refused_before_they_run(seeds, monkeypatch):
    training = built(small_config(seeds=seeds))
    program, test = training.program, training.evaluations["test"]

    def refused(what, call):
        with monkeypatch.context() as patch:
            patch.setattr(runs, "free_bytes", lambda devices: 1_000)
            with pytest.raises(NotEnoughMemoryError, match=rf"\({what} .*, 1e-06 GB available"):
                call()

    refused("initialisation", program.init)
    state = program.init()
    refused("updates", lambda: program.advance(state, 10))
    refused("evaluation", lambda: program.evaluate(state.params, test))
