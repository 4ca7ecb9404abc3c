"""A signal is noted while there is a state to save, and otherwise ends the process."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from el_jax.process.stop import StopSignal

ROOT = pathlib.Path(__file__).parents[2]

WAIT = 120  # seconds, for a machine that is busy with other things

# a child process in one long call, such as a compilation, during which Python runs no handler
_BUSY = """
import hashlib, signal, sys, threading, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
from el_jax.process.stop import StopSignal

stop = StopSignal()
def tell():
    while stop.received is None:
        time.sleep(0.001)
    print("noted", flush=True)

if sys.argv[1] == "asked":
    stop()
    threading.Thread(target=tell, daemon=True).start()
print("ready", flush=True)
hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 2**31 - 1)
"""


STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture
def hangup_is_heard():
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    yield
    signal.signal(signal.SIGHUP, before)


def wait_until(holds):
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def busy(program, phase):
    """A process in its long call."""
    command, pipe = [sys.executable, "-c", program, phase], subprocess.PIPE
    child = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.usefixtures("hangup_is_heard")
@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_is_noted_once_asked_and_the_handlers_come_back(number):
    before = signal.getsignal(number)
    stop = StopSignal()
    try:
        assert stop() is None
        os.kill(os.getpid(), number)
        wait_until(lambda: stop.received)
        assert stop() == number
    finally:
        stop.close()
    assert signal.getsignal(number) == before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize("number", STOPPING)
@pytest.mark.parametrize("phase", ["new", "asked"])
def test_where_nothing_is_to_be_saved_and_at_the_second_time_the_process_ends_at_once(
    number, phase
):
    child = busy(_BUSY, phase)
    if phase == "asked":
        child.send_signal(signal.SIGTERM)
        assert child.stdout.readline() == "noted\n"
        assert child.poll() is None  # it would be saving now
    child.send_signal(number)
    _, err = child.communicate(timeout=WAIT)
    assert child.returncode == 128 + number
    reason = "before the first update" if phase == "new" else "a second time"
    assert err.startswith(f"error: stopped by {signal.Signals(number).name} {reason}")
    assert err.count("\n") == 1


def test_under_nohup_a_closed_terminal_stops_nothing():
    child = busy(_BUSY.replace("SIG_DFL", "SIG_IGN"), "new")
    child.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=WAIT)
    assert "SIGTERM before the first update" in err
