"""Symbolic filters: cheap, deterministic reasons to leave a pull request out before anybody thinks about it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datasmith.github.models import FileChange

MAX_FILES = 500
MAX_CHANGED_LINES = 40_000
MIN_TOKENS = 10
MAX_TOKENS = 64_000
"""Bounds of what a person or a model could review; the two maxima are exclusive."""

_SPEED = re.compile(
    r"\b(?:perf\b|performan|optimi[sz]|speed|fast|slow|vectori[sz]|parallel|cach(?:e|es|ed|ing)\b|memoi[sz]"
    r"|efficien|latency|throughput|accelerat|overhead|releases? the gil|nogil|lazy|lazily|jit\b)",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"\A\W*(?:(?:ci|docs?|tests?|tst|style|lint|typing|rls)(?:\([^()]*\))?!?:"
    r"|fix(?:e[sd])? (?:\w+ )?typos?\b|typos?\b"
    r"|bump(?:s|ed)?\b|lint(?:ing)? fix|fix(?:e[sd])? lint|release v?[0-9]|prepare (?:for )?release"
    r"|pre-commit autoupdate"
    r"|(?:add|fix|update|improve)(?:e?[sd])? (?:\w+ )?(?:type (?:hints?|annotations?)|typing)\b"
    r"|(?:update|fix)(?:e?[sd])? (?:the )?(?:readme|changelog|release notes)\b)",
    re.IGNORECASE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_CORE_DIRECTORIES = _words(
    "test tests doc docs benchmark benchmarks asv_bench .github .circleci .gitlab .azure-pipelines .binder"
    " ci examples example changelog changes newsfragments notebooks tutorials licenses"
)
_NOT_CORE_NAMES = _words(
    "conftest.py license licence copying authors contributors notice readme changelog changes history citation.cff"
    " noxfile.py tox.ini pytest.ini codecov.yml asv.conf.json makefile manifest.in"
)
_NOT_CORE_ENDINGS = (".md", ".rst", ".txt", ".ipynb", ".png", ".svg", ".jpg", ".gif", ".pdf", "_test.py")


@dataclass(frozen=True, slots=True)
class Compliance:
    """The verdict of the symbolic filters; `reason` says which one refused, "" where none did. True in a condition."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


def message_filter(title: str) -> bool:
    """False for a title that can only be housekeeping; one that speaks of speed, or is unclear, stays."""
    return _SPEED.search(title) is not None or _NOISE.search(title) is None


def is_core_path(path: str) -> bool:
    """True for a file that may change how fast the library runs: not tests, documentation, benchmarks or CI."""
    *directories, name = path.lower().split("/")
    if not _NOT_CORE_DIRECTORIES.isdisjoint(directories) or name.startswith((".", "test_")):
        return False
    stem = name.partition(".")[0]
    return not (name in _NOT_CORE_NAMES or stem in _NOT_CORE_NAMES or name.endswith(_NOT_CORE_ENDINGS))


def has_core_file(paths: Iterable[str]) -> bool:
    """True where at least one path is a core file."""
    return any(map(is_core_path, paths))


def within_file_limits(n_files: int, n_changed_lines: int) -> bool:
    """True below MAX_FILES files and MAX_CHANGED_LINES lines added plus deleted."""
    return n_files < MAX_FILES and n_changed_lines < MAX_CHANGED_LINES


def estimated_tokens(text: str) -> int:
    """About how many tokens a language model would read, the same everywhere: the larger of words and length / 4."""
    return max(len(text) // 4, len(text.split()))


def patch_filter(patch: str) -> bool:
    """True for a patch of reviewable length, from MIN_TOKENS up to but not including MAX_TOKENS."""
    # No text has more words than half its length: most patches need not be split to be judged.
    if len(patch) // 4 >= MIN_TOKENS and len(patch) // 2 < MAX_TOKENS:
        return True
    return MIN_TOKENS <= estimated_tokens(patch) < MAX_TOKENS


def symbolic_compliance(
    title: str, *, file_changes: Sequence[FileChange] | None = None, patch: str | None = None
) -> Compliance:
    """All filters in order, cheapest first; the first refusal ends it.

    None for `file_changes` or `patch` means unknown, and skips what needs it. Lines of files without counts (binary
    files) count as none.
    """
    if not message_filter(title):
        return Compliance(False, "title: housekeeping")
    if file_changes is not None:
        n_lines = sum((change.additions or 0) + (change.deletions or 0) for change in file_changes)
        if not has_core_file(change.path for change in file_changes):
            return Compliance(False, "files: no core file")
        if not within_file_limits(len(file_changes), n_lines):
            return Compliance(False, "files: too many")
    if patch is not None and not patch_filter(patch):
        return Compliance(False, "patch: length")
    return Compliance(True)
