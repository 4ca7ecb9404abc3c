"""The processes of a training find each other within a time limit, or fail with a reason."""

import concurrent.futures
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time

import pytest

from el_jax.runtime import watch
from el_jax.runtime.errors import LostError
from el_jax.runtime.meeting import DisagreeError, Link, meet, split
from el_jax.runtime.relay import relay


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def met(*members, seconds=10.0):
    """Result of a meeting for each ``(num_processes, this)``: its links' numbers, or the error."""
    address = f"localhost:{free_port()}"

    everybody_done = threading.Barrier(len(members))

    def come(member):
        links = {}
        try:
            links = meet(address, *member, seconds)
            return sorted(links)
        except (LostError, DisagreeError) as error:
            return type(error), str(error).removeprefix(f"--coordinator={address}: ")
        finally:
            everybody_done.wait(20)
            for link in links.values():
                link.close()

    with concurrent.futures.ThreadPoolExecutor(len(members)) as threads:
        return list(threads.map(come, members))


def test_all_come_in_any_order():
    assert met((3, 2), (3, 0), (3, 1)) == [[0], [1, 2], [0]]
    assert met((1, 0)) == [[]]


def test_numbers_of_processes_that_differ_are_named_on_each():
    words = "must be the same on all processes; it is 2 on process 0 and 3 on process 1"
    assert met((2, 0), (3, 1)) == [(DisagreeError, f"--num_processes: {words}")] * 2


def test_a_number_given_twice_is_named():
    words = "must be given to one process, not to two"
    assert met((3, 0), (3, 1), (3, 1)) == [(DisagreeError, f"--process_id=1: {words}")] * 3


def test_who_does_not_come_is_named_within_the_time_limit():
    begun = time.monotonic()
    first, second = met((3, 0), (3, 1), seconds=1.0)
    assert time.monotonic() - begun < 5
    kind, message = first
    assert kind is LostError
    assert message == "process 2 of 3 did not come within 1 s (--join_timeout)"
    assert second == first
    kind, message = met((2, 1), seconds=1.0)[0]
    assert kind is LostError
    assert message == "process 0 was not reached within 1 s (--join_timeout)"


def test_addresses_are_a_host_and_a_port():
    assert split("node0:5678") == ("node0", 5678)
    assert split("[::1]:80") == ("::1", 80)


def test_a_port_in_use_and_an_address_that_is_none_are_said_at_once():
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LostError, match=rf":{port}: cannot listen \(Address already in use\)"):
            meet(f"localhost:{port}", 2, 0, 60.0)
    for address in ("localhost", "localhost:", ":80", "localhost:x", "localhost:99999"):
        with pytest.raises(DisagreeError, match="must be HOST:PORT"):
            meet(address, 2, 1, 60.0)
    with pytest.raises(LostError, match=r"nowhere\.invalid:80: "):
        meet("nowhere.invalid:80", 2, 1, 2.0)


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b"{}\n{}\n", b""])
def test_strangers_are_ignored(words):
    address = f"localhost:{free_port()}"
    port = int(address.partition(":")[2])
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(meet, address, 2, 0, 20.0)
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("localhost", port)) as s:
                s.sendall(words)
                break
        second = threads.submit(meet, address, 2, 1, 20.0)
        (_, one), (_, other) = *first.result().items(), *second.result().items()
    one.send({"a": 1})
    assert other.receive() == [{"a": 1}]
    one.close()
    other.close()


def test_the_port_can_be_listened_to_again_while_the_links_are_open():
    address = f"localhost:{free_port()}"
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(meet, address, 2, i, 20.0) for i in (0, 1))
        links = first.result(), second.result()
    with socket.create_server(("", int(address.partition(":")[2]))):
        links[0][1].send({"still": "there"})
        assert links[1][0].receive() == [{"still": "there"}]
    links[0][1].close()
    links[1][0].close()


def test_a_relay_carries_both_ways_and_stays_open_when_the_service_is_gone():
    with socket.create_server(("localhost", 0)) as service:
        host, _, port = relay("localhost", service.getsockname()[1]).partition(":")
        client = socket.create_connection((host, int(port)))
        outer, _ = service.accept()
        client.sendall(b"question")
        assert outer.recv(100) == b"question"
        outer.sendall(b"answer")
        assert client.recv(100) == b"answer"
        outer.close()
    client.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.recv(100)
    client.close()


# ── who watches whom ─────────────────────────────────────────────────────────────────────────────

_MEMBER = """
import sys, time
from el_jax.runtime import watch
from el_jax.runtime.meeting import meet

address, num, this, what = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
watch.GRACE_SECONDS = 1.0
watched = watch.Watch(meet(address, num, this, 60.0), num)
print("met", flush=True)
sys.stdin.readline()
if what == "die":
    watch.leave_at_once(9)
if what != "wait":
    watched.leave(int(what))
    watch.leave_at_once(int(what))
time.sleep(60)
"""


def ended(*whats):
    """Exit codes and errors of members that each carry out an order once all have met."""
    address = f"localhost:{free_port()}"
    members = [
        subprocess.Popen(
            [sys.executable, "-c", _MEMBER, address, str(len(whats)), str(i), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i, what in enumerate(whats)
    ]
    for member in members:
        assert member.stdout.readline() == "met\n"
    for member in members:
        member.stdin.write("go\n")
        member.stdin.flush()
    printed = [member.communicate(timeout=50)[1] for member in members]
    return [(member.returncode, text) for member, text in zip(members, printed, strict=True)]


@pytest.mark.parametrize("dead", [0, 1])
def test_who_dies_is_named_by_all_others(dead):
    whats = ["wait"] * 3
    whats[dead] = "die"
    found = ended(*whats)
    assert found.pop(dead) == (9, "")
    assert found == [(6, f"error: process {dead} of 3 is gone\n")] * 2


@pytest.mark.parametrize("left", [0, 2])
def test_who_leaves_with_an_error_of_its_own_takes_the_others_with_it(left):
    whats = ["wait"] * 3
    whats[left] = "4"
    found = ended(*whats)
    assert found.pop(left) == (4, "")
    assert found == [(6, f"error: process {left} of 3 ended with exit code 4\n")] * 2


@pytest.mark.parametrize("code", [0, 2])
def test_who_leave_together_say_nothing(code):
    assert ended(*[str(code)] * 3) == [(code, "")] * 3


def connected():
    with socket.create_server(("localhost", 0)) as listener:
        far = socket.create_connection(listener.getsockname())
        return listener.accept()[0], far


def test_the_reason_is_known_to_who_asks():
    near, far = connected()
    watched = watch.Watch({1: Link(near)}, 2)
    assert watched.why(0.0) is None
    threading.Timer(0.1, far.close).start()
    assert watched.why(10.0) == "process 1 of 2 is gone"
    watched.leave(0)  # else it would end this process


def test_a_message_in_pieces_is_one():
    near, far = connected()
    link = Link(near)
    message = json.dumps({"a": 1}).encode() + b"\n"
    far.sendall(message[:3])
    assert link.receive() == []
    far.sendall(message[3:] + message)
    assert link.receive() == [{"a": 1}] * 2
    far.close()
    assert link.receive() is None
    link.close()
