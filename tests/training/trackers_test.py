import resource

import numpy as np
import pytest

from el_jax.build import parse
from el_jax.process.errors import ConfigError, MissingPackageError
from el_jax.training.trackers import TensorBoard, open_tracker
from tests.training.small_training import small_config

ROW = {"batch_loss": np.array([1.25, np.nan]), "test_hard_accuracy": np.array([0.5, 1.0])}


def test_events_that_find_no_room_are_an_error_and_no_wait_for_ever(tmp_path):
    sink = TensorBoard(tmp_path)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, allowed[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            sink.write(10, {f"metric_{i}": np.ones(2) for i in range(20)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    sink.close()


def test_tensorboard_events_hold_a_curve_per_run(tmp_path):
    sink = TensorBoard(tmp_path)
    sink.write(10, ROW)
    sink.close()
    (events,) = tmp_path.glob("events*")
    content = events.read_bytes()
    assert b"test_hard_accuracy/run_0" in content
    assert b"test_hard_accuracy/run_1" in content
    assert b"batch_loss/run_1" not in content  # not finite


def test_a_tracker_that_is_not_installed_is_named_with_the_way_to_install_it(tmp_path):
    with pytest.raises(MissingPackageError, match="tracker='wandb': pip install wandb"):
        open_tracker("wandb", tmp_path, {}, [{"seed": 0}])


def test_an_unknown_tracker_is_refused_before_anything_is_trained():
    config = small_config()
    config.train.tracker = "mlflow"
    with pytest.raises(ConfigError, match=r"train.tracker='mlflow': must be .*trackio.*wandb"):
        parse(config)
