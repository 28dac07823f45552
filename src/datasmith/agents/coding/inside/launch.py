"""A coding agent's turn, below the relay: give it its files, its environment and its model, and wait for its end.

What it shall do comes as JSON on standard input. Where a text of the job holds MODEL_URL, the agent finds the address
of its model instead, which stands in MODEL_VARIABLE.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

STOPPED = 98
"""Exit code where the host stopped the agent."""
MODEL_URL = "http://model.fc.invalid"
MODEL_VARIABLE = "FC_MODEL_URL"
STOP_PATH = "/.fc/stop"
"""What is asked here of the host gets an answer when the agent has to stop."""


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
    environment = dict(os.environ)
    model = environment.pop(MODEL_VARIABLE)
    environment.update({name: text.replace(MODEL_URL, model) for name, text in job["environment"].items()})
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = "127.0.0.1,localhost"
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
