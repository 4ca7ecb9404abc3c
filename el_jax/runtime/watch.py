"""The processes of one training notice at once when one of them is gone, and leave together."""

import os
import selectors
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from el_jax.runtime.errors import LOST
from el_jax.runtime.meeting import Link

GRACE_SECONDS = 10.0  # for a process to end in its own words, and to save what it is saving


def leave_at_once(code: int) -> NoReturn:
    """End this process without waiting for anything."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Watch:
    """Listens to the other processes in a thread of its own.

    Process 0 hears all processes and tells each of them about the others. A process that is gone
    without a message, or leaves with an error that the others did not meet, ends the others too:
    jax raises an error in their joint computation, or this thread ends them after a time of grace.

    Args:
        links: the link to process 0, or on process 0 those to all others, by their number.
        num_processes: number of processes in all.
    """

    def __init__(self, links: Mapping[int, Link], num_processes: int) -> None:
        self._links, self._num = dict(links), num_processes
        self._is_first = 0 not in links
        self._left: set[int] = set()  # neighbours that announced their end, or are gone
        self._leaving = False
        self._why: str | None = None
        self._deadline = float("inf")
        self._noticed, self._all_left = threading.Event(), threading.Event()
        self._lock = threading.Lock()  # of the above
        self._selector = selectors.DefaultSelector()
        for number, link in self._links.items():
            link.connection.settimeout(None)
            self._selector.register(link.connection, selectors.EVENT_READ, number)
        threading.Thread(target=self._listen, name="watch", daemon=True).start()

    def why(self, seconds: float) -> str | None:
        """The sentence that names the lost process; None if all are there after ``seconds``."""
        self._noticed.wait(seconds)
        return self._why

    def leave(self, code: int) -> None:
        """Tell the others that this process ends; after an error, wait a limited time for them."""
        with self._lock:
            self._leaving = True
        for link in self._links.values():
            link.send({"left": code})
        self._see_who_is_left()
        if code:
            self._all_left.wait(2 * GRACE_SECONDS)

    def _listen(self) -> None:
        while True:
            left = max(self._deadline - time.monotonic(), 0.0)
            waits = self._leaving or self._why is None
            if not waits and not left:
                os.write(2, f"error: {self._why}\n".encode())
                leave_at_once(LOST)
            for key, _ in self._selector.select(None if waits else left):
                self._hear(key.data)

    def _hear(self, number: int) -> None:
        link = self._links[number]
        try:
            messages = link.receive()
        except ValueError:
            messages = []
        for message in messages or []:
            self._take(number, message)
        if messages is None:
            self._selector.unregister(link.connection)
            if number not in self._left:
                self._notice(f"process {number} of {self._num} is gone", number)
            self._left.add(number)
            if not self._is_first:
                self._all_left.set()
            self._see_who_is_left()

    def _take(self, number: int, message: Mapping[str, Any]) -> None:
        if "lost" in message:  # process 0 passes it on
            self._notice(str(message["lost"]), number)
        if message.get("all"):
            self._all_left.set()
        if "left" in message:
            self._left.add(number)
            if message["left"]:
                code = message["left"]
                self._notice(f"process {number} of {self._num} ended with exit code {code}", number)
            self._see_who_is_left()

    def _notice(self, why: str, source: int) -> None:
        """Note the first loss and, on process 0, pass it on."""
        with self._lock:
            if self._why is not None:
                return
            self._why, self._deadline = why, time.monotonic() + GRACE_SECONDS
        self._noticed.set()
        if self._is_first:
            for number, link in self._links.items():
                if number != source:
                    link.send({"lost": why})

    def _see_who_is_left(self) -> None:
        """On process 0, release the other processes once all are leaving."""
        if self._is_first and self._leaving and len(self._left) == len(self._links):
            for link in self._links.values():
                link.send({"all": True})
            self._all_left.set()
