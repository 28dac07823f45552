"""A suite that is not base's own: where it comes from, what of it is measured, and what of it an agent may see."""

from collections.abc import Collection, Mapping
from datetime import datetime
from hashlib import sha1, sha256

from pydantic import BaseModel, ConfigDict

from datasmith.docker.seal import Fix
from datasmith.docker.seal_search import is_telling, telling
from datasmith.tasks.gitdiff import split_diff


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LeftOut(_Frozen):
    """A module of the suite that is not measured, and why."""

    module: str
    reason: str


class SuiteRecord(_Frozen):
    """Which suite was measured: that of `repository` ("owner/repo") at `commit`, whose asv configuration is `config`.

    `benchmark_dir` is where its files lie in the task's tree while it is measured. `left_out`: modules that do not
    import at base. `hidden`: paths in the tree that are measured, and not shown to agents, because they hold lines of
    the fix. `digest`: sha256 of tests/suite.patch.
    """

    repository: str
    commit: str
    committed_at: datetime
    config: str
    benchmark_dir: str
    left_out: tuple[LeftOut, ...] = ()
    hidden: tuple[str, ...] = ()
    digest: str = ""


def patch_digest(patch: str) -> str:
    """What tells one suite's files from another's."""
    return f"sha256:{sha256(patch.encode('utf-8', 'surrogateescape')).hexdigest()}"


def shown_part(patch: str, hidden: Collection[str]) -> str:
    """The git diff without the files that no agent may see: base's own versions of these, if any, stay.

    Raises:
        MalformedDiff: the text is no git diff.
    """
    return "".join(piece for change, piece in split_diff(patch) if not set(change.paths) & set(hidden))


def wanted_lines(fix: Fix) -> frozenset[str]:
    """The lines by which the fix would be recognised, if base does not have them."""
    return frozenset(line for lines in telling(fix.lines).values() for line in lines)


def files_of_the_fix(files: Mapping[str, bytes], fix: Fix, *, at_base: Collection[str]) -> tuple[str, ...]:
    """The files that the seal would take for the fix: they are its objects, or hold lines that it adds, by its rule.

    `at_base` are those of `wanted_lines` that base holds anyway.
    """
    known = frozenset(at_base)
    added = [lines - known for lines in telling(fix.lines).values()]
    return tuple(sorted(path for path, data in files.items() if _is_of_the_fix(data, fix, added)))


def _is_of_the_fix(data: bytes, fix: Fix, added: list[frozenset[str]]) -> bool:
    blob = b"blob %d\0%s" % (len(data), data)
    # A git object's name, not a seal on anything.
    if sha1(blob, usedforsecurity=False).hexdigest() in fix.objects or sha256(blob).hexdigest() in fix.objects:
        return True
    text = data.decode("utf-8", "surrogateescape")
    return any(lines and is_telling(frozenset(line for line in lines if line in text), lines) for lines in added)
