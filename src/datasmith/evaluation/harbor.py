"""Harbor's environment on our sandboxes: `harbor run -p tasks/ --env datasmith.evaluation.harbor:SandboxEnvironment`.

For machines without Docker Compose. It is imported by Harbor, in an environment where both are installed.
"""

import asyncio
import io
import tarfile
from pathlib import Path, PurePosixPath
from uuid import uuid4

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.tar_transfer import extract_dir_from_bytes, pack_dir_to_bytes

from datasmith.docker.engine import WORKDIR, Container, ContainerEngine, Limits
from datasmith.docker.engines import open_engine
from datasmith.evaluation.images import build_again
from datasmith.process import TIMED_OUT
from datasmith.settings import load_settings
from datasmith.tasks.folder import read_task

PLACES = ("/logs", "/tests", "/solution")
"""Harbor's directories in a sandbox."""
NO_LIMIT_S = 24 * 3600.0
FILE_TIMEOUT_S = 600.0
MOST_BYTES = 500_000_000
"""A larger file or directory does not leave a sandbox."""


class SandboxEnvironment(BaseEnvironment):  # type: ignore[misc]  # Harbor is installed where this is used, and not here
    """One sandbox of the engine that FC_ENGINE names (bubblewrap, docker or podman), as Harbor asks for it.

    The image is the task's sealed one, found by its digest or built from environment/. There is no network, no root
    and, between two commands, no process and nothing in /tmp or HOME.
    """

    _container: Container | None = None

    @staticmethod
    def type() -> str:
        """The name that Harbor shows."""
        return "fc-sandbox"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """No network is all that it can give, and what it always gives."""
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Limits on memory and cores are kept as far as the engine can keep them."""
        return EnvironmentResourceCapabilities(memory_limit=True, cpu_limit=True)

    def _validate_definition(self) -> None:
        if not (self.environment_dir.parent / "task.toml").is_file():
            raise FileNotFoundError(f"{self.environment_dir.parent} is no task folder of fc-data")

    async def start(self, force_build: bool) -> None:  # noqa: ARG002
        """Start a fresh sandbox of the task's image; `force_build` changes nothing: an image is what its files make."""
        if not self._network_disabled:
            raise ValueError("these sandboxes have no network (task.toml: network_mode = 'no-network')")
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        folder = self.environment_dir.parent
        task = read_task(folder)
        settings = load_settings()
        engine: ContainerEngine = open_engine(settings)
        log = self.trial_paths.trial_dir / "build.log"
        image = engine.inspect(task.image_digest) or build_again(engine, settings, task, folder, log=log)
        memory_mb = self._effective_memory_mb or settings.memory_mb
        limits = Limits(memory_mb=memory_mb, pids=settings.pids, disk_mb=settings.disk_mb)
        self._container = engine.start(image, limits=limits, writable_env=task.compiled, places=PLACES)
        made = self._run(self._ensure_dirs_command(self._mount_targets(writable_only=True)), 60.0)
        if made.return_code:
            raise RuntimeError(f"Harbor's directories cannot be made: {made.stderr}")

    async def stop(self, delete: bool) -> None:  # noqa: ARG002
        """Stop and delete the sandbox, whatever `delete` says: nothing of it could be used again."""
        container, self._container = self._container, None
        if container is not None:
            await asyncio.to_thread(container.stop)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,  # noqa: ARG002
    ) -> ExecResult:
        """Run a shell command as the sandbox's one user, whatever `user` says."""
        merged = self._merge_env(env)
        limit = float(timeout_sec) if timeout_sec else NO_LIMIT_S
        where = cwd or self.task_env_config.workdir or WORKDIR
        return await asyncio.to_thread(self._run, command, limit, env=merged, cwd=where)

    def _run(
        self, command: str, timeout: float, *, env: dict[str, str] | None = None, cwd: str = "/", stdin: bytes = b""
    ) -> ExecResult:
        done = self._sandbox.exec(["/bin/bash", "-c", command], timeout=timeout, env=env, cwd=cwd, stdin=stdin)
        code = TIMED_OUT if done.timed_out else done.rc
        return ExecResult(stdout=done.text, stderr=done.error_text, return_code=code)

    @property
    def _sandbox(self) -> Container:
        if self._container is None:
            raise RuntimeError("the sandbox is not running")
        return self._container

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of the host into the sandbox."""
        source, target = Path(source_path), PurePosixPath(target_path)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(source, arcname=target.name)
        await asyncio.to_thread(self._unpack, packed.getvalue(), str(target.parent))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what a directory of the host holds into one of the sandbox."""
        await asyncio.to_thread(self._unpack, pack_dir_to_bytes(source_dir).getvalue(), target_dir)

    def _unpack(self, packed: bytes, target: str) -> None:
        words = 'mkdir -p "$TARGET" && tar -x --no-same-owner -C "$TARGET"'
        done = self._run(words, FILE_TIMEOUT_S, env={"TARGET": target}, stdin=packed)
        if done.return_code:
            raise RuntimeError(f"cannot write {target} in the sandbox: {done.stderr}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file of the sandbox to the host."""
        await asyncio.to_thread(self._take, source_path, Path(target_path))

    def _take(self, source: str, target: Path) -> None:
        data = self._sandbox.read_file(source, max_bytes=MOST_BYTES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy what a directory of the sandbox holds to the host; links that lead out of it are left out."""
        data = await asyncio.to_thread(self._packed, source_dir)
        await asyncio.to_thread(extract_dir_from_bytes, data, target_dir)

    def _packed(self, source: str) -> bytes:
        archive = f"/logs/.fc-{uuid4().hex}.tar"
        given = {"ARCHIVE": archive, "SOURCE": source}
        done = self._run('tar -c -f "$ARCHIVE" --exclude="./.fc-*" -C "$SOURCE" .', FILE_TIMEOUT_S, env=given)
        if done.return_code:
            raise RuntimeError(f"cannot read {source} in the sandbox: {done.stderr}")
        data = self._sandbox.read_file(archive, max_bytes=MOST_BYTES)
        self._run('rm -f "$ARCHIVE"', FILE_TIMEOUT_S, env=given)
        return data
