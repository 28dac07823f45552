"""A small package with an asv suite as an image of the bubblewrap engine: no downloads, a second to build."""

import difflib
import tarfile
from pathlib import Path

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import ImageRef, Tier

SUITE = Path(__file__).parent / "suite" / "pkg"
ENV_SCRIPT = b'uv venv --quiet --clear --no-config --python "$UV_PYTHON" "$FC_ENV"\n'
PKG_SCRIPT = b'tar -xf /build/tree.tar -C "$FC_WORKDIR"\n'
PKG_SCRIPT += b'echo "$FC_WORKDIR/src" > "$(echo "$FC_ENV"/lib/python3*/site-packages)/planted.pth"\n'


def planted_image(engine: BubblewrapEngine, tmp: Path) -> ImageRef:
    """Build the three tiers."""
    log, tar = tmp / "build.log", tmp / "tree.tar"
    with tarfile.open(tar, "w") as archive:
        archive.add(SUITE, arcname=".", filter=lambda member: None if "__pycache__" in member.name else member)
    base = engine.build(None, Tier("base", "planted-base", (), {}), log=log)
    python = {"FC_PYTHON": engine.pythons()[-1] if "3.11" not in engine.pythons() else "3.11"}
    env = engine.build(base, Tier("env", "planted-env", ("env.sh",), {"env.sh": ENV_SCRIPT}, args=python), log=log)
    files: dict[str, bytes | Path] = {"pkg.sh": PKG_SCRIPT, "tree.tar": tar}
    return engine.build(env, Tier("pr", "planted-pr", ("pkg.sh",), files), log=log)


def patch(old: str, new: str, path: str = "src/planted/__init__.py") -> str:
    """A git diff that replaces one line of a file of the package."""
    before = (SUITE / path).read_text()
    after = before.replace(f"{old}\n", f"{new}\n")
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n{''.join(lines)}"
