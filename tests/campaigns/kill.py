"""Kill a training with SIGKILL at random instants, start it again, and compare bit for bit.

    python -m tests.campaigns.kill [--kills=50]

300 updates, saved every 6. Half of the kills come at an instant drawn uniformly over the time an
uninterrupted training takes, start included; half while a checkpoint is being written. After each
the same command is given again, until the training is done; then another begins, until the kills
are used up. Good: after a kill every checkpoint is intact and none is older than before; at the
end arrays and metrics.jsonl equal the uninterrupted training's to the last bit.
"""

import argparse
import json
import pathlib
import random
import tempfile
import time

from el_jax.checkpoints import manifest
from el_jax.checkpoints.manifest import DamagedError
from tests.campaigns import trainings
from tests.campaigns.tally import Tally

NUM_UPDATES = 300
ARGUMENTS = trainings.pace(NUM_UPDATES, log_every=1, eval_every=10, checkpoint_every=6)
INTACT, IDENTICAL = "checkpoints intact", "identical"


def _wait_until_saving(process, workdir, rng):
    """Wait until some later checkpoint is being written, and a little longer."""
    wanted = rng.randrange(1, 6)
    seen = set()
    while process.poll() is None and len(seen) < wanted:
        seen |= {path.name for path in (workdir / "checkpoints").glob("unfinished-*")}
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.03))


def _after_kill(workdir, newest_before):
    """Verdict on the checkpoints after a kill: good, or the damage."""
    for step in trainings.steps(workdir):
        folder = workdir / "checkpoints" / str(step)
        try:
            manifest.check_files(folder, manifest.read(folder))
        except DamagedError as error:
            return f"step {step} damaged: {error}"
    newest = max(trainings.steps(workdir), default=0)
    return INTACT if newest >= newest_before else f"step {newest_before} lost"


def run(folder, num_kills, seed=0, progress=0):
    """Run the campaign in an empty folder."""
    tally, rng = Tally("kill", [INTACT, IDENTICAL], progress), random.Random(seed)
    reference = folder / "uninterrupted"
    trainings.finish(trainings.start(reference, *ARGUMENTS), reference)  # compiles
    begun = time.monotonic()
    trainings.finish(trainings.start(folder / "timed", *ARGUMENTS), folder / "timed")
    seconds = time.monotonic() - begun
    same = trainings.differences(folder / "timed", reference)
    tally.add("run twice", IDENTICAL if not same else f"different {same}")
    kills = training = 0
    while kills < num_kills:
        training += 1
        workdir, newest = folder / f"killed{training}", 0
        while True:
            process = trainings.start(workdir, *ARGUMENTS)
            saving = bool(rng.getrandbits(1))
            if kills < num_kills:
                if saving:
                    _wait_until_saving(process, workdir, rng)
                else:
                    time.sleep(rng.uniform(0, seconds))
                if process.poll() is None:
                    process.kill()
                    process.wait()
                    kills += 1
                    kind = "killed while saving" if saving else "killed at any time"
                    tally.add(kind, _after_kill(workdir, newest), str(workdir))
                    newest = max(trainings.steps(workdir), default=0)
                    continue
            process.wait(600)
            break
        tally.add("finished", _finished(workdir, reference, process.returncode), str(workdir))
    return tally


def _finished(workdir, reference, code):
    if code:
        return f"exit code {code}: {trainings.errors(workdir)}"
    different = trainings.differences(workdir, reference)
    steps = [json.loads(line)["step"] for line in trainings.rows(workdir).splitlines()]
    if steps != list(range(1, NUM_UPDATES + 1)):
        return "rows missing or twice"
    return IDENTICAL if not different else f"different {different}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(pathlib.Path(folder), given.kills, progress=5).finish()
