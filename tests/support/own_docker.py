"""A Docker daemon of a test's own, on a socket of its own, which can crash and be started again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from datasmith import process
from tests.support.base_image import BASE_IMAGE, base_archive, lacks

START_S = 60.0
"""Seconds in which a daemon has to answer."""
_GIVEN = """
import os, sys
held = int(sys.argv[1])
if held != 3:
    os.dup2(held, 3)
    os.close(held)
os.execvpe(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
"""
"""Start a program with a listening socket, whatever its number is here, as systemd does."""


class OwnDocker:
    """A daemon without network set-up, with everything it writes below `place`, whose path has to be short.

    As with systemd, its socket outlives it: who asks while nobody answers waits for the next one. `leave` ends that.
    """

    def __init__(self, place: Path) -> None:
        """Skips, outside CI, where no daemon can be started."""
        if os.geteuid() != 0 or not shutil.which("dockerd"):
            lacks("no Docker daemon can be started", "as root, after apt-get install docker.io")
        self._place = place
        self._path = place / "docker.sock"
        self._daemon: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    @property
    def address(self) -> str:
        """What DOCKER_HOST is for it."""
        return f"unix://{self._path}"

    def start(self) -> None:
        """Start the daemon, and wait until it answers."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(self._path))
            self._socket.listen(128)
        held = self._socket.fileno()
        words = [sys.executable, "-c", _GIVEN, str(held), "dockerd", "--host", "fd://"]
        words += ["--iptables=false", "--bridge=none"]
        words += ["--data-root", f"{self._place}/data", "--exec-root", f"{self._place}/exec"]
        words += ["--pidfile", f"{self._place}/docker.pid"]
        with (self._place / "log").open("ab") as log:
            self._daemon = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True, pass_fds=[held])
        deadline = time.monotonic() + START_S
        while not process.run(["docker", "version"], env=self._env, timeout=5).ok:
            said = (self._place / "log").read_text(errors="replace")[-2000:]
            assert self._daemon.poll() is None and time.monotonic() < deadline, f"dockerd did not come up: {said}"
            time.sleep(0.1)

    def load_base(self) -> str:
        """The name of the tests' base image, which it has then."""
        self.ask("import", str(base_archive(self._place)), BASE_IMAGE)
        # A daemon that comes back ends what the last one has left, and would wait ten seconds for a shell to agree.
        context = self._place / "base"
        context.mkdir()
        (context / "Dockerfile").write_text(f"FROM {BASE_IMAGE}\nSTOPSIGNAL SIGKILL\n")
        self.ask("build", "--quiet", "--tag", BASE_IMAGE, str(context))
        return BASE_IMAGE

    def ask(self, *words: str) -> list[str]:
        """The lines that it answers."""
        done = process.run(["docker", *words], env=self._env, timeout=600)
        assert done.ok, done.error_text
        return done.text.splitlines()

    @property
    def _env(self) -> dict[str, str]:
        return process.clean_environment({"DOCKER_HOST": self.address})

    def crash(self) -> None:
        """End the daemon with kill -9, and its containerd; what runs in containers is left to itself."""
        assert self._daemon
        noted = self._place / "exec" / "containerd" / "containerd.pid"
        for pid in (self._daemon.pid, int(noted.read_text())):
            os.kill(pid, signal.SIGKILL)
        self._daemon.wait()
        self._daemon = None
        # Whoever adopted containerd may reap it late, and until then the next daemon takes it for alive.
        noted.unlink()

    def stop(self) -> None:
        """End the daemon as its service does."""
        if self._daemon:
            self._daemon.terminate()
            self._daemon.wait(timeout=60)
            self._daemon = None

    def leave(self) -> None:
        """Take the socket away, too: who asks is told at once that nobody answers."""
        if self._socket:
            self._socket.close()
            self._path.unlink()
            self._socket = None

    def inside(self) -> frozenset[int]:
        """Pids of what runs in its containers, and in steps of its builds, whether it lives or not.

        Their root is a mount of the daemon's; sandboxes of other tests may have seen such mounts elsewhere.
        """
        return frozenset(int(entry.name) for entry in Path("/proc").glob("[0-9]*") if self._is_root_of(entry))

    def _is_root_of(self, process: Path) -> bool:
        with suppress(OSError):
            if (process / "ns" / "mnt").readlink() != Path("/proc/self/ns/mnt").readlink():
                mounts = (process / "mountinfo").read_text().splitlines()
                return any(line.split()[4] == "/" and str(self._place) in line for line in mounts)
        return False

    def kill_inside(self) -> None:
        """End all that runs inside; the first process of a container takes the others with it."""
        for pid in self.inside():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        """Stop it, end what it has left, and delete all of it."""
        self.stop()
        self.leave()
        self.kill_inside()
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for path in sorted((path for path in mounts if path.startswith(f"{self._place}/")), reverse=True):
            process.run(["umount", "--lazy", path], timeout=60)
        shutil.rmtree(self._place, ignore_errors=True)
