"""How many performance pull requests of some clones become tasks, and where the others are lost.

Run: `python benchmarks/yields.py WORK CLONE ... [--most 15] [--months 24] [--until built|verified|measured]
[--suite own|newest|both] [--select all|impacted] [--most-workloads N] [--screening SECONDS] [--end DAY]
[--suite-repo CLONE] [--bare]`.
For each clone: the pull requests of its last months that rules call performance go through the real stages 1 to 5,
no model used, and stage 5 as far as is asked. All is kept below WORK, and the same
command goes on with it. Needs the package index and a sandbox engine. Printed: a row per clone and suite, reasons of
those that were refused, minutes per environment, and what the first image of a repository and (median, most) the next
ones added on disk; with `--each` what became of each pull request. The first image is the first one in WORK that was
built of its repository: with both suites that is the first one's, and the second one's number says nothing.
"""

import argparse
import json
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import anyio

from datasmith.errors import DatasmithError
from datasmith.github.base import Window
from datasmith.github.forges import Sources
from datasmith.github.git import Git
from datasmith.pipeline import Pipeline
from datasmith.runners.agenda import ENDS, SAMPLED_OUT, Until
from datasmith.runners.request import Request
from datasmith.runners.screening import SCREENING_S
from datasmith.runners.suites import NEWEST, SuiteWish
from datasmith.runners.testing import TEST_BUDGET_S
from datasmith.settings import Settings, load_settings
from datasmith.storage import open_store
from datasmith.storage.base import FINAL_STATES, STAGES, ItemState, StageItem
from datasmith.tasks.certificate import Certificate
from datasmith.tasks.folder import CERTIFICATE
from datasmith.workloads.impact import Select
from datasmith.workloads.plan import MeasurePlan

DAYS_A_MONTH = 30.44
STEPS = ("build", "verify", "benchmarks", "tests", "tests with the expert's patch", "measure")
"""What stage 5 says that it does, in order; `measure` also stands for the end where nothing is measured."""
SHOWN_REASON = 150
NO_IMAGES = ("uv", "wheels", "clones", "tests")
"""Parts of the cache directory that hold downloads, clones and reports, not images."""
PENDING: ItemState = "pending"
HEAD = ("repository", "suite", "candidates", "resolved", "tried", "built", "sealed", "listed", "tests run",
        "tests pass", "verified", "valid", "min/env", "min/PR", "MB first", "MB next")  # fmt: skip


@dataclass
class Reached:
    """How far one pull request ever came, and when each step of its last run began (seconds since the epoch)."""

    began: dict[str, float] = field(default_factory=dict)
    furthest: int = -1
    """Index of a step; -1 where none began."""
    building_s: float | None = None
    """The longest of its builds: a second run finds the image built already."""
    whole_s: float | None = None
    """The longest of its runs."""
    added_mb: float = 0.0
    """What its runs added to the images on disk."""
    built_at: float = 0.0
    """When its first build was done."""

    def note(self, step: str, when: float, added_mb: float) -> None:
        """A step begins, or the run ends, having added so much to the images."""
        self.added_mb += added_mb
        if step == "end":
            if "build" in self.began:
                self.whole_s = max(self.whole_s or 0.0, when - self.began["build"])
            return
        if step == "verify" and "build" in self.began:
            self.built_at = self.built_at or when
            self.building_s = max(self.building_s or 0.0, when - self.began["build"])
        self.began = {step: when} if step == "build" else {**self.began, step: when}
        self.furthest = max(self.furthest, STEPS.index(step))


class Journal:
    """What stage 5 was seen to do, line by line in a file, so that a second run knows of the first."""

    def __init__(self, path: Path, on_disk: Callable[[], float]) -> None:
        self._path, self._on_disk = path, on_disk
        self._held = 0.0
        self.reached: dict[str, Reached] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            self._take(*json.loads(line))

    def show(self, stage: str, done: int, _total: int, text: str) -> None:
        """See pipeline.Show: note the steps of stage 5 and the ends of its items."""
        if stage != STAGES[5] or not text:
            return
        item, _, said = text.partition(" ")
        step = "end" if done >= 0 else next((known for known in reversed(STEPS) if said.startswith(known)), "")
        if step and not (step == "measure" and step in self._of(item).began):
            if step == "build":
                self._held = self._on_disk()
            when = time.time()
            row = (item, step, when, self._on_disk() - self._held if step == "end" else 0.0)
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            self._take(*row)

    def _of(self, item: str) -> Reached:
        return self.reached.setdefault(item, Reached())

    def _take(self, item: str, step: str, when: float, added_mb: float = 0.0) -> None:
        self._of(item).note(step, when, added_mb)


def mine(clone: Path, suite: str, options: argparse.Namespace) -> tuple[str, list[str], Counter[str]]:
    """Run the stages for one clone and suite; its row of the table and its reasons."""
    place = place_of(clone, suite, options)
    place.mkdir(parents=True, exist_ok=True)
    settings = load_settings(data_dir=place).model_copy(update={"cache_dir": options.work / "cache"})
    journal = Journal(place / "steps.jsonl", lambda: images_mb(settings))
    request = asked(clone, suite, options)
    try:
        if not options.show:
            take_back(settings, request, options.again)
            run(settings, request, journal, bare=options.bare)
    except DatasmithError as error:
        print(f"{place.name}: {error}")
    with open_store(settings) as store:
        rows = store.stage_items(request.window.key)
    if options.each:
        print("\n".join(each_of(rows, journal.reached, place)))
    return summed(place.name, suite, rows, journal.reached)


def run(settings: Settings, request: Request, journal: Journal, *, bare: bool) -> None:
    """The stages; `bare`: what stage 4 foresaw of Debian's packages is forgotten before stage 5."""
    for part in (request.stages[:-1], request.stages[-1:]) if bare else (request.stages,):
        if bare and part == request.stages[-1:]:
            withhold(settings)
        with Pipeline.open(settings, replace(request, stages=part)) as pipeline:
            anyio.run(pipeline.run, journal.show)


def place_of(clone: Path, suite: str, options: argparse.Namespace) -> Path:
    """Where all of one clone and suite is kept."""
    name = clone.resolve().name.removesuffix(".git")
    where: Path = options.work / f"{name}-{suite}{'-bare' if options.bare else ''}"
    return where


def asked(clone: Path, suite: str, options: argparse.Namespace) -> Request:
    """The pull requests of the clone's last months; unless told, the clone itself says when it ends."""
    git = Git(clone)
    last: datetime = options.end or git.commit(git.head()).committed_at
    end = last.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    start = end - timedelta(days=options.months * DAYS_A_MONTH)
    return Request(
        Window(start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0), end),
        Sources("git", (clone.absolute(),)),
        stages=(1, 2, 3, 4, 5),
        resume=True,
        n_concurrent=1,
        tasks_per_repo=options.most,
        plan=MeasurePlan(seed=options.seed).at_most(options.max_rounds),
        suite=SuiteWish.checked(NEWEST if suite == NEWEST else "", options.suite_repo),
        until=options.until,
        select=options.select,
        most_workloads=options.most_workloads,
        test_budget_s=options.test_budget,
        screening_s=options.screening,
    )


def take_back(settings: Settings, request: Request, said: str) -> None:
    """Let refusals whose reason holds `said` (empty: none) be decided again."""
    if not said:
        return
    with open_store(settings) as store:
        for stage in (1, 4, 5):
            rows = [row for row in store.stage_items(request.window.key, stage) if said in row.reason]
            waiting = [(row.item, row.kind, PENDING, "") for row in rows if row.state == "refused"]
            store.record(request.window.key, stage, waiting, datetime.now(UTC))


def withhold(settings: Settings) -> None:
    """Forget them, so that builds have to ask for what they lack."""
    with open_store(settings) as store:
        for row in store.select("packages"):
            chosen = row["resolution"]
            if isinstance(chosen, dict):
                store.upsert("packages", [{**row, "resolution": {**chosen, "apt_packages": []}}])


def images_mb(settings: Settings) -> float:
    """What the engine's images take on disk (embedded engine; of others nothing is known here)."""
    root = settings.cache_dir
    parts = [part for part in root.iterdir() if part.name not in NO_IMAGES] if root.is_dir() else []
    seen: dict[tuple[int, int], int] = {}
    paths = (f"{at}/{name}" for part in parts for at, _, names in os.walk(part) for name in names)
    for path in paths:
        # Drafts of a build that is under way come and go.
        with suppress(FileNotFoundError):
            facts = os.lstat(path)
            seen[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(seen.values()) / 1e6


def summed(
    name: str, suite: str, rows: Iterable[StageItem], reached: Mapping[str, Reached]
) -> tuple[str, list[str], Counter[str]]:
    """A row of the table, and how often each reason was given at stages 4 and 5."""
    found = [row for row in rows if row.kind == "pull_request"]
    at4 = [row for row in found if row.stage == 4]
    tried = [row for row in found if row.stage == 5 and is_tried(row, reached)]
    furthest = {row.item: reached.get(row.item, Reached()).furthest for row in tried}
    measuring = STEPS.index("measure")
    verified = [row for row in tried if furthest[row.item] >= measuring or row.reason.startswith(ENDS["verified"])]

    def beyond(step: str) -> int:
        return sum(index >= STEPS.index(step) for index in furthest.values())

    done = [reached[row.item] for row in tried if row.item in reached]
    to_build = [one.building_s / 60 for one in done if one.building_s is not None]
    whole = [one.whole_s / 60 for one in done if one.whole_s is not None]
    built, measured = beyond("verify"), beyond("measure")
    listed = [
        row for row in tried if row.reason.startswith(ENDS["built"]) or furthest[row.item] >= STEPS.index("tests")
    ]
    cells = [
        name, suite, str(len(at4)), str(sum(row.state == "passed" for row in at4)), str(len(tried)), str(built),
        str(beyond("benchmarks")), str(len(listed)), str(beyond("tests")), str(beyond("tests with the expert's patch")),
        str(len(verified)),
        str(sum(row.state == "passed" for row in tried)) if measured else "-",
        mean(to_build), mean(whole), *sizes(reached.values()),
    ]  # fmt: skip
    reasons: Counter[str] = Counter()
    for row in [*at4, *tried]:
        if row.state in {"refused", "failed"} and not row.reason.startswith((*ENDS.values(), SAMPLED_OUT)):
            reasons[f"{row.stage} {row.state}: {' '.join(row.reason.split())[:SHOWN_REASON]}"] += 1
    return name, cells, reasons


def each_of(rows: Iterable[StageItem], reached: Mapping[str, Reached], place: Path) -> list[str]:
    """A line of a Markdown table for each pull request that stage 5 has ended, by number: minutes and result."""
    tried = [row for row in rows if row.kind == "pull_request" and row.stage == 5 and is_tried(row, reached)]
    lines = ["| PR | minutes | result |", "| --- | --- | --- |"]
    for row in sorted(tried, key=lambda row: int(row.item.partition(":")[2])):
        name, _, number = row.item.partition(":")
        took = reached[row.item].whole_s if row.item in reached else None
        made = place / "made" / f"{name.replace('/', '_')}_{number}" / CERTIFICATE
        said = made_a_task(made) if row.state == "passed" else shortened(row.reason)
        lines.append(f"| {number} | {'' if took is None else round(took / 60)} | {said} |")
    return lines


def made_a_task(path: Path) -> str:
    """What a certificate says of a task: the expert's speedup over its workloads, and over those that changed."""
    found = Certificate.model_validate_json(path.read_bytes())
    expert = found.expert
    return shortened(f"**a task**: {expert.speedup:.3f} [{expert.low:.3f}, {expert.high:.3f}]; {found.reason}")


def shortened(reason: str) -> str:
    """A reason of stage 5 with two decimals, and without what every line of a table would repeat."""
    said = re.sub(r"^after a screening \((\d+) of (\d+) workloads[^)]*\): ", r"\1 of \2: ", " ".join(reason.split()))
    said = re.sub(r"\d+\.\d{3}\b", lambda number: f"{float(number[0]):.2f}", said.replace("|", "\\|"))
    return said.replace("largest effect ", "")


def is_tried(row: StageItem, reached: Mapping[str, Reached]) -> bool:
    """True where stage 5 has brought it to an end, now or (where this sample leaves it out) earlier."""
    ended = row.item in reached and reached[row.item].whole_s is not None
    return ended or (row.state in FINAL_STATES and not row.reason.startswith(SAMPLED_OUT))


def sizes(reached: Iterable[Reached]) -> tuple[str, str]:
    """Megabytes that the first image added, and the next ones: their median, and the most; where that is known."""
    built = sorted((one for one in reached if one.building_s is not None), key=lambda one: one.built_at)
    first, *others = [one.added_mb for one in built] or [0.0]
    if not first:
        return "-", "-"
    return f"{first:.0f}", f"{statistics.median(others):.0f} ({max(others):.0f})" if others else "-"


def day(text: str) -> datetime:
    """A day of UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def mean(values: list[float]) -> str:
    """The mean with one decimal, or a dash."""
    return f"{sum(values) / len(values):.1f}" if values else "-"


def table(rows: Iterable[Iterable[str]]) -> str:
    """Columns as wide as what stands in them."""
    lines = [HEAD, *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def main() -> None:
    """Read the words, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="where results, images and downloads are kept")
    parser.add_argument("clones", type=Path, nargs="+", help="git clones, bare or not")
    parser.add_argument("--most", type=int, default=15, help="pull requests of each clone that stage 5 tries")
    parser.add_argument("--months", type=float, default=24, help="before the clone's newest commit")
    parser.add_argument("--end", type=day, help="last day of the window; unless told, the newest commit's")
    parser.add_argument("--suite", choices=("own", NEWEST, "both"), default="both", help="whose benchmarks")
    parser.add_argument("--bare", action="store_true", help="builds are not told which Debian packages were foreseen")
    parser.add_argument("--suite-repo", default="", help="clone of the suite; with own: as of each merge")
    parser.add_argument("--until", choices=get_args(Until), default="verified", help="how far stage 5 goes")
    parser.add_argument("--select", choices=get_args(Select), default="all", help="workloads that a task has")
    parser.add_argument("--most-workloads", type=int, help="at most so many workloads a task, by a screening")
    parser.add_argument("--screening", type=float, default=SCREENING_S, help="seconds to find them")
    parser.add_argument("--test-budget", type=float, default=TEST_BUDGET_S, help="seconds for the tests at base")
    parser.add_argument("--again", default="", help="decide again what was refused with a reason that holds this")
    parser.add_argument("--show", action="store_true", help="print what is known, run nothing")
    parser.add_argument("--each", action="store_true", help="print what became of each pull request, too")
    parser.add_argument("--max-rounds", type=int, default=12, help="with --until measured: at most so many a workload")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    options = parser.parse_args()
    options.work = options.work.absolute()
    started = datetime.now(UTC)
    results = []
    for clone in options.clones:
        for suite in ("own", NEWEST) if options.suite == "both" else (options.suite,):
            if options.show and not place_of(clone, suite, options).is_dir():
                continue
            results.append(mine(clone, suite, options))
            name, cells, reasons = results[-1]
            print(table([cells]))
            for reason, number in reasons.most_common():
                print(f"  {number:>4} {name}: {reason}")
    print(table(cells for _, cells, _ in results))
    print(f"{(datetime.now(UTC) - started).total_seconds() / 60:.1f} minutes")


if __name__ == "__main__":
    main()
