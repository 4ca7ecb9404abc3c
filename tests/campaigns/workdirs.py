"""Move, replace, link and damage workdirs, before and in the midst of a training.

    python -m tests.campaigns.workdirs [--takeovers=60] [--others=5]

Takeovers: a training saves and writes rows; its workdir is moved or replaced, or its lock or its
checkpoints are, at a random point, and another training comes. Good: the first leaves with one line
and touches nothing of the other's, or the other is refused. Links: planted where files are written,
they are not followed; a workdir or a checkpoints folder that is one works. Leftovers and sealed
manifests of any form: used, cleared away or told in one line.
"""

import argparse
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import random
import shutil
import tempfile

import numpy as np

from el_jax.checkpoints import manifest
from el_jax.checkpoints.store import CheckpointError, Checkpoints
from el_jax.runtime.distributed import leave
from el_jax.runtime.errors import ConfigError, WorkdirBusyError
from el_jax.runtime.workdir import hold, write_json
from el_jax.training.sinks import JsonLines
from tests.campaigns.bit_flips import CONFIG, same, state_at
from tests.campaigns.tally import Tally

LEFT, REFUSED = "the first left, nothing touched", "the second was refused"
NOT_FOLLOWED, WORKS = "refused or replaced, nothing followed", "restored bit for bit"
OLDER, TOLD = "told, step 20 used", "told in one line"
WIDTH = 8


class Training:
    """A training's operations on its files, one step at a time."""

    def __init__(self, workdir):
        self.workdir = pathlib.Path(workdir)
        self._hold = hold(self.workdir)
        self.lock = self._hold.__enter__()
        self.rows, self.told, self.sink = self.workdir / "metrics.jsonl", [], None
        try:
            self.checkpoints = Checkpoints(
                self.workdir / "checkpoints",
                config_sha256=CONFIG,
                rows=self.rows,
                lock=self.lock,
                warn=self.told.append,
            )
        except BaseException:
            self._hold.__exit__(None, None, None)
            raise
        try:
            self.state = self.checkpoints.restore(lambda: state_at(0, WIDTH))
            self.sink = JsonLines(self.rows, self.checkpoints.row_bytes, self.lock.check)
        except BaseException:
            self.close()
            raise

    def write_row(self, step):
        self.sink.write(step, {"loss": np.array([1 / step, 2 / step])})

    def start_saving(self, step):
        self.checkpoints.save(state_at(step, WIDTH))

    def run(self, *steps):
        for step in steps:
            self.write_row(step)
            self.start_saving(step)
            self.checkpoints.wait()
        return self

    def close(self):
        """Release the files as a process does at its end, even with saves under way."""
        try:
            self.checkpoints.__exit__(None, None, None)
        finally:
            if self.sink is not None:
                self.sink.close()
            self._hold.__exit__(None, None, None)


def trained(workdir, *steps):
    Training(workdir).run(*steps).close()


def snapshot(folder):
    """Every file by its path, links included and not followed.

    Unfinished checkpoints are left out: the storage library goes on writing them under their
    original paths, whose names are unique, after the folder was moved.
    """
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith("unfinished-")]
        for name in (*files, *folders):
            path = pathlib.Path(root, name)
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            elif path.is_file():
                found[str(path)] = path.read_bytes()
    return found


# ── takeovers ────────────────────────────────────────────────────────────────────────────────────


def _lock_deleted(workdir, aside):
    del aside
    (workdir / "lock").unlink()


def _lock_replaced(workdir, aside):
    del aside
    (workdir / "new").write_text("process 1 on another\n")
    (workdir / "new").rename(workdir / "lock")


def _moved(workdir, aside):
    workdir.rename(aside)


def _deleted(workdir, aside):
    del aside
    shutil.rmtree(workdir, ignore_errors=True)  # of what is being saved some may stay


def _moved_and_copied_back(workdir, aside):
    workdir.rename(aside)
    with contextlib.suppress(shutil.Error):  # of what is being saved some vanishes meanwhile
        shutil.copytree(aside, workdir, dirs_exist_ok=True)


def _replaced_by_a_link(workdir, aside):
    link = aside.with_name("link")
    link.with_name("target").mkdir()
    link.symlink_to(link.with_name("target"))
    workdir.rename(aside)
    while True:
        with contextlib.suppress(OSError):  # a library that saves may have made the path anew
            link.rename(workdir)
            return
        shutil.rmtree(workdir, ignore_errors=True)


def _checkpoints_moved(workdir, aside):
    (workdir / "checkpoints").rename(aside)
    (workdir / "lock").unlink()


EVENTS = {
    "lock deleted": _lock_deleted,
    "lock replaced": _lock_replaced,
    "workdir moved": _moved,
    "workdir deleted": _deleted,
    "workdir moved, copied back": _moved_and_copied_back,
    "workdir replaced by a link": _replaced_by_a_link,
    "checkpoints moved, lock deleted": _checkpoints_moved,
}


def _takeover(folder, event, rng, while_saving):
    """One training loses its workdir to another, which is then further, less far or as far."""
    workdir, aside = folder / "run", folder / "aside"
    first = Training(workdir).run(20, 40)
    if while_saving and rng.random() < 0.5:
        first.write_row(60)
        first.start_saving(60)
    EVENTS[event](workdir, aside)
    try:
        second = Training(workdir)
    except WorkdirBusyError:
        return _go_on(first, workdir) and REFUSED
    except (CheckpointError, FileNotFoundError) as error:
        return f"the second could not begin: {error}"
    done = int(second.state.step) if second.state is not None else 0
    second.run(*range(done + 20, done + 20 * rng.randint(1, 4), 20))
    goes_on = rng.random() < 0.5
    if not goes_on:
        second.close()
    before = snapshot(workdir)
    outcome = _go_on(first, workdir)
    untouched = snapshot(workdir) == before
    if goes_on:
        second.close()
    return outcome if untouched else "something of the second's was touched"


def _go_on(training, workdir):
    """Verdict on the first training when it writes its next row and checkpoint."""
    try:
        try:
            training.run(80, 100)
        finally:
            training.close()
    except WorkdirBusyError as error:
        clear = "\n" not in str(error) and str(workdir) in str(error)
        return LEFT if clear else f"unclear: {error}"
    except Exception as error:
        return f"another error: {error!r}"
    return "went on"


# ── links, leftovers, manifests ──────────────────────────────────────────────────────────────────


def _link_for(path, target, rng):
    path.unlink(missing_ok=True)
    if rng.random() < 0.5 and target.is_file():
        path.hardlink_to(target)
    else:
        path.symlink_to(target)


def _planted(folder, name, rng):
    """A link where the training writes: its target stays unchanged."""
    workdir, victim = folder / "run", folder / "victim"
    trained(workdir, 20, 40)
    victim.mkdir()
    planted = workdir / name
    (victim / "file").write_bytes(planted.read_bytes() if planted.exists() else b"kept")
    is_folder = name.startswith("checkpoints/")
    _link_for(planted, victim if is_folder else victim / "file", rng)
    before = snapshot(victim)
    try:
        training = Training(workdir)
        write_json(workdir / "config.json", {"seed": 0})
        training.run(60, 80).close()
    except (OSError, ConfigError) as error:
        if "is a link" not in str(error):
            return f"unclear: {error}"
    return NOT_FOLLOWED if snapshot(victim) == before else "followed"


PLANTED = ("lock", "metrics.jsonl", "config.json", "config.json.tmp")
PLANTED += ("checkpoints/unfinished-60", "checkpoints/discarded-40", "checkpoints/discarded-3")


def _scratch(folder, kind):
    """The workdir, or its checkpoints, or both, are links to another disk."""
    workdir, scratch = folder / "run", folder / "scratch" / "deep" / "down"
    scratch.mkdir(parents=True)
    if kind != "checkpoints":
        (scratch / "w").mkdir()
        workdir.symlink_to(scratch / "w")
    else:
        workdir.mkdir()
    if kind != "workdir":
        (scratch / "c").mkdir()
        (workdir / "checkpoints").symlink_to(scratch / "c")
    trained(workdir, 20, 40)
    again = Training(workdir)
    steps = [json.loads(line)["step"] for line in again.rows.read_bytes().splitlines()]
    if again.told or not same(again.state, state_at(40, WIDTH)) or steps != [20, 40]:
        return f"not restored: {again.told}"
    again.run(60).close()
    kept = manifest.committed_steps(workdir / "checkpoints")
    return WORKS if kept == [40, 60] else f"steps {kept} are left"


LATER_ROWS = {
    "NULs": bytes(512),
    "a line of NULs": bytes(9) + b"\n",
    "half a line": b'{"step": 60, "lo',
    "a list": b"[60, 1]\n",
    "no step": b'{"loss": [1, 2]}\n',
    "no text": b"\xff\xfe\xfa\n",
    "a step in words": b'{"step": "sixty"}\n',
}


def _later_rows(folder, content):
    workdir = folder / "run"
    trained(workdir, 20, 40)
    rows = workdir / "metrics.jsonl"
    before = rows.read_bytes()
    rows.write_bytes(before + content)
    again = Training(workdir)
    good = not again.told and same(again.state, state_at(40, WIDTH))
    again.close()
    return WORKS if good and rows.read_bytes() == before else "not cut"


def _resealed(change):
    def damage(step):
        path = step / manifest.MANIFEST
        values = json.loads(path.read_bytes())
        content = json.dumps(change(values) or values).encode()
        path.write_bytes(content)
        seal = f"{hashlib.sha256(content).hexdigest()}  {manifest.MANIFEST}\n"
        (step / manifest.SEAL).write_text(seal)

    return damage


FIELDS = ("step", "config_sha256", "tree", "files", "rows", "origin", "groups")
SEALED = {
    "an extra key": lambda values: values.update(extra=1),
    **{f"{name} missing": lambda values, name=name: values.pop(name) and None for name in FIELDS},
    **{f"{name} a word": lambda values, name=name: values.update({name: "x"}) for name in FIELDS},
    **{f"{name} a number": lambda values, name=name: values.update({name: 7}) for name in FIELDS},
    "a list": lambda values: [values],
    "a number": lambda values: 7,
    "no format": lambda values: values.pop("format") and None,
}


def _sealed(folder, change, every=False):
    workdir = folder / "run"
    trained(workdir, 20, 40)
    for step in ("20", "40") if every else ("40",):
        _resealed(change)(workdir / "checkpoints" / step)
    try:
        again = Training(workdir)
    except CheckpointError as error:
        return TOLD if every and "\n" not in str(error) else f"refused: {error}"
    good = same(again.state, state_at(20, WIDTH)) and len(again.told) == 1
    again.close()
    return OLDER if good and "manifest.json" in again.told[0] else f"unclear: {again.told}"


def _leftovers(folder, name):
    workdir = folder / "run"
    trained(workdir, 20, 40)
    (workdir / "checkpoints" / name).write_text("a file")
    Training(workdir).run(60, 80).close()
    kept = sorted(path.name for path in (workdir / "checkpoints").iterdir())
    return WORKS if kept == ["60", "80"] else f"left {kept}"


def _others(rng):
    """Every trial that does not depend on time: its kind, name, and operation in a folder."""
    for name in PLANTED:
        yield "link planted", name, lambda folder, name=name: _planted(folder, name, rng)
    for kind in ("workdir", "checkpoints", "both"):
        yield "on another disk", kind, lambda folder, kind=kind: _scratch(folder, kind)
    for name, content in LATER_ROWS.items():
        yield (
            "rows after the newest checkpoint",
            name,
            lambda folder, c=content: _later_rows(folder, c),
        )
    for name, change in SEALED.items():
        yield "sealed manifest", name, lambda folder, change=change: _sealed(folder, change)
    for name in ("unfinished-60", "unfinished-60-1f", "discarded-3", "discarded-20"):
        yield "file for a leftover", name, lambda folder, name=name: _leftovers(folder, name)
    older = {"format": manifest.FORMAT - 1}
    yield "another format", "older", lambda folder: _sealed(folder, lambda v: v.update(older), True)


def _tried(trial, folder):
    folder.mkdir()
    try:
        return trial(folder)
    except Exception as error:
        return f"crashed: {error!r}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # orbax may be writing still


def run(folder, num_takeovers, num_others, while_saving=False, seed=0, progress=0):
    """Run the campaign in an empty folder, every other trial ``num_others`` times, 0 for a few.

    With ``while_saving`` half of the takeovers come while a checkpoint is written. That leaves
    threads of orbax which wait for minutes, so the process should then leave without them.
    """
    good = [LEFT, REFUSED, NOT_FOLLOWED, WORKS, OLDER, TOLD]
    tally, rng = Tally("workdirs", good, progress), random.Random(seed)
    for number in range(num_takeovers):
        event = list(EVENTS)[number % len(EVENTS)]
        own = folder / f"takeover{number}"
        trial = functools.partial(_takeover, event=event, rng=rng, while_saving=while_saving)
        tally.add(event, _tried(trial, own), number)
    others = list(_others(rng))
    for number, (kind, name, trial) in enumerate(others * num_others or rng.sample(others, 8)):
        tally.add(kind, _tried(trial, folder / f"other{number}"), name)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takeovers", type=int, default=60)
    parser.add_argument("--others", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tally = run(pathlib.Path(folder), given.takeovers, given.others, True, progress=20)
    try:
        tally.finish()
    except SystemExit as ended:
        leave(ended.code)
