"""A folder is locked by a file in it, and nothing is written through a link."""

import pathlib

import pytest

from el_jax.runtime.errors import WorkdirBusyError
from el_jax.runtime.files import open_own, write_durably
from el_jax.runtime.lock import acquire


def test_a_lock_that_is_not_found_any_more_is_told(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    lock = acquire(folder)
    lock.check()
    folder.rename(tmp_path / "moved")
    for made_anew in (False, True):
        if made_anew:
            folder.mkdir()
            other = acquire(folder)
        with pytest.raises(WorkdirBusyError, match=f"--workdir={folder} is no longer this process"):
            lock.check()
    other.check()
    other.release()
    (tmp_path / "moved").rename(tmp_path / "again")
    (tmp_path / "again").rename(tmp_path / "run_2")
    lock.release()
    again = acquire(tmp_path / "run_2")
    (tmp_path / "run_2" / "lock").unlink()
    with pytest.raises(WorkdirBusyError):
        again.check()
    again.release()


@pytest.mark.parametrize("link", [pathlib.Path.symlink_to, pathlib.Path.hardlink_to])
def test_nothing_is_written_through_a_link(tmp_path, link):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    link(tmp_path / "lock", victim)
    for opens in (lambda: acquire(tmp_path), lambda: open_own(tmp_path / "lock")):
        with pytest.raises(OSError, match="lock is a link or no ordinary file"):
            opens()
    link(tmp_path / "a.json.tmp", victim)
    link(tmp_path / "a.json", victim)
    write_durably(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "new"
    assert not (tmp_path / "a.json").is_symlink()
    assert not (tmp_path / "a.json.tmp").exists()
    assert victim.read_text() == "kept"
