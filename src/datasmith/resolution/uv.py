"""The only I/O of the room: ask uv for the newest releases, as wheels, that existed at a moment."""

import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import tomli_w

from datasmith.errors import IndexUnavailable
from datasmith.process import run
from datasmith.resolution.failures import is_outage, statement

GLIBC = "manylinux_2_36"
"""Wheels may ask for at most this C library: Debian 12's."""

PYPI = "https://pypi.org/simple"
"""The index where no other one is set."""

FRESH_S = 600
"""Pages of the index are asked for again after this many seconds: what PyPI itself says where no proxy drops it."""

TIMEOUT_S = 600.0
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s\\;]+)", re.MULTILINE)

Prerelease = Literal["if-necessary", "if-necessary-or-explicit"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A lock (requirements file with hashes, wheels only) and its pins, sorted."""

    lock: str
    pins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no such set of releases; `error` is uv's own account."""

    error: str


class UvCompiler:
    """`uv pip compile` in a directory, with an environment and a configuration of its own: no secret, no cwd.

    Without a `cache_dir` nothing is remembered between calls.
    """

    def __init__(
        self, uv: Path, *, index_url: str = "", ca_bundle: Path | None = None, cache_dir: Path | None = None
    ) -> None:
        self._uv = uv
        self._index_url = index_url
        self._ca_bundle = ca_bundle
        self._cache_dir = cache_dir

    def compile(
        self,
        requirements: Sequence[str],
        *,
        python_version: str,
        cutoff: datetime,
        prerelease: Prerelease = "if-necessary",
    ) -> Compiled | Refused:
        """Lock PEP 508 requirements for one Python with releases uploaded before `cutoff`.

        Raises:
            IndexUnavailable: the index cannot be reached, or uv did not end in time: no answer either way.
        """
        with tempfile.TemporaryDirectory(prefix="fc-resolve-") as name:
            empty = Path(name)
            config = empty / "uv.toml"
            config.write_text(self._configuration(), encoding="utf-8")
            done = run(
                [*self._command(python_version, cutoff), "--prerelease", prerelease, "--config-file", config],
                cwd=empty,
                env=self._environment(empty),
                stdin="".join(f"{line}\n" for line in requirements).encode(),
                timeout=TIMEOUT_S,
                kept_bytes=50_000_000,
            )
        if done.timed_out:
            raise IndexUnavailable(f"uv did not answer within {TIMEOUT_S:.0f} seconds")
        if done.ok:
            return Compiled(done.text, pins_of(done.text))
        if is_outage(done.error_text):
            raise IndexUnavailable(f"package index unavailable: {statement(done.error_text)[:500]}")
        return Refused(done.error_text)

    def _command(self, python_version: str, cutoff: datetime) -> list[str | Path]:
        moment = cutoff.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return [
            self._uv, "pip", "compile", "-",
            "--exclude-newer", moment,
            "--python-version", python_version,
            "--python", sys.executable,
            "--python-platform", f"{platform.machine()}-{GLIBC}",
            "--only-binary", ":all:",
            "--generate-hashes", "--emit-build-options", "--no-header", "--no-annotate",
            "--no-python-downloads", "--no-progress", "--color", "never",
        ]  # fmt: skip

    def _environment(self, empty: Path) -> dict[str, str]:
        cache = (self._cache_dir or empty / "cache").absolute()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(empty), "LANG": "C.UTF-8", "UV_CACHE_DIR": str(cache)}
        if self._ca_bundle:
            environment["SSL_CERT_FILE"] = str(self._ca_bundle.absolute())
        return environment

    def _configuration(self) -> str:
        """The index, in a file that only this call sees: its address may carry a password."""
        fresh = {"api": f"max-age={FRESH_S}", "files": "max-age=31536000, immutable"}
        return tomli_w.dumps({"index": [{"url": self._index_url or PYPI, "default": True, "cache-control": fresh}]})


def pins_of(lock: str) -> tuple[str, ...]:
    """The "name==version" of each entry of a lock, sorted."""
    return tuple(sorted(f"{name}=={version}" for name, version in _PIN.findall(lock)))
