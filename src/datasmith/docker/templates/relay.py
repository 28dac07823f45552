"""Inside a sandbox without network: run a command that reaches, as its proxy, the socket of the host that it is shown.

Arguments: the socket, and the command. Its exit code is the command's.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

CHUNK = 65536


def serve(listener: socket.socket, path: str) -> None:
    """Carry every connection to the socket at `path`."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=carry, args=(client, path), daemon=True).start()


def carry(client: socket.socket, path: str) -> None:
    """Carry bytes both ways until both sides have said all."""
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        try:
            host.connect(path)
        except OSError:
            return
        back = threading.Thread(target=pump, args=(host, client), daemon=True)
        back.start()
        pump(client, host)
        back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way."""
    with suppress(OSError):
        while True:
            chunk = source.recv(CHUNK)
            if not chunk:
                break
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def main(path: str, words: list[str]) -> int:
    """See the module."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    code = subprocess.call(words, env={**os.environ, **dict.fromkeys(names, proxy)})
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
