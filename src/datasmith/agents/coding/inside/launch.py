"""Process 1 of a coding agent's turn: give it its files, its environment and its ways out, and wait for its end.

What it shall do comes as JSON on standard input. Where a text of the job holds MODEL_URL, the address stands where the
agent reaches its model.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

NO_WAY_OUT = 97
"""Exit code where a socket of the host cannot be reached from here."""
STOPPED = 98
"""Exit code where the host stopped the agent."""
MODEL_URL = "http://model.fc.invalid"
STOP_PATH = "/.fc/stop"
"""What is asked here of the host gets an answer when the agent has to stop."""
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


def stop_when_told(path: str, child: "subprocess.Popen[bytes]", stopped: threading.Event) -> None:
    """Wait for the host's word, and kill the agent's processes when it comes."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.connect(path)
        host.sendall(f"GET {STOP_PATH} HTTP/1.1\r\nHost: model\r\n\r\n".encode())
        if host.recv(1):
            stopped.set()
            os.killpg(child.pid, signal.SIGKILL)


def main() -> int:
    """Run the job; its exit code is the agent's."""
    job = json.load(sys.stdin)
    for name in ("gateway", "egress"):
        wrong = reachable(job[name]) if job[name] else ""
        if wrong:
            print("the proxy of the host cannot be reached: " + wrong, file=sys.stderr)
            return NO_WAY_OUT
    model = "http://127.0.0.1:{}".format(relay(job["gateway"]))
    environment = dict(os.environ)
    environment.update({name: text.replace(MODEL_URL, model) for name, text in job["environment"].items()})
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = "127.0.0.1,localhost"
    if job["egress"]:
        proxy = "http://127.0.0.1:{}".format(relay(job["egress"]))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environment[name] = proxy
    for path, text in job["files"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(MODEL_URL, model))
    words = [word.replace(MODEL_URL, model) for word in job["argv"]]
    child = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, start_new_session=True)
    stopped = threading.Event()
    threading.Thread(target=stop_when_told, args=(job["gateway"], child, stopped), daemon=True).start()
    child.communicate(job["stdin"].encode("utf-8"))
    if stopped.is_set():
        return STOPPED
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
