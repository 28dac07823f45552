"""Ask uv for the newest releases of a moment: wheels, and sources whose needs are known. It never builds one."""

import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import Literal

import tomli_w
from packaging.version import Version

from datasmith.process import Completed, run
from datasmith.resolution import reuploads
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.failures import is_outage, locked_out, statement, unavailable
from datasmith.resolution.index import PYPI
from datasmith.resolution.platforms import uv_platform
from datasmith.resolution.requirements import asks_for_releases
from datasmith.resolution.versions import with_patch

FRESH_S = 600
"""Pages of the index are asked for again after this many seconds: what PyPI itself says where no proxy drops it."""

TIMEOUT_S = 600.0
PROBE_S = 60.0
"""Within this time an index that is there answers for one project."""
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s\\;]+)", re.MULTILINE)
_LOCKED = re.compile(
    r"--(?:no|only)-binary \S+|[A-Za-z0-9][A-Za-z0-9._-]*==[^\s\\;@]+(?: ; [^\\@]+)?(?: \\)?| +--hash=\S+(?: \\)?|"
)
"""A line of a lock of releases: an option of ours, a pin, a hash, or nothing."""
_LACKING = re.compile(r"The package `([^`]+?)==([^`]+)` does not have an extra named `([^`]+)`")
"""Words of uv's, which locks the release all the same."""
_EXTRA = re.compile(r"\bextra == [\"']([^\"']+)[\"']")

Prerelease = Literal["if-necessary", "if-necessary-or-explicit"]


@dataclass(frozen=True, slots=True)
class Lacking:
    """An extra that is asked for and that the locked release of its project does not have."""

    name: str
    version: str
    extra: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A lock (requirements file with hashes), its pins, sorted, and those of them that are there as sources only."""

    lock: str
    pins: tuple[str, ...]
    sources: tuple[SourceRelease, ...] = ()
    lacking: tuple[Lacking, ...] = ()

    def version(self, name: str) -> Version | None:
        """The locked version of a project; None where it is not in the lock."""
        return next((Version(pin.removeprefix(f"{name}==")) for pin in self.pins if pin.startswith(f"{name}==")), None)


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no such set of releases; `error` is uv's own account."""

    error: str


class UvCompiler:
    """`uv pip compile` in a directory, with an environment and a configuration of its own: no secret, no cwd.

    Without a `cache_dir` nothing is remembered between calls.
    """

    def __init__(
        self,
        uv: Path,
        *,
        index_url: str = "",
        ca_bundle: Path | None = None,
        cache_dir: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._uv = uv
        self._timeout_s = timeout_s
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
        sources: Sequence[SourceRelease] = (),
    ) -> Compiled | Refused:
        """Lock PEP 508 requirements for one Python with releases uploaded before `cutoff`.

        A Python without a patch number is one that all environments have (`with_patch`).
        Of the projects of `sources` just these releases count, and no wheels; of all others wheels only. Refused is
        what asks for anything but releases: uv would fetch it from where it says, and run what builds it.

        Raises:
            IndexUnavailable: the index cannot be reached: no answer either way. Where it can, and uv did not end in
                time, that is a refusal: another day would be as long.
        """
        asked = [*requirements, *(line for item in sources for line in item.requires)]
        if other := next((line for line in asked if not asks_for_releases(line)), None):
            return Refused(f"only releases of a name are asked for, not {other[:200]!r}")
        words = [*self._command(python_version, cutoff), "--prerelease", prerelease]
        done = self._run(words, requirements, sources, reuploads.constraints(cutoff), timeout=self._timeout_s)
        if done.timed_out:
            return self._late(words)
        if done.ok:
            if other := next((line for line in done.text.splitlines() if not _LOCKED.fullmatch(line)), None):
                return Refused(f"locked is what is no release: {other[:200]!r}")
            pins = pins_of(done.text)
            chosen = tuple(item for item in sources if f"{item.name}=={item.version}" in pins)
            return Compiled(done.text, pins, chosen, tuple(starmap(Lacking, _LACKING.findall(done.error_text))))
        if is_outage(done.error_text):
            said = locked_out(done.error_text) or statement(done.error_text)
            raise unavailable(said[:500])
        return Refused(done.error_text)

    def _late(self, words: list[str | Path]) -> Refused:
        """What a search that took too long comes to: the index is asked, past the cache, for one project alone."""
        probe = self._run([*words, "--no-deps", "--no-cache"], ["pip"], (), "", timeout=PROBE_S)
        late = f"uv did not answer within {self._timeout_s:.0f} seconds"
        if probe.timed_out or is_outage(probe.error_text):
            raise unavailable(late)
        return Refused(f"{late}, although the package index does")

    def _run(
        self,
        words: list[str | Path],
        requirements: Sequence[str],
        sources: Sequence[SourceRelease],
        constraints: str,
        *,
        timeout: float,
    ) -> Completed:
        with tempfile.TemporaryDirectory(prefix="fc-resolve-") as name:
            empty = Path(name)
            config = empty / "uv.toml"
            config.write_text(self._configuration(sources), encoding="utf-8")
            (empty / "constraints.txt").write_text(constraints, encoding="utf-8")
            allowed = [word for name in sorted({item.name for item in sources}) for word in ("--no-binary", name)]
            return run(
                [*words, *allowed, "--config-file", config],
                cwd=empty,
                env=self._environment(empty),
                stdin="".join(f"{line}\n" for line in requirements).encode(),
                timeout=timeout,
                kept_bytes=50_000_000,
            )

    def _command(self, python_version: str, cutoff: datetime) -> list[str | Path]:
        moment = cutoff.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return [
            self._uv, "pip", "compile", "-",
            "--exclude-newer", moment, *reuploads.words(cutoff), "--constraints", "constraints.txt",
            "--python-version", with_patch(python_version),
            "--python", sys.executable,
            "--python-platform", uv_platform(),
            "--only-binary", ":all:",
            "--generate-hashes", "--emit-build-options", "--no-header", "--no-annotate",
            "--no-python-downloads", "--no-progress", "--color", "never",
        ]  # fmt: skip

    def _environment(self, empty: Path) -> dict[str, str]:
        """What uv and its children see; with this PYTHONHOME no Python starts but isolated, as uv asks ours.

        A build, which is not isolated, ends before its first line, if uv should ever begin one.
        """
        cache = (self._cache_dir or empty / "cache").absolute()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(empty), "LANG": "C.UTF-8", "UV_CACHE_DIR": str(cache)}
        environment["PYTHONHOME"] = str(empty / "no-python")
        if self._ca_bundle:
            environment["SSL_CERT_FILE"] = str(self._ca_bundle.absolute())
        return environment

    def _configuration(self, sources: Sequence[SourceRelease]) -> str:
        """The index, in a file that only this call sees: its address may carry a password.

        What a release from sources needs is told, so that uv has no reason to build one; each other release of the
        same project is told to need an impossible one, so that it is not chosen, either.
        """
        fresh = {"api": f"max-age={FRESH_S}", "files": "max-age=31536000, immutable"}
        index = {"url": self._index_url or PYPI, "default": True, "cache-control": fresh}
        known: list[dict[str, object]] = [
            {
                "name": item.name,
                "version": item.version,
                "requires-dist": list(item.requires),
                "provides-extra": sorted(_extras(item)),
            }
            for item in sources
        ]
        others = [{"name": name, "requires-dist": [f"{name}<0"]} for name in sorted({item.name for item in sources})]
        return tomli_w.dumps({"index": [index], "dependency-metadata": [*known, *others]})


def _extras(release: SourceRelease) -> set[str]:
    return {name for line in release.requires for name in _EXTRA.findall(line)}


def pins_of(lock: str) -> tuple[str, ...]:
    """The "name==version" of each entry of a lock, sorted."""
    return tuple(sorted(f"{name}=={version}" for name, version in _PIN.findall(lock)))
