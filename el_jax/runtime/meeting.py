"""The processes of one training find each other over TCP, and keep the connections.

Process 0 listens on the port of its later coordination service, each other process connects and
sends its number, and all go on once every process has connected. jax's own runtime ends a process
with SIGABRT or SIGSEGV if the port is taken or a process never arrives; here each of these is an
error with a message. Messages are JSON, one a line.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from el_jax.runtime.errors import ConfigError, LostError

_RETRY_SECONDS = 0.2
_HELLO_SECONDS = 3.0  # for the one line a visitor sends, and for an answer that is on its way
_MAX_LINE = 1 << 16


class DisagreeError(ConfigError):
    """The flags of the processes do not go together."""


class Link:
    """A connection to another process, over which both send lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._unread = b""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):  # a machine without power is noticed in 30 s
            for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
                connection.setsockopt(socket.IPPROTO_TCP, vars(socket)[option], value)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; it is dropped if the other end is gone."""
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for messages; None once the other end is gone.

        Raises:
            TimeoutError: no message came within the connection's time limit.
            ValueError: the other end sent other bytes than lines of JSON objects.
        """
        try:
            content = self.connection.recv(_MAX_LINE)
        except TimeoutError:
            raise
        except OSError:
            return None
        if not content:
            return None
        *lines, self._unread = (self._unread + content).split(b"\n")
        messages = [json.loads(line) for line in lines]
        if len(self._unread) > _MAX_LINE or not all(isinstance(m, dict) for m in messages):
            raise ValueError("not a message")
        return messages


def meet(address: str, num_processes: int, this: int, seconds: float) -> dict[int, Link]:
    """Wait until all processes have connected.

    Args:
        address: ``HOST:PORT`` of process 0; the port is free again when this returns.
        num_processes: number of processes in all.
        this: number of this process.
        seconds: time limit.

    Returns:
        The link to process 0, or on process 0 those to all others, by their number.

    Raises:
        LostError: the port is taken, or a process did not arrive in time.
        DisagreeError: the flags of two processes do not go together.
    """
    host, port = split(address)
    deadline = time.monotonic() + seconds
    within = f"within {seconds:g} s (--join_timeout)"
    if this:
        return {0: _join(address, host, port, num_processes, this, deadline, within)}
    links: dict[int, Link] = {}
    came: list[Link] = []
    try:
        with contextlib.closing(_listen(address, port)) as listener:
            while len(links) < num_processes - 1 and time.monotonic() < deadline:
                if visitor := _visitor(listener, deadline):
                    link, hello = visitor
                    came.append(link)
                    _check(hello, num_processes, links)
                    links[hello["process_id"]] = link
        if missing := [str(i) for i in range(1, num_processes) if i not in links]:
            who = f"process {', '.join(missing)} of {num_processes}"
            raise LostError(f"--coordinator={address}: {who} did not come {within}")
    except (LostError, DisagreeError) as error:
        for link in came:
            link.send({"error": str(error), "usage": isinstance(error, DisagreeError)})
            link.close()
        raise
    for link in came:
        link.send({"go": True})
    return links


def split(address: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``; the host of an IPv6 address is in brackets.

    Raises:
        DisagreeError: the address has another form.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise DisagreeError(f"--coordinator={address!r}: must be HOST:PORT, such as node0:5678")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _listen(address: str, port: int) -> socket.socket:
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        return socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise LostError(
            f"--coordinator={address}: cannot listen ({os.strerror(error.errno or 0)})"
        ) from error


def _visitor(listener: socket.socket, deadline: float) -> tuple[Link, dict[str, Any]] | None:
    """The next connection and its first message; None for a stranger, or if nobody connects."""
    try:
        listener.settimeout(max(deadline - time.monotonic(), 0.01))
        link = Link(listener.accept()[0])
    except OSError:
        return None
    try:
        link.connection.settimeout(_HELLO_SECONDS)
        (hello,) = link.receive() or [{}]
    except (OSError, ValueError):
        hello = {}
    if {"process_id", "num_processes"} <= hello.keys():
        return link, hello
    link.close()
    return None


def _check(hello: Mapping[str, Any], num_processes: int, links: Mapping[int, Link]) -> None:
    theirs, this = hello["num_processes"], hello["process_id"]
    if theirs != num_processes:
        raise DisagreeError(
            f"--num_processes: must be the same on all processes; it is {num_processes} on process "
            f"0 and {theirs} on process {this}"
        )
    if this in links:
        raise DisagreeError(f"--process_id={this}: must be given to one process, not to two")


def _join(
    address: str, host: str, port: int, num: int, this: int, deadline: float, within: str
) -> Link:
    while (left := deadline - time.monotonic()) > 0:
        answer: dict[str, Any] = {}
        try:
            link = Link(socket.create_connection((host, port), timeout=left))
        except socket.gaierror as error:
            raise LostError(f"--coordinator={address}: {error.strerror}") from error
        except OSError:  # process 0 does not listen yet
            time.sleep(_RETRY_SECONDS)
            continue
        with contextlib.suppress(OSError, ValueError):
            link.send({"process_id": this, "num_processes": num})
            link.connection.settimeout(max(deadline - time.monotonic(), 0.0) + _HELLO_SECONDS)
            (answer,) = link.receive() or [{}]
        if answer.get("go"):
            return link
        link.close()
        if "error" in answer:
            raise (DisagreeError if answer.get("usage") else LostError)(str(answer["error"]))
        time.sleep(_RETRY_SECONDS)  # a stranger, or an earlier training that is just leaving
    raise LostError(f"--coordinator={address}: process 0 was not reached {within}")
