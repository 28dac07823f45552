"""GitHub's search on a loopback world: qualifiers, ranges, and the first 1,000 hits only."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from math import inf
from typing import Any

from tests.loopback.github_world import START, Json, LoopbackIssue, LoopbackPull, LoopbackRepository

CAP = 1000
_WORD = re.compile(r'(?:"[^"]*"|\S)+')


class BadQuery(Exception):
    """GitHub answers 422."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit: when it was created and updated, and its JSON, written when a page shows it."""

    write: Callable[[], Any]
    created: datetime = START
    updated: datetime = START


def search(what: str, query: str, world: Iterable[LoopbackRepository], write: Json) -> list[Hit]:
    """Every hit, in the order that GitHub lists them by default here: by repository, then number or path."""
    words = [_split(word) for word in _WORD.findall(query)]
    if not words:
        raise BadQuery("q is empty")
    return {"issues": _issues, "code": _code, "repositories": _repositories}[what](words, world, write)


def _split(word: str) -> tuple[str, str]:
    name, colon, value = word.partition(":")
    return (name, value.strip('"')) if colon else ("", word.strip('"'))


def _issues(words: list[tuple[str, str]], world: Iterable[LoopbackRepository], write: Json) -> list[Hit]:
    found = []
    for repository in world:
        for number in sorted(repository.issues):
            issue = repository.issues[number]
            if not issue.deleted and all(_issue_fits(repository, issue, *word) for word in words):
                make = partial(_scored, write.issue, repository, issue)
                found.append(Hit(make, issue.created_at, issue.updated_at or issue.created_at))
    return found


def _scored(write: Callable[..., Any], *of: object) -> Any:
    return {**write(*of), "score": 1.0}


def _merged_at(issue: LoopbackIssue) -> datetime | None:
    return issue.merged_at if isinstance(issue, LoopbackPull) else None


_MOMENTS: dict[str, Callable[[LoopbackIssue], datetime | None]] = {
    "merged": _merged_at,
    "created": lambda issue: issue.created_at,
    "updated": lambda issue: issue.updated_at or issue.created_at,
    "closed": lambda issue: issue.closed_at,
}
_KINDS: dict[str, Callable[[LoopbackIssue], bool]] = {
    "pr": lambda issue: isinstance(issue, LoopbackPull),
    "pull-request": lambda issue: isinstance(issue, LoopbackPull),
    "issue": lambda issue: not isinstance(issue, LoopbackPull),
    "merged": lambda issue: _merged_at(issue) is not None,
    "public": lambda _issue: True,
    "closed": lambda issue: issue.closed_at is not None,
    "open": lambda issue: issue.closed_at is None,
}


def _issue_fits(repository: LoopbackRepository, issue: LoopbackIssue, name: str, value: str) -> bool:
    if name in _MOMENTS:
        return _in_time(_MOMENTS[name](issue), value)
    match name:
        case "repo":
            return value.lower() in {repository.full_name.lower(), *(old.lower() for old in repository.old_names)}
        case "is" | "type":
            return _KINDS[value](issue)
        case "":
            return value.lower() in f"{issue.title} {issue.body or ''}".lower()
    raise BadQuery(f"{name}: is not known")


def _code(words: list[tuple[str, str]], world: Iterable[LoopbackRepository], write: Json) -> list[Hit]:
    found = []
    for repository in world:
        for path, size in sorted(repository.code.items()):
            if all(_code_fits(repository, path, size, *word) for word in words):
                found.append(Hit(partial(write.code_hit, repository, path)))
    return found


def _code_fits(repository: LoopbackRepository, path: str, size: int, name: str, value: str) -> bool:
    directory, _, base = path.rpartition("/")
    if name.startswith("-"):
        return not _code_fits(repository, path, size, name[1:], value)
    match name:
        case "filename":
            return value.lower() in base.lower()
        case "extension":
            return base.endswith(f".{value}")
        case "path":
            return not directory if value == "/" else path.startswith(value.strip("/") + "/")
        case "size":
            return _in_range(float(size), value, float)
        case "repo":
            return repository.full_name.lower() == value.lower()
        case "fork":
            return value in {"true", "only"} or not repository.fork
        case "":
            return True
    raise BadQuery(f"{name}: is not known")


def _repositories(words: list[tuple[str, str]], world: Iterable[LoopbackRepository], write: Json) -> list[Hit]:
    return [
        Hit(partial(_scored, write.repository, repository), repository.pushed_at, repository.pushed_at)
        for repository in world
        if all(_repository_fits(repository, *word) for word in words)
    ]


def _repository_fits(repository: LoopbackRepository, name: str, value: str) -> bool:
    match name:
        case "stars":
            return _in_range(float(repository.stars), value, float)
        case "language":
            return (repository.language or "").lower() == value.lower()
        case "archived":
            return repository.archived == (value == "true")
        case "fork":
            return value in {"true", "only"} or not repository.fork
        case "topic":
            return value in repository.topics
        case "pushed":
            return _in_time(repository.pushed_at, value)
        case "repo":
            return repository.full_name.lower() == value.lower()
        case "":
            return value.lower() in f"{repository.full_name} {repository.description or ''}".lower()
    raise BadQuery(f"{name}: is not known")


def _in_range(number: float, text: str, read: Callable[[str], float]) -> bool:
    """GitHub's ranges: 5..9 (both ends in), 5..*, *..9, >5, >=5, <5, <=5, 5."""
    if ".." in text:
        low, high = text.split("..")
        return (low == "*" or number >= read(low)) and (high == "*" or number <= read(high))
    for sign, fits in {">=": number.__ge__, "<=": number.__le__, ">": number.__gt__, "<": number.__lt__}.items():
        if text.startswith(sign):
            return bool(fits(read(text.removeprefix(sign))))
    return number == read(text)


def _in_time(moment: datetime | None, text: str) -> bool:
    """As `_in_range`; a day as the upper end means its last second."""
    if moment is None:
        return False
    second = moment.timestamp() // 1
    if ".." in text or text[0] not in "<>":
        first, last = _between(text)
        return first <= second <= last
    return _in_range(second, text, lambda word: _epoch(word, last=text.startswith(("<=", ">")) and text[:2] != ">="))


@lru_cache(maxsize=1024)
def _between(text: str) -> tuple[float, float]:
    low, _, high = (text if ".." in text else f"{text}..{text}").partition("..")
    return -inf if low == "*" else _epoch(low), inf if high == "*" else _epoch(high, last=True)


@lru_cache(maxsize=1024)
def _epoch(text: str, *, last: bool = False) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadQuery(f"{text!r} is no date") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if last and "T" not in text:
        moment += timedelta(days=1, seconds=-1)
    return moment.timestamp()
