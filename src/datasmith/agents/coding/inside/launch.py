"""Process 1 of a coding agent's turn: give it its files, its environment and one way out, and wait for its end.

What it shall do comes as JSON on standard input, so that no key stands on a command line.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

NO_WAY_OUT = 97
"""Exit code where the host's socket cannot be reached from here."""
_CHUNK = 65536


def relay(path: str) -> int:
    """Listen on a free port of loopback and carry every connection to the socket at `path`; returns the port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    return int(listener.getsockname()[1])


def _accept(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_carry, args=(client, path), daemon=True).start()


def _carry(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        try:
            host.connect(path)
        except OSError:
            return
        back = threading.Thread(target=_pump, args=(host, client), daemon=True)
        back.start()
        _pump(client, host)
        back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while True:
            chunk = source.recv(_CHUNK)
            if not chunk:
                break
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def reachable(path: str) -> str:
    """An empty text where the socket answers, else what is wrong."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return error.strerror or str(error)
    return ""


def main() -> int:
    """Run the job; its exit code is the agent's."""
    job = json.load(sys.stdin)
    wrong = reachable(job["socket"])
    if wrong:
        print("the proxy of the host cannot be reached: " + wrong, file=sys.stderr)
        return NO_WAY_OUT
    proxy = "http://127.0.0.1:{}".format(relay(job["socket"]))
    environment = dict(os.environ)
    environment.update(job["environment"])
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        environment[name] = proxy
    for path, text in job["files"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    done = subprocess.run(job["argv"], env=environment, input=job["stdin"].encode("utf-8"), check=False)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    sys.exit(main())
