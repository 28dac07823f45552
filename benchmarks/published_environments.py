"""Resolve the packages of 782 published environments again, as of their commits' days, and say where that differs.

Run: `python benchmarks/published_environments.py ../shared/data/published_environments.jsonl.gz [--jobs 2]`.
For each one: does its Python agree with the date rule; can its pins, as they are, be had as wheels that existed on the
commit's day; and if not, can their names. What is found goes to a file (--out) line by line; the same command goes on
with it. Needs the package index; with a warm cache less than a second each.
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
from datasmith.resolution.requirements import read_lines
from datasmith.resolution.uv import Prerelease, Refused, UvCompiler
from datasmith.resolution.versions import newest_by_date, order
from datasmith.settings import load_settings

SHOWN = 300
SHOWN_KINDS = 15
PRERELEASE: Prerelease = "if-necessary-or-explicit"


@dataclass(frozen=True)
class Found:
    """What was found of one environment; a reason is empty where there is nothing to explain."""

    task: str
    python: str
    by_date: str
    packages: int
    pins_reason: str
    names_reason: str

    @property
    def python_agrees(self) -> bool:
        """False where the published Python is newer than the date rule allows; unknown Pythons agree."""
        return not self.python or order(self.python) <= order(self.by_date)


def look(compiler: UvCompiler, row: dict[str, str], pins: list[str]) -> Found:
    """Resolve one environment, first as pinned, then by name."""
    day = datetime.fromisoformat(row["commit_date"])
    by_date, named = newest_by_date(day), row["python_version"] or ""
    python = named or by_date
    read = read_lines(pins)
    exact = compiler.compile(
        read.requirements, python_version=python, cutoff=day, prerelease="if-necessary-or-explicit"
    )
    reason, names_reason = "; ".join(f"{lost.requirement}: {lost.reason}" for lost in read.dropped), ""
    if isinstance(exact, Refused):
        reason = statement(exact.error)[:SHOWN] or "uv says nothing"
        names = sorted({Requirement(pin).name for pin in read.requirements})
        loose = compiler.compile(names, python_version=python, cutoff=day, prerelease=PRERELEASE)
        names_reason = (statement(loose.error)[:SHOWN] or "uv says nothing") if isinstance(loose, Refused) else ""
    task = name_of(row)
    return Found(task, named, by_date, len(pins), reason, names_reason)


def kind(reason: str) -> str:
    """A reason without its particulars."""
    without = re.search(r"([\w.-]+)(?:==\S+)? ha(?:s|ve) no usable wheels", reason)
    if without:
        return f"{without[1]} has no wheels"
    if "there is no version of" in reason:
        return "not published by the commit's day"
    return "from a URL" if "URL" in reason else "other"


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
    print(f"{len(rows)} environments, {len(pinned)} of them with pins, {pins} in all")
    print(f"python: {len(agreeing)} of {len(named)} named ones agree with the date rule, {len(newest)} are its newest")
    print(f"pins: {len(exact)} of {len(pinned)} can be had as they are, as wheels of that day")
    print(f"names: {len(loose)} of the other {len(pinned) - len(exact)} can be had in other versions")
    for reason, number in Counter(kind(each.pins_reason) for each in pinned if each.pins_reason).most_common(
        SHOWN_KINDS
    ):
        print(f"  {number:>4} {reason}")
    for each in rows:
        if not each.python_agrees:
            print(f"  {each.task}: python {each.python}, the date rule allows {each.by_date}")
        if each.names_reason:
            print(f"  {each.task}: names: {each.names_reason}")
        elif each.pins_reason:
            print(f"  {each.task}: pins: {each.pins_reason}")


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
    with gzip.open(asked.environments, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = known(asked.out)
    left = [row for row in rows if name_of(row) not in found]
    with asked.out.open("a", encoding="utf-8") as out, ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(lambda row: look(compiler, row, row["pins"]), left):
            found[one.task] = one
            out.write(json.dumps(asdict(one)) + "\n")
            out.flush()
            print(f"\r{len(found)}/{len(rows)}", end="", flush=True)
    print()
    tell(found.values())


if __name__ == "__main__":
    main()
