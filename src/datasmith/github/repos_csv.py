"""Lists of repositories as CSV files: repos_discovered.csv (all, with why not) and repos_valid.csv (those to mine)."""

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from datasmith.errors import ConfigError, naming
from datasmith.github.models import Repository

DISCOVERED = "repos_discovered.csv"
VALID = "repos_valid.csv"
COLUMNS = (
    "owner", "repo", "stars", "fork", "archived", "language", "licence", "topics", "description", "asv_paths",
    "renamed_from", "source", "reason",
)  # fmt: skip

_NAME = re.compile(r"(?:https?://[^/\s]+/)?(?P<owner>[A-Za-z0-9._-]+)/(?P<repo>[A-Za-z0-9._-]+?)(?:\.git)?/?")
_FULL_NAMES = ("repo_name", "full_name", "repository", "name_with_owner", "url", "html_url", "repo")
_STARS = ("stars", "stargazers_count", "stargazers", "watch_count")
_PATHS = ("asv_paths", "path", "asv_path")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is run by spreadsheets; it is written with an apostrophe before it."""


class Listed(BaseModel):
    """A repository with what decides whether it is mined; None where nobody has asked.

    `reason` says why not, "" for one that is mined; `renamed_from` is the name that it was found by.
    """

    model_config = ConfigDict(frozen=True)

    repository: Repository
    asv_paths: tuple[str, ...] = ()
    fork: bool | None = None
    archived: bool | None = None
    renamed_from: str = ""
    source: str = ""
    reason: str = ""


def read_repositories(path: Path, *, source: str = "") -> list[Listed]:
    """The repositories of a CSV file, each once, in its order.

    A repository is named by the columns `owner` and `repo`, or by one of repo_name, full_name, repository, url. Other
    columns may be missing, and columns that are not known are passed over. Rows of one repository become one.

    Raises:
        ConfigError: the file cannot be read or is empty, or a line names no repository; says which.
    """
    found: dict[str, Listed] = {}
    for number, row in _rows(path):
        listed = _listed(path, number, row, source)
        key = listed.repository.full_name.lower()
        first = found.get(key)
        paths = tuple(dict.fromkeys((*first.asv_paths, *listed.asv_paths))) if first else listed.asv_paths
        found[key] = (first or listed).model_copy(update={"asv_paths": paths})
    return list(found.values())


def write_repositories(path: Path, listed: Iterable[Listed]) -> None:
    """Write a CSV file; there is the whole new one or the one that was there."""
    with naming("--out", path.parent, "work"):
        path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_cell(value) for value in _values(each)] for each in listed)
    draft.replace(path)


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The lines of a file by column, with their numbers; blank ones are passed over."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            columns = [name.strip().lower() for name in next(reader, [])]
            lines = [(reader.line_num, cells) for cells in reader if any(cells)]
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror} (example: fc-data discover writes one)") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no CSV file in UTF-8: {error}") from error
    if not any(columns):
        raise ConfigError(f"{path} is empty (example of its first two lines: repo_name, then pypa/packaging)")
    return [(number, dict(zip(columns, map(_plain, cells), strict=False))) for number, cells in lines]


def _listed(path: Path, number: int, row: Mapping[str, str], source: str) -> Listed:
    owner, repo = _full_name(row)
    if not owner:
        raise ConfigError(f"{path} line {number} names no repository (example: a column repo_name with pypa/packaging)")
    repository = Repository(
        owner=owner,
        repo=repo,
        stars=_number(_first(row, _STARS)),
        description=row.get("description", ""),
        language=row.get("language", ""),
        topics=_parts(row.get("topics", "")),
        licence=row.get("licence") or row.get("license") or None,
    )
    return Listed(
        repository=repository,
        asv_paths=_parts(_first(row, _PATHS)),
        fork=_truth(row.get("fork", "") or row.get("is_fork", "")),
        archived=_truth(row.get("archived", "") or row.get("is_archived", "")),
        renamed_from=row.get("renamed_from", ""),
        source=row.get("source", "") or source,
        reason=row.get("reason", ""),
    )


def _full_name(row: Mapping[str, str]) -> tuple[str, str]:
    """(owner, repo); two empty texts where the row names none."""
    names = [f"{row.get('owner', '').strip()}/{row.get(column, '').strip()}" for column in ("repo", "name")]
    for text in (*names, *(row.get(column, "").strip() for column in _FULL_NAMES)):
        found = _NAME.fullmatch(text)
        if found and not {found["owner"], found["repo"]} & {".", ".."}:
            return found["owner"], found["repo"]
    return "", ""


def _first(row: Mapping[str, str], names: Iterable[str]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _number(text: str) -> int | None:
    plain = text.strip().replace(",", "").removesuffix(".0")
    return int(plain) if plain.isascii() and plain.isdigit() else None


def _truth(text: str) -> bool | None:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.strip().lower())


def _parts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(";") if part.strip()))


def _values(listed: Listed) -> list[str | int | bool | None]:
    repository = listed.repository
    return [
        repository.owner, repository.repo, repository.stars, listed.fork, listed.archived, repository.language,
        repository.licence, ";".join(repository.topics), repository.description, ";".join(listed.asv_paths),
        listed.renamed_from, listed.source, listed.reason,
    ]  # fmt: skip


def _cell(value: str | int | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = " ".join(str(value).replace("\0", "\ufffd").splitlines())
    return f"'{text}" if text.startswith((*_FORMULA, "'")) else text


def _plain(cell: str) -> str:
    """A cell without the apostrophe that `_cell` put before it."""
    return cell[1:] if cell.startswith(tuple(f"'{mark}" for mark in (*_FORMULA, "'"))) else cell
