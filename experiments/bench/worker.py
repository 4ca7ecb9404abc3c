"""Worker processes that time a task on request: the sides of a comparison share no process.

A worker says READY once it has compiled and warmed up. Each request line then names one of its
tasks; the reply is the seconds the task took. This module needs only Python's standard library,
so that the side of another framework can use it too.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
_READY, _SECONDS = "READY", "SECONDS "
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


class WorkerError(RuntimeError):
    """A worker ended before it answered; the message has its last words."""


def serve(works: Mapping[str, Callable[[], object]]) -> None:
    """The worker's side: run every task once to warm up, then the task that each line names."""
    for work in works.values():
        work()
    print(_READY, flush=True)
    for line in sys.stdin:
        work = works[line.strip()]
        start = time.perf_counter()
        work()
        print(f"{_SECONDS}{time.perf_counter() - start!r}", flush=True)


def cores() -> list[int]:
    """The cores this process may use; empty where the system does not say."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def use_cores(chosen: Sequence[int]) -> None:
    """Keep this process and its children on some cores, where the system can do that."""
    if chosen and sys.platform == "linux":
        os.sched_setaffinity(0, chosen)


def _on_core(core: int | None) -> list[str]:
    """Words before a command that keep it on one core; none where the system has no taskset."""
    taskset = shutil.which("taskset")
    return [taskset, "--cpu-list", str(core)] if taskset and core is not None else []


class Worker:
    """The harness's side: a context manager that ends the process on leaving.

    Args:
        module: the module that ``python -m`` starts; it calls ``serve``.
        arguments: the module's command line.
        core: the one core it computes on, with one thread; None for all cores.
        python: the interpreter.

    Raises:
        WorkerError: on a request after the process has ended.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        core: int | None = None,
        python: str = sys.executable,
    ) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed on leaving)
        self._command = [*_on_core(core), python, "-m", module, *arguments]
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
        """Ask for one timing."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # finish says why
            print(work, file=self._process.stdin, flush=True)

    def finish(self) -> float:
        """Wait for the timing requested last, in seconds."""
        return float(self._expect(_SECONDS))

    def timing(self, work: str) -> Callable[[], float]:
        """A function that times the task once."""

        def seconds() -> float:
            self.start(work)
            return self.finish()

        return seconds

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _expect(self, start: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # a library may say something of its own
            if line.startswith(start):
                return line.removeprefix(start).strip()
        self._process.wait()
        self._log.seek(0)
        raise WorkerError(f"{self._command}: {self._log.read()[-2000:].strip()}")
