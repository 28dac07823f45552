"""What a bubblewrap sandbox sees as its operating system: the host's /usr, or a Debian made for it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from datasmith import process
from datasmith.docker.environment import CERTIFICATES
from datasmith.docker.outages import not_built, unanswered
from datasmith.docker.trees import copy_tree, remove_tree
from datasmith.errors import IndexUnavailable, PackagesMissing
from datasmith.printable import ending

SUITE = "bookworm"
DEBIAN_PACKAGES = (
    "python3",
    "python3-dev",
    "python3-venv",
    "build-essential",
    "pkg-config",
    "git",
    "ca-certificates",
)
_BUILT_WITH = ("libc6", "libstdc++6", "gcc", "g++", "make", "pkg-config", "git", "python3", "python3-dev")
"""Packages of the host whose versions decide what a build on its /usr gives."""
_TAKEN = (
    "alternatives",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""What is taken over from the /etc of the root; the rest may hold secrets, or is of no use."""
_WRITTEN = {
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n",
    "hostname": "sandbox\n",
    "resolv.conf": "",
}
_TEMPLATES = ("passwd", "group")
_TOP_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


@dataclass(frozen=True, slots=True)
class Root:
    """An operating system to show: the directory whose usr is shown, and the /etc made for it."""

    top: Path
    etc: Path

    def words(self, *, network: bool, ca_bundle: Path | None) -> list[str]:
        """Words of bwrap for it: read-only, without homes, secrets, logs or sockets of the host."""
        words = ["--ro-bind", str(self.top / "usr"), "/usr", "--ro-bind", str(self.etc), "/etc"]
        for name in _TOP_LINKS:
            path = self.top / name
            if path.is_symlink():
                words += ["--symlink", str(path.readlink()), f"/{name}"]
            elif path.is_dir():
                words += ["--ro-bind", str(path), f"/{name}"]
        words += ["--symlink", "../tmp", "/var/tmp", "--ro-bind-try", _CORES, _CORES]
        return words + (_network_words(ca_bundle) if network else [])


_CORES = "/sys/devices/system/cpu"
"""Where numeric libraries look up cores and caches."""


def _network_words(ca_bundle: Path | None) -> list[str]:
    words = []
    for name in ("resolv.conf", "hosts"):
        words += ["--ro-bind-try", str(Path("/etc", name).resolve()), f"/etc/{name}"]
    bundle = ca_bundle or Path(CERTIFICATES)
    return words + (["--ro-bind", str(bundle.absolute()), CERTIFICATES] if bundle.exists() else [])


def make_etc(target: Path, top: Path) -> None:
    """Make the /etc of a sandbox on the root `top`, all at once; one that is there already is left alone."""
    if target.exists():
        return
    draft = target.with_name(f".{target.name}-draft")
    remove_tree(draft)
    (draft / "ssl").mkdir(parents=True)
    for name in _TAKEN:
        source = top / "etc" / name
        if source.is_dir():
            copy_tree(source.resolve(), draft / name)
        elif source.is_file():
            shutil.copyfile(source, draft / name)
    for name, text in _WRITTEN.items():
        (draft / name).write_text(text)
    for name in _TEMPLATES:
        (draft / name).write_text(files("datasmith.docker").joinpath("templates", name).read_text())
    certificates = draft / CERTIFICATES.removeprefix("/etc/")
    certificates.parent.mkdir(exist_ok=True)
    certificates.touch()
    draft.rename(target)


def host_identity(packages: Sequence[str]) -> dict[str, str] | None:
    """What a layer's address has to know of the host's /usr; None where a Debian package is not installed there."""
    versions = _installed([*_BUILT_WITH, *packages])
    if any(name not in versions for name in packages):
        return None
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    named = {line.split("=")[0]: line.split("=")[1].strip('"') for line in release.splitlines() if "=" in line}
    return {"os": named.get("PRETTY_NAME", "unknown"), **versions}


def _installed(packages: Sequence[str]) -> dict[str, str]:
    form = "${Package}\t${Version}\t${db:Status-Status}\n"
    try:
        listed = process.run(["dpkg-query", "-W", f"-f={form}", "--", *packages], timeout=60)
    except FileNotFoundError:
        return {}
    rows = [line.split("\t") for line in listed.text.splitlines()]
    return {row[0].split(":")[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


_SCRIPT = "docker_build_base.sh"
"""Which script this stands for."""


def debian_root(target: Path, packages: Sequence[str], *, log: Path, timeout: float) -> None:
    """Make a Debian root file system with build tools and `packages`, all owned by us.

    Raises:
        BuildFailed: a package does not exist: other tiers may need nothing of it.
        PackagesMissing: so is mmdebstrap; the message says which packages to install on the host instead.
        DiskFull: there is no room for it.
        IndexUnavailable: the mirror does not answer.
    """
    wanted = ",".join(dict.fromkeys((*DEBIAN_PACKAGES, *packages)))
    archive = target.with_name("root.tar")
    words = ["mmdebstrap", "--mode=auto", "--variant=minbase", f"--include={wanted}", SUITE, str(archive)]
    try:
        done = process.run(words, timeout=timeout, log=log)
    except FileNotFoundError as error:
        said = (
            f"needs Debian packages that are not installed: apt-get install {' '.join(packages)},"
            " or apt-get install mmdebstrap to have them in the sandbox only"
        )
        raise PackagesMissing(_SCRIPT, 127, said) from error
    if done.ok:
        target.mkdir()
        unpacked = ["tar", "-xf", str(archive), "-C", str(target), "--no-same-owner", "--exclude=./dev/*"]
        done = process.run(unpacked, timeout=timeout, log=log)
    archive.unlink(missing_ok=True)
    if not done.ok:
        if not done.timed_out and unanswered(done.error_text[-4000:]):
            here = f"on this machine `apt-get install {' '.join(packages)}` does without it"
            tail = ending(done.error_text, 300)
            raise IndexUnavailable(f"Debian's mirror is unavailable: {tail} ({here})")
        raise not_built(_SCRIPT, done.rc, done.error_text, late_s=timeout if done.timed_out else None)
