"""Sandboxes of the docker or podman program: images from the tiers' Dockerfiles, containers without network."""

import functools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from datasmith.docker.archive import MOST_BYTES
from datasmith.docker.below import Hidden, hidden_in
from datasmith.docker.cli_base import BASE_DIGEST, BASE_NAME, Starts
from datasmith.docker.cli_build import (
    KEY_LABEL,
    LABEL,
    PARENT_ARG,
    build_arguments,
    dockerfile,
    environment_text,
    recipe_digest,
    tier_environment,
    write_context,
)
from datasmith.docker.cli_command import Cli, bind_words
from datasmith.docker.cli_container import DELETE, ENV_WRITER, USER, CliContainer, start_keeper
from datasmith.docker.cli_credentials import no_credentials
from datasmith.docker.cli_limits import kept_by, own_ulimits
from datasmith.docker.cli_lost import lost_in_build
from datasmith.docker.cli_owner import OWNER_LABEL, owner, sweep
from datasmith.docker.debian import package_names
from datasmith.docker.engine import Container, ImageRef, LimitReport, Limits, Mount, Tier
from datasmith.docker.environment import HOME
from datasmith.docker.layers import tier_key
from datasmith.docker.oci_save import save_archive
from datasmith.docker.origin import runs_only_ours
from datasmith.docker.outages import build_failure
from datasmith.docker.parts import parts_of
from datasmith.errors import ConfigError, ContainerError, EngineUnavailable, PublishError
from datasmith.printable import ending
from datasmith.process import find_uv
from datasmith.redact import has_credentials

_DIGEST = re.compile(r"digest: (sha256:[0-9a-f]{64})")
_LONG_S = 3600.0
_PYTHONS = r"for p in /usr/bin/python3.* /usr/local/bin/python3.*; do echo ${p##*/python}; done; cat /etc/os-release"
_RELEASES = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13", "jammy": "3.10", "noble": "3.12"}
"""The Python that python3 of a distribution's release is, where the base tier has yet to install it."""
_MOUNTED = frozenset({"tmp", HOME.lstrip("/"), "dev", "proc", "sys", "etc/hosts", "etc/hostname", "etc/resolv.conf"})
"""Where a container shows something else than its image has: what `_run` mounts, and what the program itself does."""


class CliEngine:
    """ContainerEngine on the command line of docker or podman; every tier is built by the program's own builder."""

    def __init__(
        self,
        program: str,
        *,
        base_image: str,
        build_network: str = "host",
        ca_bundle: Path | None = None,
        index_url: str = "",
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        uv: Path | None = None,
    ) -> None:
        """`environment` is what the program needs to find its daemon (DOCKER_HOST, XDG_RUNTIME_DIR)."""
        self._cli = Cli(program, environment or {})
        self._starts = Starts(self._cli, base_image)
        self._build_network = build_network
        self._ca_bundle = ca_bundle
        self._index_url = index_url
        self._limits = limits or Limits()
        self._local = not re.match(r"(?:tcp|ssh|https?)://", (environment or {}).get("DOCKER_HOST", ""))
        self._uv = uv

    @functools.cached_property
    def _owner(self) -> str:
        return f"{OWNER_LABEL}={owner()}"

    @property
    def name(self) -> str:
        """The program's name."""
        return self._cli.program

    @property
    def runs_dockerfiles(self) -> bool:
        """See ContainerEngine."""
        return True

    def check(self) -> None:
        """See ContainerEngine."""
        done = self._cli.run(["version"], timeout=30)
        if not done.ok:
            raise EngineUnavailable(str(self._cli.failure(done)))
        sweep(self._cli)

    def limits(self) -> LimitReport:
        """See ContainerEngine."""
        return LimitReport(kept_by(self._cli.json(["info", "--format", "{{json .}}"]), local=self._local))

    def pythons(self) -> tuple[str, ...]:
        """See ContainerEngine; those of the base image, or the one that its distribution has."""
        return self._pythons

    @functools.cached_property
    def _pythons(self) -> tuple[str, ...]:
        base = self._starts.fetched()
        words = ["run", "--rm", "--network", "none", "--log-driver", "none", "--entrypoint", "/bin/sh"]
        words += own_ulimits(self.name)
        said = self._cli.ask([*words, base, "-c", _PYTHONS])
        found = set(re.findall(r"^(3\.\d+)$", said, re.MULTILINE))
        release = re.search(r"^VERSION_CODENAME=(\w+)$", said, re.MULTILINE)
        if not found and release and release[1] in _RELEASES:
            found = {_RELEASES[release[1]]}
        return tuple(sorted(found, key=lambda version: int(version.split(".")[1])))

    def build(self, parent: ImageRef | None, tier: Tier, *, log: Path, limits: Limits | None = None) -> ImageRef:
        """See ContainerEngine."""
        package_names(tier.args.get("FC_APT_PACKAGES", ""))
        start = "" if parent else self._starts.of(tier, log)
        below = parent.digest if parent else self._starts.fetched(start)
        key = tier_key(tier, below, {"recipe": recipe_digest(tier, self._ca_bundle)})
        found = self._with_key(key)
        if not found:
            labels = self._starts.labels(start) if tier.kind == "base" else []
            self._build(self._named(below), tier, key, log, limits or self._limits, labels=labels)
            found = self._with_key(key)
        if not found:
            raise ContainerError(f"{self.name} built {tier.name} and does not hold it")
        # Two processes may have built the same tier at once: both take the one that was there first.
        for name in (tier.name, *tier.aliases):
            self._cli.ask(["tag", found[-1], name])
        return ImageRef(self.name, tier.name, found[-1])

    def _with_key(self, key: str) -> list[str]:
        """Digests of the images that were built for a key, the newest first."""
        words = ["images", "--no-trunc", "--quiet", "--filter", f"label={KEY_LABEL}={key}"]
        listed = self._cli.ask(words).split()
        return [name if name.startswith("sha256:") else f"sha256:{name}" for name in listed]

    def _named(self, digest: str) -> str:
        """What FROM calls the parent: BuildKit reads no bare digests, so it gets a tag that no other image can have."""
        if not self.has_buildkit:
            return digest
        name = f"fc-parent:{digest.removeprefix('sha256:')}"
        self._cli.ask(["tag", digest, name])
        return name

    def _build(self, parent: str, tier: Tier, key: str, log: Path, limits: Limits, *, labels: Sequence[str]) -> None:
        if has_credentials(self._index_url):
            raise ConfigError(
                "FC_INDEX_URL holds a user, token or password, which would stay in the image"
                " (example: FC_INDEX_URL=https://pypi.org/simple, or use --engine bubblewrap)"
            )
        ours = runs_only_ours(tier)
        cache, parts = ours and self.has_buildkit, parts_of(tier) if ours else ()
        environment = tier_environment(
            tier, index_url=self._index_url, ca_bundle=self._ca_bundle is not None, cache=cache
        )
        text = dockerfile(tier, cache=cache, parts=len(parts))
        network = self._build_network if tier.network == "build" else "none"
        words = ["build", "--network", network, "--tag", tier.name, "--label", LABEL, "--label", f"{KEY_LABEL}={key}"]
        words += labels
        words += build_arguments(text, {**environment, PARENT_ARG: parent})
        own: AbstractContextManager[Mapping[str, str]] = nullcontext({}) if ours else no_credentials(self._cli)
        with tempfile.TemporaryDirectory(prefix="fc-build-") as place, own as shown:
            context = Path(place)
            write_context(
                tier,
                context,
                uv=self._uv_path,
                ca_bundle=self._ca_bundle,
                environment=environment_text(tier, environment),
                parts=parts,
            )
            (context / "Dockerfile").write_text(text)
            done = self._cli.run(
                [*words, *self._build_options(limits), place],
                timeout=tier.timeout_s,
                log=log,
                env={**self._cli.builder, **shown},
            )
        if done.ok:
            return
        lost = lost_in_build(self._cli, done)
        if lost:
            raise lost
        output = done.text + done.error_text
        raise build_failure(tier, output, done.rc, timed_out=done.timed_out) or self._cli.failure(done)

    @property
    def _uv_path(self) -> Path:
        return (self._uv or find_uv()).resolve()

    @property
    def has_buildkit(self) -> bool:
        """Whether builds can keep their downloads for the next one: BuildKit can, the classic builder cannot."""
        return self._cli.builder.get("DOCKER_BUILDKIT") == "1"

    def _build_options(self, limits: Limits) -> list[str]:
        if self.has_buildkit:
            return ["--progress", "plain"]
        memory = f"{limits.memory_mb}m"
        cores = ["--cpuset-cpus", _listed(limits.cpus)] if limits.cpus else []
        return ["--rm", "--force-rm", "--memory", memory, "--memory-swap", memory, *cores]

    def start(
        self,
        image: ImageRef,
        *,
        limits: Limits | None = None,
        mounts: Sequence[Mount] = (),
        writable_env: bool = False,
        places: Sequence[str] = (),
    ) -> Container:
        """See ContainerEngine."""
        chosen = limits or self._limits
        shown = [word for mount in mounts for word in ("--mount", bind_words(mount))]

        def refreeze(committed: str) -> CliContainer:
            delete = ["rmi", "--force", committed]
            try:
                identity = self._run(committed, chosen, ["--read-only", *shown])
            except BaseException:
                self._cli.delete(delete)
                raise
            return CliContainer(self._cli, image, identity, limits=chosen, refreeze=None, leftovers=[delete])

        kept = [word for place in places for word in ("--tmpfs", f"{place}:{_tmpfs(chosen)}")]
        identity = self._run(image.digest, chosen, [*shown, *kept])
        user = ENV_WRITER if writable_env else USER
        return CliContainer(self._cli, image, identity, limits=chosen, refreeze=refreeze, user=user)

    def _run(self, image: str, limits: Limits, options: Sequence[str]) -> str:
        """Start the keeper of a container; returns the container's id."""
        memory = f"{limits.memory_mb}m"
        tmpfs = _tmpfs(limits)
        words = ["--network", "none", "--user", "0:0", "--hostname", "sandbox", "--workdir", "/"]
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private"]
        words += ["--pids-limit", str(limits.pids), "--memory", memory, "--memory-swap", memory]
        words += ["--cpuset-cpus", _listed(limits.cpus)] if limits.cpus else []
        words += ["--tmpfs", f"/tmp:{tmpfs}", "--tmpfs", f"{HOME}:{tmpfs}", "--shm-size", "256m"]
        words += [*own_ulimits(self.name), "--ulimit", "core=0", "--log-driver", "none"]
        words += ["--label", LABEL, "--label", self._owner]
        return start_keeper(self._cli, [*words, *options], image, timeout=_LONG_S)

    def inspect(self, reference: str) -> ImageRef | None:
        """See ContainerEngine."""
        digest = self._cli.digest(reference)
        return ImageRef(self.name, reference, digest) if digest else None

    def base_of(self, image: ImageRef) -> str:
        """See ContainerEngine; tiers inherit the label of the base tier, a Dockerfile of its own may have none."""
        labels = self._cli.json(["image", "inspect", "--format", "{{json .Config.Labels}}", image.digest])
        if labels is not None and not isinstance(labels, dict):
            raise ContainerError(f"{self.name} holds no image {image.digest}")
        told = labels or {}
        name, digest = str(told.get(BASE_NAME, "unknown")), str(told.get(BASE_DIGEST, image.digest))
        return f"{name.partition('@')[0]}@{digest}"

    def below(self, image: ImageRef) -> Iterator[Hidden]:
        """See ContainerEngine."""
        with tempfile.TemporaryDirectory(prefix="fc-save-") as place:
            archive = Path(place, "image.tar")
            save_archive(self._cli, image, archive)
            yield from hidden_in(archive, _MOUNTED)

    def export(self, image: ImageRef, path: str, target: Path) -> None:
        """See ContainerEngine."""
        labels = ["--label", LABEL, "--label", self._owner]
        identity = self._cli.ask(["create", "--network", "none", *labels, image.digest, "/bin/true"])
        target.unlink(missing_ok=True)
        try:
            # The tar is the only thing the program prints where it succeeds, so the log of its output is the tar.
            words = ["cp", f"{identity}:{path}/.", "-"]
            done = self._cli.run(words, timeout=_LONG_S, log=target, log_bytes=MOST_BYTES, log_is_text=False)
        finally:
            self._cli.delete((*DELETE, identity))
        if not done.ok or done.stderr:
            target.unlink(missing_ok=True)
            raise self._cli.failure(done)

    def push(self, image: ImageRef, reference: str) -> str:
        """See ContainerEngine."""
        self._cli.ask(["tag", image.digest, reference])
        done = self._cli.run(["push", reference], timeout=_LONG_S)
        found = _DIGEST.search(done.text)
        if not done.ok or found is None:
            said = ending(done.error_text or done.text, 300)
            raise PublishError(f"{image.name} did not arrive at {reference}: {said}")
        return found[1]


def _tmpfs(limits: Limits) -> str:
    return f"rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"


def _listed(cpus: Sequence[int]) -> str:
    return ",".join(str(core) for core in cpus)
