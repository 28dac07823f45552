"""What `docker build` needs of a tier: a directory with its files and a Dockerfile that runs its scripts."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from datasmith.docker.engine import CACHE_DIR, ENV_PREFIX, SANDBOX_USER, WORKDIR, Tier
from datasmith.docker.environment import (
    CERTIFICATES,
    CLEAN_ENVIRONMENT,
    ENV_GROUP,
    HOME,
    OFFLINE,
    SANDBOX_USER_NAME,
    TOOLS,
)
from datasmith.docker.layers import content
from datasmith.docker.source_tar import REPO_TAR, rewrite
from datasmith.errors import BuildFailed, ConfigError

KEY_LABEL = "org.formulacode.key"
LABEL = "org.formulacode=1"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FIXED_TIME = 315_532_800.0
_MARK = re.compile(r"^(?:#\d+ [\d.]+ )?fc-script=(\S+)\s*$", re.MULTILINE)


def write_context(tier: Tier, directory: Path, *, uv: Path, ca_bundle: Path | None) -> None:
    """Lay out the files of a tier; times are fixed, so that the same tier is the same context.

    `uv` and `ca_bundle` (an empty file where None) go into the base tier only.

    Raises:
        ConfigError: a file's name cannot stand in a Dockerfile.
        ContainerError: the source archive leads out of its directory.
    """
    for name, data in tier.files.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"a tier's file cannot be called {name!r} (example: docker_build_pkg.sh)")
        if name == REPO_TAR:
            rewrite(data, directory / name)
        else:
            (directory / name).write_bytes(content(data))
    if tier.kind == "base":
        (directory / "ca.pem").write_bytes(ca_bundle.read_bytes() if ca_bundle else b"")
        shutil.copyfile(uv, directory / "uv")
    for path in directory.iterdir():
        path.chmod(0o755 if path.name == "uv" else 0o644)
        os.utime(path, (_FIXED_TIME, _FIXED_TIME))


def dockerfile(tier: Tier, parent: str, key: str, *, index_url: str, ca_bundle: bool) -> str:
    """The Dockerfile of a tier on the image `parent`, to be built in what `write_context` laid out.

    All scripts of a tier are one step, so that what a later one deletes is in no layer of the image. Those of a pr
    tier run code of the repository: as the sandbox's user, who cannot change the programs that look at the image.
    """
    # The parent's key is taken off first: what a broken build leaves must not be found in the parent's place.
    lines = [f"FROM {parent}", f"LABEL {KEY_LABEL}=", "USER 0:0", "WORKDIR /"]
    files = sorted(name for name in tier.files if name != REPO_TAR)
    if tier.kind == "base":
        lines.append(_step(_PREPARE))
        lines.append(f"COPY uv {TOOLS}/uv")
        files.append("ca.pem")
    if files:
        lines.append(f"COPY {' '.join(files)} /build/")
    if REPO_TAR in tier.files:
        lines.append(f"ADD {REPO_TAR} {WORKDIR}/")
    commands = [*_assignments(_environment(tier, index_url, ca_bundle)), *_runs(tier)]
    if tier.kind == "pr":
        lines += [f"USER {SANDBOX_USER}:{ENV_GROUP}", _step(commands), "USER 0:0", _step([_CLOSE])]
    else:
        lines.append(_step([*commands, _CLOSE]))
    if tier.kind == "base":
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in CLEAN_ENVIRONMENT.items())
        lines.append(f"ENV {settings}")
    lines += [f"USER {SANDBOX_USER}:{SANDBOX_USER}", f"WORKDIR {WORKDIR}", f"LABEL {KEY_LABEL}={key} {LABEL}"]
    return "\n".join([*lines, ""])


_CLOSE = (
    f"find {ENV_PREFIX} ! \\( -user 0 -group {ENV_GROUP} \\) -exec chown -h 0:{ENV_GROUP} {{}} +"
    f" && find {ENV_PREFIX} ! -type l ! -perm -g+w -exec chmod g+w {{}} +"
)
"""The environment belongs to root; only what a tier changed is touched, so that a layer holds nothing else."""
_PREPARE = (
    f"mkdir -p /build {WORKDIR} {CACHE_DIR} {ENV_PREFIX} {TOOLS} {HOME}",
    f"{{ grep -q ':{SANDBOX_USER}:{SANDBOX_USER}:' /etc/passwd || {{ "
    f"echo {SANDBOX_USER_NAME}:x:{SANDBOX_USER}:{SANDBOX_USER}::{HOME}:/bin/bash >>/etc/passwd"
    f" && echo {SANDBOX_USER_NAME}:x:{SANDBOX_USER}: >>/etc/group; }}; }}",
    f"chown {SANDBOX_USER}:{SANDBOX_USER} /workspace {WORKDIR} {CACHE_DIR} {HOME} && chmod 1777 {HOME}",
)


def _step(commands: tuple[str, ...] | list[str]) -> str:
    return "RUN " + " \\\n && ".join(commands)


def _runs(tier: Tier) -> list[str]:
    """Commands that name each script before they run it."""
    return [
        command
        for script in tier.scripts
        for command in (f"printf 'fc-script=%s\\n' {shlex.quote(script)}", f"cd /build && bash /build/{script}")
    ]


def _assignments(environment: Mapping[str, str]) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items())]


def _environment(tier: Tier, index_url: str, ca_bundle: bool) -> dict[str, str]:
    given = {**CLEAN_ENVIRONMENT, **tier.args, "FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX}
    if tier.kind != "pr":
        given |= {"HOME": "/tmp", "PATH": f"{CLEAN_ENVIRONMENT['PATH']}:/usr/sbin:/sbin"}
    if tier.network == "none":
        return {**given, **OFFLINE}
    given |= {"UV_NO_CACHE": "1", "UV_LINK_MODE": "copy", "UV_PYTHON_DOWNLOADS": "never"}
    given |= {"UV_DEFAULT_INDEX": index_url} if index_url else {}
    return given | ({"SSL_CERT_FILE": CERTIFICATES} if ca_bundle else {})


def failed_script(output: str) -> str | None:
    """The script that ran last, by what the build printed; None where none was reached."""
    found = _MARK.findall(output)
    return found[-1] if found else None


def build_failure(tier: Tier, output: str, rc: int, *, timed_out: bool) -> BuildFailed | None:
    """Why a build did not succeed, where a script is to blame; None where none was reached."""
    script = failed_script(output)
    if script is None:
        return None
    tail = output[-4000:]
    return BuildFailed(script, rc, f"ran into its limit of {tier.timeout_s:g} s\n{tail}" if timed_out else tail)
