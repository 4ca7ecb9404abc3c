import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.build import parse
from el_jax.process.errors import ConfigError, MissingPackageError
from el_jax.training.trackers import Profile, TensorBoard, TrackedRuns, open_trackers
from tests.training.small_training import small_config

ROW = {"batch_loss": np.array([1.25, np.nan]), "test_hard_accuracy": np.array([0.5, 1.0])}


def test_tensorboard_events_hold_a_curve_per_run(tmp_path):
    sink = TensorBoard(tmp_path)
    sink.write(10, ROW)
    sink.close()
    (events,) = tmp_path.glob("events*")
    content = events.read_bytes()
    assert b"test_hard_accuracy/run_0" in content
    assert b"test_hard_accuracy/run_1" in content
    assert b"batch_loss/run_1" not in content  # not finite


def test_every_seed_has_an_id_of_its_own(tmp_path, monkeypatch):
    ids = []
    wandb = types.SimpleNamespace(init=lambda **options: ids.append(options["id"]))
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    runs = [{"seed": 1_234_567 + number, "peak_lr": 1e-3} for number in range(3)]
    TrackedRuns("wandb", tmp_path, {}, runs)
    assert len(set(ids)) == 3


def test_a_tracker_that_is_not_installed_is_named_with_the_way_to_install_it(tmp_path):
    with pytest.raises(MissingPackageError, match="tracker='wandb': pip install wandb"):
        list(open_trackers("wandb", (), tmp_path, {}, [{"seed": 0}]))


def test_an_unknown_tracker_is_refused_before_anything_is_trained():
    config = small_config()
    config.train.tracker = "mlflow"
    with pytest.raises(ConfigError, match=r"train.tracker='mlflow': must be .*trackio.*wandb"):
        parse(config)


def test_a_profile_is_of_the_rows_in_its_span(tmp_path):
    (profile,) = open_trackers("", (15, 30), tmp_path, {}, [{"seed": 0}])
    for step in (10, 20, 30, 40):
        profile.write(step, ROW)
        jax.block_until_ready(jnp.ones(8) * step)
        traces = [*tmp_path.rglob("*.xplane.pb")]
        assert len(traces) == (step >= 30)
    profile.close()
    assert [*tmp_path.rglob("*.xplane.pb")] == traces


def test_a_profile_whose_end_is_never_reached_is_written_at_the_end(tmp_path):
    profile = Profile(tmp_path, (10, 1_000))
    profile.write(10, ROW)
    profile.close()
    assert len([*tmp_path.rglob("*.xplane.pb")]) == 1


@pytest.mark.parametrize("span", [(10,), (20, 10), (0, 10), (1, 2, 3)])
def test_a_span_is_two_rising_updates(span):
    with pytest.raises(ConfigError, match=r"train.profile=.* must be empty, or two rising"):
        parse(small_config(profile=span))
