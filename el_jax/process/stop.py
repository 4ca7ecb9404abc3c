"""SIGTERM, SIGINT, SIGHUP: save the state and leave; before the first update, leave at once."""

import os
import signal
import sys
import threading
from types import FrameType

from el_jax.process.files import to_nowhere

_HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows does not have it
STOPPING = (signal.SIGTERM, signal.SIGINT, *([_HANGUP] if _HANGUP else []))
_SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


def _note_nothing(signum: int, frame: FrameType | None) -> None:
    """No-op.

    Without a Python-level handler the signal would not be written to the wake-up pipe that the
    watcher thread reads.
    """
    del signum, frame


class StopSignal:
    """Records signals that stop a training; call it after each dispatch, and save if it names one.

    A signal before the first call ends the process at once, since nothing can be lost yet; so does
    a second signal. Python runs handlers only in the main thread, which may be compiling for
    minutes, so a separate thread reads the signals from Python's wake-up pipe. Under ``nohup``,
    which ignores SIGHUP, SIGHUP stays ignored.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._asked = False
        self._terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._wakeup = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._previous = {
            number: signal.signal(number, _note_nothing)
            for number in STOPPING
            if number != _HANGUP or signal.getsignal(number) != signal.SIG_IGN
        }
        self._watcher = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._watcher.start()

    def __call__(self) -> int | None:
        """The number of the received signal, or None."""
        self._asked = True
        return self.received

    def _watch(self) -> None:
        while heard := os.read(self._reading, 1):  # nothing once the other end is closed
            number = heard[0]
            if number not in STOPPING:
                continue
            if number == _HANGUP:  # a write to a closed terminal would be an error
                for descriptor in self._terminals:
                    to_nowhere(descriptor)
            if not self._asked:
                _leave(number, "before the first update; nothing is lost")
            if self.received is not None:
                _leave(number, "a second time; what was being saved may be lost")
            self.received = number

    def close(self) -> None:
        """Restore the earlier handlers."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._writing)
        self._watcher.join()
        os.close(self._reading)


def _leave(number: int, when: str) -> None:
    """End the process without waiting for anything, with the exit code a shell would give."""
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), _SHOW_CURSOR)
    os.write(2, f"error: stopped by {signal.Signals(number).name} {when}\n".encode())
    os._exit(128 + number)
