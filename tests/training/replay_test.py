"""A flipped bit is detected where updates are made twice; a sound machine never raises."""

import dataclasses
import subprocess
import sys

import jax
import numpy as np
import pytest

from el_jax import build
from el_jax.training.devices.layout import Layout
from el_jax.training.fit import FitOptions, Training, fit
from el_jax.training.replay import ReplayError, advance_twice
from tests.campaigns import trainings
from tests.training.layouts import settings_with

RUN, UPDATES = 2, 10
# One for each place of a state: on one device, its runs on two, all of it on both.
LAYOUTS = {
    "vmap": (Layout(), "vmap"),
    "runs by jit": (Layout("runs", "jit", 2), "vmap"),
    "windows by pmap": (Layout("data", "pmap", 2), "vmap"),
}
OTHER_LAYOUTS = {
    "map": (Layout(), "map"),
    "windows by jit": (Layout("data", "jit", 2), "vmap"),
    "runs by pmap": (Layout("runs", "pmap", 2), "vmap"),
}


def with_a_flipped_bit(program, call, part="params"):
    """``program``, whose advance number ``call``, from 1, ends with one bit of one run flipped."""
    calls = []

    def advance(state, num_updates):
        calls.append(num_updates)
        state, metrics, health = program.advance(state, num_updates)
        if len(calls) == call:
            leaves, structure = jax.tree.flatten(getattr(state, part))
            wrong = np.array(leaves[-1])
            wrong.reshape(len(wrong), -1)[RUN].view(f"u{wrong.itemsize}")[0] ^= 1
            leaves[-1] = jax.device_put(wrong, leaves[-1].sharding)
            state = state._replace(**{part: jax.tree.unflatten(structure, leaves)})
        return state, metrics, health

    return dataclasses.replace(program, advance=advance)


@pytest.mark.parametrize(
    "name", [*LAYOUTS, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHER_LAYOUTS)]
)
def test_a_flipped_bit_is_named_by_its_updates_and_run(name):
    layout, run_axis = (LAYOUTS | OTHER_LAYOUTS)[name]
    program = build.build(settings_with(layout, run_axis)).program
    state, _, _ = program.advance(program.init(), UPDATES)
    for call, part in ((1, "params"), (2, "opt_state")):
        kept = jax.tree.map(jax.numpy.copy, state)
        with pytest.raises(ReplayError) as raised:
            advance_twice(with_a_flipped_bit(program, call, part), kept, UPDATES)
        assert (raised.value.step, raised.value.run) == (UPDATES, RUN)
        said = f"updates 10 to 19, made twice, differ in run {RUN} (seed {RUN}, {part}/"
        assert str(raised.value).startswith(said)
    expected, *_ = program.advance(jax.tree.map(jax.numpy.copy, state), UPDATES)
    found, *_ = advance_twice(program, state, UPDATES)
    jax.tree.map(np.testing.assert_array_equal, *layout.fetch((found, expected)))


def test_of_so_many_dispatches_the_last_is_made_twice():
    training = build.build(settings_with(Layout()))
    options = FitOptions(40, 10, 40, 40, replay_every=2)
    made = []

    def advance(state, num_updates):
        made.append(int(state.step))
        return training.program.advance(state, num_updates)

    watched = dataclasses.replace(training.program, advance=advance)
    fit(Training(watched, options))
    assert made == [0, 10, 10, 20, 30, 30]
    program = with_a_flipped_bit(training.program, 5)
    with pytest.raises(ReplayError, match="updates 30 to 39, made twice"):
        fit(Training(program, options))


_CORRUPTED = """
import dataclasses, sys
sys.path.insert(0, "tests/training")
from replay_test import with_a_flipped_bit
from el_jax import build, train
from el_jax.runtime import launch

sound = build.build

def corrupted(settings):
    training = sound(settings)
    return dataclasses.replace(training, program=with_a_flipped_bit(training.program, 5))

build.build = corrupted
launch.run(train.train)
"""


def test_a_command_ends_with_one_line_and_its_own_code_and_keeps_what_it_had(tmp_path):
    pace = trainings.pace(40, log_every=10, eval_every=40, checkpoint_every=20)
    flags = [*trainings.TINY, *pace, "--config.train.seeds=4", "--config.train.replay_every=2"]
    done = subprocess.run(
        [sys.executable, "-c", _CORRUPTED, *flags, f"--workdir={tmp_path}"],
        cwd=trainings.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: updates 30 to 39, made twice, differ in run 2 (seed 2, params/")
    assert trainings.steps(tmp_path) == [20]


def test_what_it_may_be_is_said():
    with pytest.raises(ValueError, match="replay_every=-1: must be at least 0"):
        FitOptions(40, 10, 40, 40, replay_every=-1)
