"""Debian's docker-registry on loopback, and a proxy before it that cuts connections."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

USER = "pusher"
PASSWORD = "made-up-word-1"
_HASHED = "$2y$05$abcdefghijklmnopqrstuuB/52rWMP0paUN1RwKwTzvXlJRCOTSw2"
"""bcrypt of PASSWORD."""
_CONFIG = """version: 0.1
log: {{level: error}}
storage:
  filesystem: {{rootdirectory: {root}}}
  delete: {{enabled: true}}
http:
  addr: 127.0.0.1:{port}
"""
_AUTH = """auth:
  htpasswd: {{realm: tests, path: {path}}}
"""


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def registry(place: Path, *, login: bool = False) -> Iterator[int]:
    """A registry that keeps its files below `place`; yields its port. Skips, outside CI, where it is not installed."""
    program = shutil.which("docker-registry")
    if program is None:
        if not os.environ.get("CI"):
            pytest.skip("docker-registry is not installed (scripts/install-system.sh test installs it)")
        pytest.fail("docker-registry is not installed, and CI must not skip")
    port = free_port()
    place.mkdir(parents=True, exist_ok=True)
    text = _CONFIG.format(root=place / "data", port=port)
    if login:
        (place / "users").write_text(f"{USER}:{_HASHED}\n")
        text += _AUTH.format(path=place / "users")
    (place / "config.yml").write_text(text)
    with (place / "log").open("wb") as log:
        child = subprocess.Popen([program, "serve", str(place / "config.yml")], stdout=log, stderr=log)
        try:
            _wait_for(port, child, place / "log")
            yield port
        finally:
            child.terminate()
            child.wait(timeout=30)


def _wait_for(port: int, child: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert child.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


@dataclass
class CuttingProxy:
    """Passes on what comes to its port; a connection that has sent `cut_after` bytes is cut, `cuts` times in all."""

    target: int
    cut_after: int
    cuts: int
    port: int = field(default_factory=free_port)
    made: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def running(self) -> Iterator["CuttingProxy"]:
        """Listens while the body runs."""
        server = socket.create_server(("127.0.0.1", self.port))
        thread = threading.Thread(target=self._serve, args=(server,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join(timeout=10)

    def _serve(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                upstream = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self._pass_on, args=(client, upstream, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(upstream, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
                passed += len(data)
                if counted and passed > self.cut_after and self._may_cut():
                    break
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _may_cut(self) -> bool:
        with self._lock:
            if self.made >= self.cuts:
                return False
            self.made += 1
            return True
