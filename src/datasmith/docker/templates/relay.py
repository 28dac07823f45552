"""Inside a sandbox without network: run a command that reaches the sockets of the host that it is shown.

Arguments: `NAMES=SOCKET` for each, `--`, and the command, whose environment has, under each of the names (a comma
between two), the address to reach the socket at. The exit code is the command's, or NO_WAY_OUT.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

NO_WAY_OUT = 97
"""Exit code where a socket of the host cannot be reached from here."""
CHUNK = 65536


def relay(path: str) -> int:
    """Listen on a free port of loopback and carry every connection to the socket at `path`; returns the port.

    Raises:
        OSError: nobody answers at the socket.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.connect(path)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    return int(listener.getsockname()[1])


def serve(listener: socket.socket, path: str) -> None:
    """Carry every connection to the socket at `path`."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=carry, args=(client, path), daemon=True).start()


def carry(client: socket.socket, path: str) -> None:
    """Carry a connection to the socket at `path`; it is closed where nobody listens there."""
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        try:
            host.connect(path)
        except OSError:
            return
        join(client, host)


def join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both sides have said all."""
    forth = threading.Thread(target=pump, args=(one, other), daemon=True)
    forth.start()
    pump(other, one)
    forth.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way, until one side has had enough; then neither waits for the other."""
    with suppress(OSError):
        while chunk := source.recv(CHUNK):
            sink.sendall(chunk)
    for side, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            side.shutdown(how)


def main(words: list[str]) -> int:
    """See the module."""
    end = words.index("--")
    environment = dict(os.environ)
    for way in words[:end]:
        names, _, path = way.partition("=")
        try:
            port = relay(path)
        except OSError as error:
            sys.stderr.write(f"the proxy of the host cannot be reached: {error.strerror or error}\n")
            return NO_WAY_OUT
        environment.update(dict.fromkeys(names.split(","), f"http://127.0.0.1:{port}"))
    code = subprocess.call(words[end + 1 :], env=environment)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
