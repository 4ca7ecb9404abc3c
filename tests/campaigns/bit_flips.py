"""Damage checkpoints in every way a disk or a hand can, and check that none is trusted.

    python -m tests.campaigns.bit_flips [--flips=600] [--others=200]

Two checkpoints of a small state, of steps 20 and 40, beside the rows of metrics they vouch for.
Each trial damages one thing, restores, and undoes the damage. Good outcomes: step 20 is used after
one line that names step 40 and the file; or, where both are hit, a refusal.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import tempfile

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.checkpoints import manifest
from el_jax.checkpoints.store import CheckpointError, Checkpoints
from el_jax.training.state import Health, TrainState
from tests.campaigns.tally import Tally

FELL_BACK, REFUSED = "seen, step 20 used", "seen, refused"
CONFIG = manifest.config_hash({"seed": 0})


def state_at(step, width=64):
    values = jnp.linspace(0.1, 1.0, 2 * width * width).reshape(2, width, width) / 3 * step
    moments = (jnp.full(2, step, jnp.int32), (), {"mu": values / 7, "nu": values / 11})
    health = Health(*(jnp.arange(i, i + 2) for i in range(4)))
    return TrainState(jnp.int32(step), {"layer": {"kernel": values}}, moments, health)


def same(a, b):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in pairs)


class Target:
    """A workdir with two good checkpoints, and the outcome of restoring from it."""

    def __init__(self, workdir):
        self.folder, self.rows = workdir / "checkpoints", workdir / "metrics.jsonl"
        self.ends = []
        with Checkpoints(self.folder, config_sha256=CONFIG, rows=self.rows) as checkpoints:
            for step in (20, 40):
                with self.rows.open("a") as file:
                    file.write(json.dumps({"step": step, "loss": [1 / step, 2 / step]}) + "\n")
                self.ends.append(self.rows.stat().st_size)
                checkpoints.save(state_at(step))
        self.newest = self.folder / "40"
        self.files = sorted(path for path in self.newest.rglob("*") if path.is_file())

    def restore(self, config=CONFIG, width=64):
        self.told = []
        checkpoints = Checkpoints(
            self.folder, config_sha256=config, rows=self.rows, warn=self.told.append
        )
        with checkpoints:
            return checkpoints.restore(lambda: state_at(0, width)), self.told

    def outcome(self, names, **kwargs):
        """Verdict on one restore of damaged files; its message should contain one of ``names``."""
        try:
            state, told = self.restore(**kwargs)
        except CheckpointError as error:
            clear = all(map(_clear, [*self.told, str(error)])) and len(self.told) == 2
            return REFUSED if clear else f"unclear: {self.told} {error}"
        except Exception as error:
            return f"crashed: {error!r}"
        if not told:
            return "unnoticed, right numbers" if same(state, state_at(40)) else "WRONG NUMBERS"
        if not same(state, state_at(20)):
            return "step 20 not restored"
        if len(told) > 1 or not _clear(told[0]) or "step 40" not in told[0]:
            return f"unclear: {told}"
        return FELL_BACK if any(name in told[0] for name in names) else f"unnamed: {told[0]}"


def _clear(message):
    return "\n" not in message and len(message) <= 200


@contextlib.contextmanager
def replaced(path, content):
    """``path`` with other content, or without it for None."""
    kept = path.read_bytes()
    path.write_bytes(content) if content is not None else path.unlink()
    try:
        yield
    finally:
        path.write_bytes(kept)


def flip(path, random):
    content = bytearray(path.read_bytes())
    bit = int(random.integers(8 * len(content)))
    content[bit // 8] ^= 1 << bit % 8
    return bytes(content), bit // 8


def flips(target, count, random, tally):
    """One flipped bit in each trial, every file in turn."""
    files = [path for path in [*target.files, target.rows] if path.stat().st_size]
    for trial in range(count):
        path = files[trial % len(files)]
        content, place = flip(path, random)
        with replaced(path, content):
            # a damaged row before step 20 leaves no checkpoint that vouches for the rows
            both = path == target.rows and place < target.ends[0]
            outcome = target.outcome([path.name])
            wrong = both != (outcome == REFUSED)
            kind = path.name if len(path.name) < 32 else "arrays (data)"
            tally.add(f"flip in {kind}", f"unexpected {outcome}" if wrong else outcome, place)


def _truncated(target, path, random):
    content = path.read_bytes()
    with replaced(path, content[: int(random.integers(max(len(content), 1)))]):
        return target.outcome([path.name])


def _lengthened(target, path, random):
    with replaced(path, path.read_bytes() + random.bytes(1)):
        return target.outcome([path.name])


def _deleted(target, path, random):
    with replaced(path, None):
        return target.outcome([path.name])


def _swapped_file(target, path, random):
    """The file of the same kind in the other step; names of data files differ between them."""
    kind = path.relative_to(target.newest).parent
    others = sorted(p for p in (target.folder / "20" / kind).iterdir() if p.is_file())
    other = next((p for p in others if p.name == path.name), others[0])
    ours, theirs = path.read_bytes(), other.read_bytes()
    if ours == theirs:
        return None
    with replaced(path, theirs), replaced(other, ours):
        outcome = target.outcome([path.name])
    return outcome if outcome == REFUSED else f"unexpected {outcome}"


def _copied_file(target, path, random):
    other = target.folder / "20" / path.relative_to(target.newest)
    if not other.exists() or other.read_bytes() == path.read_bytes():
        return None
    with replaced(path, other.read_bytes()):
        return target.outcome([path.name])


FILE_DAMAGE = {
    "truncated file": _truncated,
    "lengthened file": _lengthened,
    "deleted file": _deleted,
    "file of the other step": _copied_file,
    "files of the steps swapped": _swapped_file,
}


def file_damage(target, count, random, tally):
    """Files shortened, lengthened, deleted, swapped, each kind over every file in turn."""
    trials = [(kind, path) for path in target.files for kind in FILE_DAMAGE]
    done = 0
    while done < count:
        for kind, path in trials[: max(0, count - done)]:
            if not path.stat().st_size and kind == "truncated file":
                continue
            outcome = FILE_DAMAGE[kind](target, path, random)
            if outcome is not None:
                tally.add(kind, outcome, path.name)
        done += len(trials)


def folder_damage(target, tally):
    """Whole folders emptied, swapped, replaced; another config; another shape."""
    aside, older = target.folder.parent / "aside", target.folder / "20"
    target.newest.rename(aside)
    target.newest.mkdir()
    tally.add("empty folder", target.outcome(["manifest.json"]))
    target.newest.rmdir()
    target.newest.write_text("")
    tally.add("file for a folder", target.outcome(["manifest.json"]))
    target.newest.unlink()
    shutil.copytree(older, target.newest)
    tally.add("copy of the other step", target.outcome(["manifest.json"]))
    shutil.rmtree(target.newest)
    older.rename(target.newest)
    aside.rename(older)
    tally.add("steps swapped", _refused(target.outcome([])))
    older.rename(aside)
    target.newest.rename(older)
    aside.rename(target.newest)
    tally.add("another config", _refused(target.outcome([], config=CONFIG[::-1])))
    tally.add("another shape", _refused(target.outcome([], width=65)))
    with replaced(target.rows, target.rows.read_bytes()[: target.ends[0]]):
        tally.add("rows after step 20 lost", target.outcome(["metrics.jsonl"]))
    with replaced(target.rows, None):
        tally.add("all rows lost", _refused(target.outcome([])))


def _refused(outcome):
    return outcome if outcome == REFUSED else f"unexpected {outcome}"


def run(workdir, num_flips, num_others, seed=0, progress=0):
    """Run the campaign in an empty folder."""
    tally = Tally("bit_flips", [FELL_BACK, REFUSED], progress)
    target, random = Target(workdir), np.random.default_rng(seed)
    state, told = target.restore()
    assert same(state, state_at(40))  # what is undamaged is used
    assert not told
    flips(target, num_flips, random, tally)
    file_damage(target, num_others, random, tally)
    folder_damage(target, tally)
    state, told = target.restore()
    assert same(state, state_at(40))  # every damage was undone
    assert not told
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=600)
    parser.add_argument("--others", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(pathlib.Path(folder), given.flips, given.others, progress=50).finish()
