"""What a patch may touch: the code under test, and nothing that tests it, measures it or runs before it."""

import fnmatch
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from datasmith.tasks.content import content_reasons
from datasmith.tasks.folder import is_test_path
from datasmith.tasks.gitdiff import FileChange, MalformedDiff, parse_diff, split_diff

MAX_BINARY_BYTES = 100_000
MAX_FILES = 500
PLAIN_MODES = frozenset({"100644", "100755"})
SHOWN_REASONS = 20

_STARTUP = re.compile(r"(sitecustomize|usercustomize)(\..*)?")
PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini")
_ASV_CONFIG = ("asv*.json", "asv*.jsonc", ".asv*.json", ".asv*.jsonc")
_TOOLS = frozenset({"asv", "asv_runner", "asv_bench", "pytest", "_pytest", "pluggy", "xdist", "iniconfig"})
_LIBRARIES = frozenset({"numpy", "pandas", "scipy", "setuptools", "pip", "wheel"})
_PYTEST_OPTION = re.compile(
    r"pytest|\baddopts\b|\btestpaths\b|\bpython_(files|classes|functions)\b|\bfilterwarnings\b|\bxfail_strict\b"
    r"|\busefixtures\b|\brequired_plugins\b|\bnorecursedirs\b|\bcollect_ignore"
)


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """What the policy says of a patch; no reasons means it may be applied."""

    reasons: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """True where nothing speaks against the patch."""
        return not self.reasons

    @property
    def text(self) -> str:
        """The reasons in one line."""
        more = len(self.reasons) - SHOWN_REASONS
        return "; ".join(self.reasons[:SHOWN_REASONS]) + (f"; and {more} more" if more > 0 else "")


def check_patch(patch: str, *, benchmark_dir: str) -> GuardVerdict:
    """Hold a patch against the policy; any text gets a verdict, one that is no git diff is refused."""
    try:
        changes = parse_diff(patch)
    except MalformedDiff as error:
        return GuardVerdict((f"not a git diff: {error}",))
    if len(changes) > MAX_FILES:
        return GuardVerdict((f"changes {len(changes)} files, more than {MAX_FILES}",))
    reasons = [
        reason
        for change in changes
        # What may not be there at all is not read, too.
        for reason in _reasons(change, benchmark_dir)
        or [f"{_shown(change.path)}: {reason}" for reason in content_reasons(change, changes)]
    ]
    names = [change.path for change in changes]
    reasons += [f"{_shown(name)}: named twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    return GuardVerdict(tuple(dict.fromkeys(reasons)))


def _reasons(change: FileChange, benchmark_dir: str) -> list[str]:
    found = []
    for path in change.paths:
        found += [
            f"{_shown(path)}: {what}" for what, breaks in _PATH_RULES if breaks(path.lower(), benchmark_dir.lower())
        ]
    found += [f"{_shown(change.path)}: file mode {mode}" for mode in change.modes if mode not in PLAIN_MODES]
    if change.binary_bytes is not None and change.binary_bytes > MAX_BINARY_BYTES:
        found.append(f"{_shown(change.path)}: binary of {change.binary_bytes} bytes (at most {MAX_BINARY_BYTES})")
    if change.new and shadows(change.path):
        found.append(f"{_shown(change.path)}: would be imported instead of a module of others")
    if _name(change.path.lower()) in ("setup.cfg", "pyproject.toml") and _configures_pytest(change):
        found.append(f"{_shown(change.path)}: changes near the configuration of the tests")
    return found


def _shown(path: str) -> str:
    return ascii(path)[1:-1][:200]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _is_unsafe(path: str, _benchmarks: str) -> bool:
    parts = path.split("/")
    return (
        not path.isprintable()
        or "\\" in path
        or any(part in ("", ".", "..") for part in parts)
        or any("\ud800" <= char <= "\udfff" for char in path)
    )


def _is_git(path: str, _benchmarks: str) -> bool:
    return any(part.startswith((".git", "git~")) for part in path.split("/"))


def _runs_at_startup(path: str, _benchmarks: str) -> bool:
    return path.endswith((".pth", "._pth")) or any(_STARTUP.fullmatch(part) for part in path.split("/"))


def _is_metadata(path: str, _benchmarks: str) -> bool:
    return any(part.endswith((".dist-info", ".egg-info", ".egg-link")) for part in path.split("/"))


def _is_benchmark(path: str, benchmarks: str) -> bool:
    return bool(benchmarks.strip("/.")) and f"{path}/".startswith(f"{benchmarks.strip('/')}/")


def _is_test(path: str, _benchmarks: str) -> bool:
    return is_test_path(path)


def _is_asv_config(path: str, _benchmarks: str) -> bool:
    return any(fnmatch.fnmatchcase(_name(path), pattern) for pattern in _ASV_CONFIG)


def _is_pytest_config(path: str, _benchmarks: str) -> bool:
    return _name(path) in PYTEST_FILES


_PATH_RULES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    ("a path that leads out of the tree or cannot be shown", _is_unsafe),
    ("belongs to git", _is_git),
    ("runs whenever Python starts", _runs_at_startup),
    ("metadata of an installed package", _is_metadata),
    ("a benchmark", _is_benchmark),
    ("a test", _is_test),
    ("the configuration of asv", _is_asv_config),
    ("the configuration of the tests", _is_pytest_config),
)


def shadows(path: str) -> bool:
    """True for a new module at a place from which tests and benchmarks import first."""
    parts = path.removeprefix("src/").removeprefix("lib/").split("/")
    stem = parts[0].split(".", 1)[0]
    if len(parts) == 1 and not parts[0].endswith((".py", ".so", ".pyc", ".pyd")):
        return False
    whole = len(parts) == 1 or parts[1:] == ["__init__.py"]
    return stem in _TOOLS or stem in sys.stdlib_module_names or (stem in _LIBRARIES and whole)


def _configures_pytest(change: FileChange) -> bool:
    """By its own lines, or under a heading that stands beside them; what else stands there it leaves as it is."""
    own = [line for line in change.lines if line.startswith(("+", "-", " ["))]
    return any(_PYTEST_OPTION.search(line) for line in own)


def solution_part(patch: str, *, benchmark_dir: str) -> str:
    """The files of a git diff that a submission may change: what of a merged pull request counts as its solution.

    Raises:
        MalformedDiff: the text is no git diff.
    """
    return "".join(piece for change, piece in split_diff(patch) if not _reasons(change, benchmark_dir))
