"""Timings of two sides in turn, in one process or two; their ratios, and what is reported.

Torch's interpreter imports this module too, so it uses only Python's standard library and NumPy.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
_READY, _SECONDS = "READY", "SECONDS "

Timing = Callable[[], float]  # does the work once and returns the seconds
Works = Mapping[str, Callable[[], object]]
Case = Mapping[str, Any]  # the factors of a case: model, sizes, loss
Values = dict[str, float | Sequence[float] | np.ndarray]
"""Quantity, with its unit unless it is a ratio -> a value for each round, or one number."""


Plan = tuple[Mapping[str, Case], *tuple[Any, ...]]
"""Cases by their names in claims, and the further arguments of the measurement."""


class Benchmark(NamedTuple):
    """A measurement, and its plan at each scale.

    Attributes:
        measure: returns the values of a case, or raises ``NotMeasuredError`` if it cannot.
        plans: plans by scale.
        one_core: True if it measures in its own process, where one core is least disturbed by other
            threads; the others start processes, or are a training as a user starts it.
    """

    measure: Callable[..., Values]
    plans: Mapping[str, Plan]
    one_core: bool = False


class NotMeasuredError(RuntimeError):
    """A case cannot be measured here; the message says why."""


class DisagreementError(RuntimeError):
    """The two sides do not compute the same."""


class WorkerError(RuntimeError):
    """A worker ended before it answered; the message has its last output."""


class Comparison(NamedTuple):
    """For each round, the second side's time over the first's, and the mean time of each side."""

    ratios: np.ndarray
    first_seconds: np.ndarray
    second_seconds: np.ndarray


def compare(first: Timing, second: Timing, rounds: int) -> Comparison:
    """Time two sides in rounds of first, second, second, first, after one warm-up round.

    Both sides have the same mean position in a round, so a machine that slows down steadily slows
    both sums equally.

    Raises:
        ValueError: fewer than one round.
    """
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be at least 1")
    seconds = [[side() for side in (first, second, second, first)] for _ in range(rounds + 1)]
    of_first, of_second = (np.array(seconds[1:])[:, part].mean(1) for part in ([0, 3], [1, 2]))
    return Comparison(of_second / of_first, of_first, of_second)


def seconds_of(work: Callable[[], object]) -> Timing:
    """A function that does JAX's work once, waits for the result and returns the seconds."""
    import jax

    def seconds() -> float:
        start = time.perf_counter()
        jax.block_until_ready(work())
        return time.perf_counter() - start

    return seconds


def cores() -> list[int]:
    """The cores that this process may use; empty if the system does not say."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def serve(works: Works) -> None:
    """Act as a worker: run every task once to warm up, then the task named by each stdin line."""
    for work in works.values():
        work()
    print(_READY, flush=True)
    for line in sys.stdin:
        work = works[line.strip()]
        start = time.perf_counter()
        work()
        print(f"{_SECONDS}{time.perf_counter() - start!r}", flush=True)


class Worker(contextlib.AbstractContextManager):
    """A process, ``python -m MODULE ARGUMENTS``, that serves timings until the context ends.

    It has one thread on ``core``, or all cores if None. A request after it has ended raises
    ``WorkerError``.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        core: int | None = None,
        python: str = sys.executable,
    ) -> None:
        pin = shutil.which("taskset") if core is not None else None
        start = [pin, "--cpu-list", str(core)] if pin else []
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed on leaving)
        self._command = [*start, python, "-m", module, *arguments]
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env={**os.environ, **(ONE_THREAD if core is not None else {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ready(self) -> None:
        """Wait until the worker has warmed up."""
        self._expect(_READY)

    def start(self, work: str) -> None:
        """Request one timing."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # finish says why
            print(work, file=self._process.stdin, flush=True)

    def finish(self) -> float:
        """Wait for the last requested timing, in seconds."""
        return float(self._expect(_SECONDS))

    def timing(self, work: str) -> Timing:
        """A function that times the task once."""

        def seconds() -> float:
            self.start(work)
            return self.finish()

        return seconds

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _expect(self, start: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # a library may print something of its own
            if line.startswith(start):
                return line.removeprefix(start).strip()
        self._process.wait()
        self._log.seek(0)
        raise WorkerError(f"{self._command}: {self._log.read()[-2000:].strip()}")


@contextlib.contextmanager
def two_workers(
    module: str, sides: tuple[str, str], arguments: Sequence[str], python: str = sys.executable
) -> Iterator[tuple[Worker, Worker]]:
    """Both sides of ``python -m MODULE SIDE ARGUMENTS`` on the same core, warm.

    ``python`` is the interpreter of the second side.
    """
    core = next(iter(cores()), None)
    with Worker(module, [sides[0], *arguments], core) as first:
        first.ready()
        with Worker(module, [sides[1], *arguments], core, python) as second:
            second.ready()
            yield first, second
