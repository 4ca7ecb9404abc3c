"""A relay to the coordination service, whose near end stays open when the service is gone.

jax's client of that service ends its process with SIGABRT and a C++ stack as soon as the connection
breaks. So the client connects to a relay in its own process, which carries its bytes to process 0.
When process 0 dies, the client hears nothing more and waits, which leaves time for a message.
"""

import contextlib
import socket
import threading
import time

_RETRY_SECONDS = 0.1


def relay(host: str, port: int) -> str:
    """Forward connections from the returned address to ``host:port``, until the process ends.

    Returns:
        ``HOST:PORT`` of this process.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            inner, _ = listener.accept()
            _start(_carry, inner, host, port)

    _start(serve)
    return f"127.0.0.1:{listener.getsockname()[1]}"


def _start(function: object, *args: object) -> None:
    threading.Thread(target=function, args=args, name="relay", daemon=True).start()  # type: ignore[arg-type]


def _carry(inner: socket.socket, host: str, port: int) -> None:
    outer = _connect(host, port)
    _start(_copy, outer, inner)  # its end does not end the inner connection: see above
    _copy(inner, outer)
    outer.close()
    inner.close()


def _connect(host: str, port: int) -> socket.socket:
    """Connect to the service; retry until it is up."""
    while True:
        try:
            return socket.create_connection((host, port))
        except OSError:
            time.sleep(_RETRY_SECONDS)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(1 << 16):
            sink.sendall(content)
