"""What each workload runs at base, seen in the sandbox once per image and suite, and kept in a file."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from datasmith.docker.engine import Container
from datasmith.workloads.base import Workload
from datasmith.workloads.forks import NO_REPLY, entry, in_forks
from datasmith.workloads.impact import Coverage, Place

VERSION: Final = 2
"""Raise it when the tracing sees more, or other things, than before."""
SLOWER = 3.0
"""A workload may take so many times its time limit while it is watched."""
AT_ONCE = 32
"""Workloads that are watched by one process, which imports each module of theirs once; progress is told in between."""
_SUITE = TypeAdapter(dict[str, Coverage])


@dataclass(frozen=True, slots=True)
class Watched:
    """The coverage of a suite by workload, and whether it had to be seen now or was known."""

    by_workload: Mapping[str, Coverage]
    known: bool


def coverage_key(image_digest: str, suite_print: str, workloads: Iterable[Workload]) -> str:
    """What the coverage of these workloads depends on, as a file's name."""
    names = "\n".join(sorted(workload.id for workload in workloads))
    return hashlib.sha256(f"{VERSION}\n{image_digest}\n{suite_print}\n{names}".encode()).hexdigest()[:32]


def suite_coverage(
    base: Container,
    workloads: Sequence[Workload],
    benchmark_dir: str,
    *,
    kept: Path,
    say: Callable[[str, int, int], None],
) -> Watched:
    """The coverage of workloads in the prepared base arm; read from the file `kept` where that is there.

    Only workloads that could be watched are kept: what failed may succeed the next time.

    Raises:
        EngineUnavailable: the engine is gone.
    """
    seen = {name: coverage for name, coverage in (read_coverage(kept) or {}).items() if not coverage.failed}
    unseen = [workload for workload in workloads if workload.id not in seen]
    if not unseen:
        return Watched(seen, known=True)
    prepared: dict[str | None, Coverage] = {None: Coverage()}
    for first in range(0, len(unseen), AT_ONCE):
        say("what the workloads run", first, len(unseen))
        some = unseen[first : first + AT_ONCE]
        keys = {workload.setup_cache_key: workload for workload in some if workload.setup_cache_key not in prepared}
        found = _watch(base, [(each, True) for each in keys.values()] + [(each, False) for each in some], benchmark_dir)
        prepared |= dict(zip(keys, found, strict=False))
        for workload, own in zip(some, found[len(keys) :], strict=True):
            seen[workload.id] = together(own, prepared[workload.setup_cache_key])
    write_coverage(kept, {name: coverage for name, coverage in seen.items() if not coverage.failed})
    return Watched(seen, known=False)


def _watch(base: Container, entries: Sequence[tuple[Workload, bool]], benchmark_dir: str) -> list[Coverage]:
    """What workloads run, or (True) their setup_cache, in one process that imports each module of theirs once."""
    asked = [entry(workload, slower=SLOWER, prepare=prepare) for workload, prepare in entries]
    return [_coverage(reply) for reply in in_forks(base, "cover", asked, benchmark_dir)]


def _coverage(said: Mapping[str, Any]) -> Coverage:
    try:
        if "failed" in said:
            return Coverage(failed="".join(char for char in str(said["failed"])[:200] if char.isprintable()))
        json.dumps(said, ensure_ascii=False).encode()  # names that are no text cannot be kept
        return Coverage(
            imported=_places(said["imported"]),
            called=_places(said["called"]),
            names=frozenset(map(str, said["names"])),
            opened=frozenset(map(str, said["opened"])),
            compiled=tuple(map(str, said["compiled"])),
            spawned=bool(said["spawned"]),
            jit=bool(said["jit"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Coverage(failed=NO_REPLY)


def _places(rows: object) -> frozenset[Place]:
    """Entries of [path, first line, name]; a module's own code counts as line 0."""
    if not isinstance(rows, list):
        raise TypeError("no list of places")
    return frozenset((str(path), 0 if name == "<module>" else int(line)) for path, line, name in rows)


def together(one: Coverage, other: Coverage) -> Coverage:
    """Both coverages as one; one that failed makes it fail."""
    return Coverage(
        imported=one.imported | other.imported,
        called=one.called | other.called,
        names=one.names | other.names,
        opened=one.opened | other.opened,
        compiled=tuple(dict.fromkeys((*one.compiled, *other.compiled))),
        spawned=one.spawned or other.spawned,
        jit=one.jit or other.jit,
        failed=one.failed or other.failed,
    )


def read_coverage(path: Path) -> dict[str, Coverage] | None:
    """The coverage in a file; None where there is none, or it is damaged."""
    with suppress(OSError, EOFError, ValidationError, ValueError):
        return _SUITE.validate_json(gzip.decompress(path.read_bytes()))
    return None


def write_coverage(path: Path, coverage: dict[str, Coverage]) -> None:
    """Write the file, whole or not at all; where that cannot be done it is seen anew the next time."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.draft")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(gzip.compress(_SUITE.dump_json(coverage), mtime=0))
        draft.replace(path)
