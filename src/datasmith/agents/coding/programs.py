"""Where the coding agents' programs lie on this machine, and what of them a sandbox must be shown."""

import platform
import re
import shutil
from pathlib import Path

from datasmith.agents.coding.work import AGENT_HOME
from datasmith.docker.engine import Mount

_ELF = b"\x7fELF"


def find_program(name: str, agents_dir: Path | None) -> Path | None:
    """The program of that name: in the directory that scripts/install-agents.sh made, else on the PATH."""
    if agents_dir:
        for folder in (agents_dir / "node_modules/.bin", agents_dir / "mini/bin"):
            if (folder / name).exists():
                return folder / name
    found = shutil.which(name)
    return Path(found) if found else None


def native_claude(program: Path) -> Path | None:
    """Claude's own executable: npm lays it beside the package where no install script may run."""
    real = program.resolve()
    if _is_executable(real):
        return real
    beside = sorted(real.parents[2].glob("claude-code-linux-*/claude")) if len(real.parents) > 2 else []
    return next((path for path in beside if _of_this_machine(path) and _is_executable(path)), None)


def native_codex(program: Path) -> Path | None:
    """The directory with codex's executable (bin/codex) and its tools; it needs no C library."""
    real = program.resolve()
    places = sorted(real.parents[2].glob("codex-linux-*/vendor/*/bin/codex")) if len(real.parents) > 2 else []
    found = next((path for path in places if _of_this_machine(path)), None)
    return found.parents[1] if found else None


def bundle_of_gemini(program: Path) -> tuple[Path, Path] | None:
    """The directory of gemini's bundle, and the executable of node that runs it."""
    node = shutil.which("node")
    real = program.resolve()
    if node is None or real.name != "gemini.js":
        return None
    return real.parent, Path(node).resolve()


def packages_of_mini(program: Path) -> tuple[Path, str] | None:
    """The site-packages that mini-swe-agent is installed in, and the version ("3.11") of the Python they are for."""
    try:
        first = program.read_bytes()[:4096].split(b"\n")[0].decode()
    except (OSError, UnicodeDecodeError):
        return None
    python = Path(first.removeprefix("#!").strip().strip('"'))
    for packages in sorted(python.parent.parent.glob("lib/python3.*/site-packages")):
        version = re.fullmatch(r"python(3\.\d+)", packages.parent.name)
        if version and (packages / "minisweagent").is_dir():
            return packages, version[1]
    return None


def shown(source: Path, name: str) -> Mount:
    """A file or directory of this machine below AGENT_HOME."""
    return Mount(source, f"{AGENT_HOME}/{name}")


def _is_executable(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == _ELF


def _of_this_machine(path: Path) -> bool:
    names = {"x86_64": ("x64", "x86_64"), "aarch64": ("arm64", "aarch64")}.get(platform.machine(), ())
    return any(name in str(path) for name in names) and "musl/claude" not in str(path)
