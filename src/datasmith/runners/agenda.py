"""What a run takes up at a stage, and what it leaves out: decided from the ledger's rows, without touching them."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from datasmith.storage.base import FINAL_STATES, ItemState, StageItem, Value
from datasmith.workloads.impact import Select

SAMPLED_OUT = "not in the sample"
"""How the reason of a pull request begins that was left out by chance: no decision about it."""
NONE_IMPACTED = "none of the suite's workloads runs what the expert's patch changes"
"""How the reason begins of a pull request that has no task of selected workloads: no decision about all of them."""
SCREENED = "after a screening"
"""How the reason begins of a refusal that rests on the few workloads which a screening left: no decision about all."""
Until = Literal["built", "verified", "measured"]
"""How far stage 5 takes a pull request, the nearest first."""
ENDS: Mapping[Until, str] = {
    "built": "built, and not verified, as asked",
    "verified": "verified, and not measured, as asked",
}
"""How the reason begins of a pull request that would have been taken further: no decision about it."""
_REACHES: tuple[Until, ...] = ("built", "verified", "measured")
COSTLY = 5
"""Building and measuring takes hours: only `force` repeats what this stage has decided."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run goes about its stages; `repositories` ("owner/repo") are those it has, None for any.

    `until` is how far stage 5 goes, `select` which workloads its tasks have, `most_workloads` how many (None: any).
    """

    resume: bool = False
    force: bool = False
    tasks_per_repo: int | None = None
    seed: int = 0
    repositories: Collection[str] | None = None
    until: Until = "measured"
    select: Select = "all"
    most_workloads: int | None = None


@dataclass(frozen=True, slots=True)
class Agenda:
    """Of one stage: ended rows to decide again, waiting rows to refuse with `reason`, and how many rows to work on."""

    again: tuple[StageItem, ...]
    left_out: tuple[StageItem, ...]
    reason: str
    to_do: int
    known: int


def agenda(stage: int, rows: Iterable[StageItem], terms: Terms) -> Agenda:
    """What a run on these terms does at a stage that has these rows.

    A failure is always tried again. What was decided is decided again by a plain run, not with `resume`; at stage 5
    only with `force`. A pull request that an earlier sample left out gets its chance in this one; one of this sample
    that was not taken as far as is asked now is taken up again.
    """
    mine = [row for row in rows if is_work(stage, row) and is_of(row.item, terms.repositories)]
    again = [row for row in mine if _is_taken_back(stage, row, terms)]
    names = {row.item for row in again}
    states: tuple[ItemState, ...] = ("pending", "leased")
    waiting = [replace(row, state="pending") if row.item in names else row for row in mine]
    left_out = _over(waiting, terms) if stage == COSTLY else []
    spared = {row.item for row in left_out} & {row.item for row in again if _ended_before(row.reason, terms.until)}
    again, left_out = ([row for row in part if row.item not in spared] for part in (again, left_out))
    return Agenda(
        again=tuple(again),
        left_out=tuple(left_out),
        reason=f"{SAMPLED_OUT} (--tasks-per-repo {terms.tasks_per_repo}, --seed {terms.seed})",
        to_do=sum(row.state in states for row in waiting) - len(left_out) - len(spared),
        known=len(mine),
    )


def is_work(stage: int, row: StageItem) -> bool:
    """Stages 1 and 2 work by repository, those after them by pull request."""
    return row.kind == ("repository" if stage <= 2 else "pull_request")


def work_of(stage: int, rows: Iterable[StageItem], repositories: Collection[str]) -> list[StageItem]:
    """Of a stage's rows, those that it works on itself, of these repositories ("owner/repo")."""
    return [row for row in rows if is_work(stage, row) and repository_of(row.item) in repositories]


def first_not_run(work: Sequence[Sequence[StageItem]]) -> int:
    """Of the stages 1, 2, … with this work, the first that has decided nothing; 0 where each has run.

    A stage without any work, after one that ran, has not been left out: nothing was let through to it.
    """
    for number, rows in enumerate(work, 1):
        if not any(row.state in FINAL_STATES for row in rows) and (rows or number == 1):
            return number
    return 0


def repository_of(item: str) -> str:
    """The repository of a ledger item: "owner/repo" of "owner/repo:n"."""
    return item.partition(":")[0]


def is_of(item: str, repositories: Collection[str] | None) -> bool:
    """True where a ledger item is of one of these repositories ("owner/repo"); None is any."""
    return repositories is None or repository_of(item) in repositories


def _is_taken_back(stage: int, row: StageItem, terms: Terms) -> bool:
    if row.state == "failed" or (row.state == "refused" and _is_no_decision(row.reason, terms)):
        return True
    repeats = terms.force if stage == COSTLY else not terms.resume
    return repeats and row.state in FINAL_STATES


def _is_no_decision(reason: str, terms: Terms) -> bool:
    """True where a pull request was refused by the terms of its run, and these ask for more."""
    over_all = terms.select == "all" and reason.startswith(NONE_IMPACTED)
    over_all |= terms.most_workloads is None and reason.startswith(SCREENED)
    return over_all or reason.startswith(SAMPLED_OUT) or _ended_before(reason, terms.until)


def _ended_before(reason: str, until: Until) -> bool:
    """True where a pull request was taken less far than `until`, because it was asked so."""
    return any(reason.startswith(ENDS[end]) for end in _REACHES[: _REACHES.index(until)])


def _over(rows: Sequence[StageItem], terms: Terms) -> list[StageItem]:
    """The waiting rows outside each repository's sample."""
    if terms.tasks_per_repo is None:
        return []
    by_repository: dict[str, list[StageItem]] = {}
    for row in rows:
        by_repository.setdefault(repository_of(row.item), []).append(row)
    ranked = [sorted(group, key=lambda row: _lot(row.item, terms.seed)) for group in by_repository.values()]
    return [row for group in ranked for row in group[terms.tasks_per_repo :] if row.state == "pending"]


def _lot(item: str, seed: int) -> bytes:
    """An item's place in the draw, which does not depend on the other items: a larger sample holds a smaller one."""
    return hashlib.sha256(f"{seed}:{item}".encode()).digest()


def abandoned(leased: Iterable[Mapping[str, Value]], host: str, is_alive: Callable[[int], bool]) -> list[str]:
    """Items of `stage_items` rows whose worker ("host-pid") was a process of this host that is gone."""
    found = []
    for row in leased:
        name, _, pid = str(row["worker"]).rpartition("-")
        if name == host and pid.isdecimal() and not is_alive(int(pid)):
            found.append(str(row["item"]))
    return found
