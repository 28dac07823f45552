"""What `docker build` needs of a tier: a directory with its files, its Dockerfile, and what that asks for by ARG."""

import hashlib
import os
import re
import shlex
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from datasmith.docker.context import SCRIPT
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Tier, TierKind
from datasmith.docker.environment import CERTIFICATES, CLEAN_ENVIRONMENT, OFFLINE
from datasmith.docker.layers import content
from datasmith.docker.source_tar import REPO_TAR, rewrite, root_member
from datasmith.errors import ConfigError

KEY_LABEL = "org.formulacode.key"
LABEL = "org.formulacode=1"
PARENT_ARG = "PARENT"
TIER_SCRIPT = "tier.sh"
TIER_ENVIRONMENT = "tier_env.sh"
TIER_DOCKERFILES: Mapping[TierKind, str] = {"base": "Dockerfile.base", "env": "Dockerfile.repo", "pr": "Dockerfile.pr"}
"""Our own Dockerfile of each kind of tier."""
CACHE_PLACE = "/mnt"
"""Where the cache of downloads is mounted: a directory that every image has, so that mounting leaves nothing."""
CACHE_MOUNT = f"--mount=type=cache,id=fc-uv,target={CACHE_PLACE}"
"""How a step of a Dockerfile gets it."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_COPIED = (".sh", ".txt", ".pem", ".py")
"""Ends of the names that our own Dockerfiles copy to /build."""
_RESERVED = frozenset({TIER_SCRIPT, TIER_ENVIRONMENT, "Dockerfile", "uv", "ca.pem"})
_FIXED_TIME = 315_532_800.0
_PART = "part-{}.lock"
_FROM = re.compile(r"^[ \t]*FROM[ \t](?:.*\\\n)*.*$", re.MULTILINE | re.IGNORECASE)
_RUN_TIER = re.compile(rf"^RUN (?=(?:FC_\w+=\S+ )*/bin/sh /build/{re.escape(TIER_SCRIPT)} )", re.MULTILINE)


def template(name: str) -> str:
    """The text of a file that ships for builds."""
    return files("datasmith.docker").joinpath("templates", name).read_text(encoding="utf-8")


def dockerfile(tier: Tier, *, cache: bool, parts: int = 0) -> str:
    """The Dockerfile to build a tier with: its own, or ours; each stage starts without the key of what it is made from.

    A tier's key is taken off its children first: what a broken build leaves must not be found in the parent's place.
    `cache`: the builder can mount, and what our own programs download is kept for the next build, outside the image.
    `parts`: so many layers come first, each with a part of an environment (`parts_of`).
    """
    text = tier.dockerfile or template(TIER_DOCKERFILES[tier.kind])
    if parts:
        text = _RUN_TIER.sub("RUN FC_BEGUN=1 ", text)
        text = text.replace("COPY ", f"{_part_steps(tier, parts)}COPY ", 1)
    if cache and tier.network == "build" and not tier.dockerfile:
        text = _RUN_TIER.sub(f"RUN {CACHE_MOUNT} ", text)
    return _FROM.sub(lambda found: f"{found[0]}\nLABEL {KEY_LABEL}=", text)


def _part_steps(tier: Tier, parts: int) -> str:
    """Nothing that another part or tier has beside it is laid out: a builder takes the layer that it made for the same.

    The environment that a lock's first part begins is gone on with by the others.
    """
    programs = " ".join(sorted((*tier.scripts, TIER_SCRIPT, TIER_ENVIRONMENT)))
    run = f"FC_LOCK=/build/part.lock /bin/sh /build/{TIER_SCRIPT} run && /bin/sh /build/{TIER_SCRIPT} close"
    steps = (
        f"COPY {_PART.format(number)} /build/part.lock\nRUN {'FC_BEGUN=1 ' if number else ''}{run}\n"
        for number in range(parts)
    )
    return f"COPY {programs} /build/\n{''.join(steps)}"


def recipe_digest(tier: Tier, ca_bundle: Path | None) -> str:
    """What the image of a tier depends on beside the tier: the Dockerfile and what is laid beside it, as a hash."""
    parts = [dockerfile(tier, cache=False), template(TIER_SCRIPT)]
    if tier.kind == "base" and ca_bundle:
        parts.append(hashlib.sha256(ca_bundle.read_bytes()).hexdigest())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def write_context(
    tier: Tier,
    directory: Path,
    *,
    uv: Path,
    ca_bundle: Path | None,
    environment: str,
    parts: Sequence[str] = (),
) -> None:
    """Lay out the files of a tier; times are fixed, so that the same tier is the same context.

    `uv` and `ca_bundle` (an empty file where None) go into the base tier only, `environment` is what `tier_environment`
    gives, `parts` what `parts_of` does.

    Raises:
        ConfigError: a file's name cannot stand in a Dockerfile, is one of ours, or would not be copied.
        ContainerError: the source archive leads out of its directory.
    """
    for name, data in tier.files.items():
        _check_name(name, tier)
        if name == REPO_TAR:
            rewrite(data, directory / name)
        else:
            (directory / name).write_bytes(content(data))
    if tier.kind == "pr" and REPO_TAR not in tier.files:
        with tarfile.open(directory / REPO_TAR, "w", format=tarfile.PAX_FORMAT) as empty:
            empty.addfile(root_member())
    (directory / TIER_SCRIPT).write_text(template(TIER_SCRIPT))
    (directory / TIER_ENVIRONMENT).write_text(environment)
    for number, part in enumerate(parts):
        (directory / _PART.format(number)).write_text(part)
    if tier.kind == "base":
        (directory / "ca.pem").write_bytes(ca_bundle.read_bytes() if ca_bundle else b"")
        shutil.copyfile(uv, directory / "uv")
    for path in directory.iterdir():
        path.chmod(0o755 if path.name == "uv" or path.suffix == SCRIPT else 0o644)
        os.utime(path, (_FIXED_TIME, _FIXED_TIME))


def _check_name(name: str, tier: Tier) -> None:
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise ConfigError(f"a tier's file cannot be called {name!r} (example: docker_build_pkg.sh)")
    if not tier.dockerfile and name != REPO_TAR and not name.endswith(_COPIED):
        raise ConfigError(
            f"{name}: {TIER_DOCKERFILES[tier.kind]} copies {', '.join(_COPIED)} (example: docker_build_pkg.sh)"
        )


def tier_environment(tier: Tier, *, index_url: str, ca_bundle: bool, cache: bool) -> dict[str, str]:
    """The environment that the scripts of a tier run in."""
    given = {**CLEAN_ENVIRONMENT, **tier.args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX}
    if tier.kind != "pr":
        given |= {"HOME": "/tmp", "PATH": f"{CLEAN_ENVIRONMENT['PATH']}:/usr/sbin:/sbin"}
    if tier.network == "none":
        return {**given, **OFFLINE}
    given |= {"UV_LINK_MODE": "copy", "UV_PYTHON_DOWNLOADS": "never"}
    given |= {"UV_CACHE_DIR": CACHE_PLACE} if cache and not tier.dockerfile else {"UV_NO_CACHE": "1"}
    given |= {"UV_DEFAULT_INDEX": index_url} if index_url else {}
    return given | ({"SSL_CERT_FILE": CERTIFICATES} if ca_bundle else {})


def environment_text(tier: Tier, environment: Mapping[str, str]) -> str:
    """tier_env.sh: the variables, exported, and the names of the scripts."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]
    return "\n".join([*lines, f"FC_SCRIPTS={shlex.quote(' '.join(tier.scripts))}", ""])


def build_arguments(text: str, values: Mapping[str, str]) -> list[str]:
    """Words of `docker build` that give a Dockerfile those of `values` that it declares by ARG."""
    declared = declared_arguments(text)
    return [
        word
        for name, value in sorted(values.items())
        if name in declared
        for word in ("--build-arg", f"{name}={value}")
    ]


def declared_arguments(text: str) -> frozenset[str]:
    """The names that a Dockerfile declares by ARG."""
    return frozenset(re.findall(r"^[ \t]*ARG[ \t]+(\w+)", text, re.MULTILINE | re.IGNORECASE))
