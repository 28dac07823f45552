"""Resolve the packages of 782 published environments again, as of their commits' days, and say where that differs.

Run: `python benchmarks/published_environments.py ../shared/data/published_environments.jsonl.gz [--jobs 2]`.
For each one: does its Python agree with the date rule; can its pins, as they are, be had as wheels that existed on
the commit's day, or as sources where there never was a wheel; and if not, can their names. Nothing is built. What is
found goes to a file (--out) line by line; the same command goes on with it. Needs the package index; with a warm cache
about a second each.
"""

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from packaging.requirements import Requirement

from datasmith.process import find_uv
from datasmith.resolution.failures import statement
from datasmith.resolution.index import SimpleIndex
from datasmith.resolution.locker import Locker
from datasmith.resolution.requirements import Need, read_lines
from datasmith.resolution.sources import Sources
from datasmith.resolution.uv import Refused, UvCompiler
from datasmith.resolution.versions import newest_by_date, order
from datasmith.settings import load_settings

SHOWN = 300
SHOWN_KINDS = 25
LATER = "a pin was published after the commit's day"
KINDS = (
    ("sources whose dependencies are computed by setup.py", r"computed by setup\.py"),
    ("sources that cannot be read", r"cannot be read"),
    ("removed from the index since", r"not found in the package registry"),
    (LATER, r"there is no version of"),
    ("a name was published after the commit's day", r"there are no versions of"),
    ("from a URL", r"\bURL\b"),
)
"""What a reason is counted as, by the first sign that it shows."""


@dataclass(frozen=True)
class Found:
    """What was found of one environment; a reason is empty where there is nothing to explain."""

    task: str
    python: str
    by_date: str
    packages: int
    pins_reason: str
    names_reason: str
    sources: int = 0

    @property
    def python_agrees(self) -> bool:
        """False where the published Python is newer than the date rule allows; unknown Pythons agree."""
        return not self.python or order(self.python) <= order(self.by_date)


@dataclass(frozen=True)
class Looker:
    """Resolves environments, each as of its day."""

    compiler: UvCompiler
    index: SimpleIndex
    cache: Path

    def look(self, row: dict[str, str], pins: list[str]) -> Found:
        """Resolve one environment, first as pinned, then by name."""
        day = datetime.fromisoformat(row["commit_date"])
        by_date, named = newest_by_date(day), row["python_version"] or ""
        python = named or by_date
        unread = list[str]()
        locker = Locker(self.compiler, Sources(self.index, day, [python], self.cache), day, unread.append)
        read = read_lines(pins)
        exact = locker.lock([Need(pin, "runtime") for pin in read.requirements], python)
        reason, names_reason, sources = "; ".join(f"{lost.requirement}: {lost.reason}" for lost in read.dropped), "", 0
        if isinstance(exact, Refused):
            reason = "; ".join([_said(exact), *dict.fromkeys(unread)])[:SHOWN]
            names = sorted({Requirement(pin).name for pin in read.requirements})
            loose = locker.lock([Need(name, "runtime") for name in names], python)
            names_reason = _said(loose) if isinstance(loose, Refused) else ""
        else:
            sources = len(exact.sources)
        return Found(name_of(row), named, by_date, len(pins), reason, names_reason, sources)


def _said(answer: Refused) -> str:
    return statement(answer.error)[:SHOWN] or "uv says nothing"


def kind(reason: str) -> str:
    """A reason without its particulars."""
    for text, sign in KINDS:
        if re.search(sign, reason):
            return text
    without = re.search(r"([A-Za-z][\w.-]*?)(?:[<>=!~]\S*)? ha(?:s|ve) no usable wheels", reason)
    return f"{without[1]} has neither wheels nor sources that could be read" if without else "other"


def known(out: Path) -> dict[str, Found]:
    """What an earlier run has written."""
    if not out.exists():
        return {}
    lines = [Found(**json.loads(line)) for line in out.read_text(encoding="utf-8").splitlines()]
    return {found.task: found for found in lines}


def tell(found: Iterable[Found]) -> None:
    """The counts, then every disagreement with its reason."""
    rows = sorted(found, key=lambda each: each.task)
    named = [each for each in rows if each.python]
    agreeing = [each for each in named if each.python_agrees]
    newest = [each for each in agreeing if each.python == each.by_date]
    pinned = [each for each in rows if each.packages]
    exact = [each for each in pinned if not each.pins_reason]
    loose = [each for each in pinned if each.pins_reason and not each.names_reason]
    pins = sum(each.packages for each in rows)
    built = [each for each in exact if each.sources]
    refused = [each for each in pinned if each.pins_reason]
    later = [each for each in refused if kind(each.pins_reason) == LATER]
    print(f"{len(rows)} environments, {len(pinned)} of them with pins, {pins} in all\n")
    table(
        [
            ("Pythons that the environments name", len(named)),
            ("  agree with the date rule", len(agreeing)),
            ("  are the newest that it allows", len(newest)),
            ("sets of pins", len(pinned)),
            ("  all published by their commit's day", len(pinned) - len(later)),
            ("  can be had as they are", len(exact)),
            ("    as wheels", len(exact) - len(built)),
            ("    some of them as sources only", len(built)),
            ("  cannot; but their names can, in other versions", len(loose)),
            ("  cannot, nor can their names", len(refused) - len(loose)),
        ]
    )
    print("\nwhy pins cannot be had")
    table(Counter(kind(each.pins_reason) for each in refused).most_common(SHOWN_KINDS))
    print("\nwhy their names cannot be had, either")
    table(Counter(kind(each.names_reason) for each in refused if each.names_reason).most_common(SHOWN_KINDS))
    print("\nevery disagreement, with its reason")
    for each in rows:
        if not each.python_agrees:
            print(f"{each.task:<48} python  {each.python}, the date rule allows {each.by_date}")
        if each.pins_reason:
            print(f"{each.task:<48} pins    {each.pins_reason}")
        if each.names_reason:
            print(f"{each.task:<48} names   {each.names_reason}")


def table(lines: Iterable[tuple[str, int]]) -> None:
    """Two columns."""
    for text, number in lines:
        print(f"{text:<60} {number:>6}")


def name_of(row: dict[str, str]) -> str:
    """How an environment is called in the report."""
    return f"{row['owner']}/{row['repo']}@{row['base_sha'][:12]}"


def main() -> None:
    """Resolve what is not in FILE yet, then print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environments", type=Path)
    parser.add_argument("--out", type=Path, default=Path("published_environments.found.jsonl"))
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    settings = load_settings()
    cache = settings.cache_dir.absolute() / "uv"
    compiler = UvCompiler(find_uv(), index_url=settings.index_url, ca_bundle=settings.ca_bundle, cache_dir=cache)
    looker = Looker(compiler, SimpleIndex(settings.index_url, ca_bundle=settings.ca_bundle), cache / "read-sdists")
    with gzip.open(asked.environments, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = known(asked.out)
    left = [row for row in rows if name_of(row) not in found]
    with asked.out.open("a", encoding="utf-8") as out, ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(lambda row: looker.look(row, row["pins"]), left):
            found[one.task] = one
            out.write(json.dumps(asdict(one)) + "\n")
            out.flush()
            print(f"\r{len(found)}/{len(rows)}", end="", flush=True)
    print()
    tell(found.values())


if __name__ == "__main__":
    main()
