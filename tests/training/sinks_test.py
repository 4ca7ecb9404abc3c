import json
import resource

import numpy as np
import pytest

from el_jax.training.sinks import History, JsonLines, read_rows

ROW = {"batch_loss": np.array([1.25, np.nan]), "test_hard_accuracy": np.array([0.5, 1.0])}


def test_rows_come_back_as_written_with_null_for_nan(tmp_path):
    path = tmp_path / "metrics.jsonl"
    sink = JsonLines(path)
    sink.write(10, ROW)
    sink.close()
    assert json.loads(path.read_text())["batch_loss"] == [1.25, None]
    history = read_rows(path)
    assert history.steps == [10]
    for name, values in ROW.items():
        np.testing.assert_array_equal(history.rows[0][name], values)


@pytest.mark.parametrize(
    "later",
    [
        b'{"step": 40, "batch_l',
        bytes(40),
        b"[1, 2]\n",
        b"\xff\xfe\n",
    ],
    ids=["half a line", "NULs", "a list", "no text"],
)
def test_resuming_drops_whatever_comes_after_the_rows_vouched_for(tmp_path, later):
    path = tmp_path / "metrics.jsonl"
    sink = JsonLines(path)
    for step in (10, 20):
        sink.write(step, ROW)
    num_bytes = path.stat().st_size
    sink.write(30, ROW)
    sink.close()
    path.write_bytes(path.read_bytes() + later)
    sink = JsonLines(path, num_bytes)
    sink.write(30, ROW)
    sink.close()
    assert read_rows(path).steps == [10, 20, 30]
    JsonLines(path).close()  # a run from the start keeps nothing
    assert path.read_text() == ""


def test_rows_are_not_written_through_a_link(tmp_path):
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other"
    other.write_text("kept")
    for link in (path.symlink_to, path.hardlink_to):
        link(other)
        with pytest.raises(OSError, match="is a link or no ordinary file"):
            JsonLines(path)
        assert other.read_text() == "kept"
        path.unlink()


def test_a_row_that_finds_no_room_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "metrics.jsonl"
    sink = JsonLines(path)
    sink.write(10, ROW)
    before = path.read_bytes()
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 7, allowed[1]))  # room for a part
    try:
        with pytest.raises(OSError, match=r"File too large: '.*metrics\.jsonl'"):
            sink.write(20, ROW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert path.read_bytes() == before
    sink.write(20, ROW)
    sink.close()
    assert read_rows(path).steps == [10, 20]


def test_history_lists_the_metrics_it_has():
    history = History()
    history.write(10, ROW)
    history.write(20, {"batch_loss": np.array([1.0, 2.0])})
    steps, values = history.curve("batch_loss")
    np.testing.assert_array_equal(steps, [10, 20])
    assert values.shape == (2, 2)
    assert history.curve("test_hard_accuracy")[0] == [10]
    with pytest.raises(KeyError, match=r"'ce' was never written.*batch_loss"):
        history.curve("ce")
