"""Parquet files of pull requests as a forge: no network, no API, and no clone until one is needed."""

import asyncio
import gc
import logging
import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from datasmith.errors import ConfigError, ForgeError, NotFound, expect_file
from datasmith.github.base import Window
from datasmith.github.bases import Size, Told, ground
from datasmith.github.clones import CloneSource
from datasmith.github.git import Git
from datasmith.github.models import PR, FileChange, Repository, is_full_name
from datasmith.github.offline_columns import Columns, files_of_summaries
from datasmith.tasks import gitdiff

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger(__name__)
_FULL_NAME = r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$"
_PRS = TypeAdapter(list[PR])
_FILES = TypeAdapter(list[FileChange])
_FIELDS = ("path", "additions", "deletions")
_HEADER = re.compile(r"^diff --git a/(.+) b/(.+)$", re.MULTILINE)


class OfflineForge:
    """Offers the pull requests of parquet files with the columns of docs/reference/offline.md.

    Of rows that tell of one merge (merge commit, repository and base), and of rows with one number, the last counts:
    the last row of the last file. Where a clone of the repository is at hand, base, files and patch are the clone's.
    """

    name = "offline"

    def __init__(self, sources: Sequence[Path], clones: CloneSource) -> None:
        """Open the files; only their columns are read.

        Raises:
            ConfigError: one is no parquet file, or lacks a column.
        """
        self._frames = [_opened(path) for path in sources]
        self._clones = clones
        self._cloning = asyncio.Lock()
        self._without: dict[str, str] = {}
        self._names: dict[str, str] | None = None

    async def repositories(self) -> list[Repository]:
        """Every repository that a file names, ordered by name."""
        names = await asyncio.to_thread(self._all_names)
        return [_repository(name) for name in sorted(names.values(), key=str.lower)]

    async def merged_pull_requests(self, repository: Repository, window: Window) -> AsyncIterator[PR]:
        """Every pull request merged in the window, ordered by merge time, then number.

        Raises:
            NotFound: no file names the repository.
        """
        await self._check(repository)
        clone = self._clones.at_hand(repository)
        for pr in await asyncio.to_thread(self._read, repository, window, clone):
            yield pr

    def count_merged(self, window: Window, names: Collection[str] = ()) -> int:
        """How many `merged_pull_requests` offers of these repositories ("owner/repo"); without names, of all."""
        wanted = {name.lower() for name in names} or self._all_names().keys()
        return sum(len(self._inside(name, window)) for name in wanted)

    async def clone(self, repository: Repository) -> Path:
        """The repository's clone: one at hand, else one that is made now.

        Raises:
            NotFound: no file names the repository, or there is no clone of it to be had; that is tried once.
        """
        await self._check(repository)
        name = repository.full_name
        async with self._cloning:
            if name not in self._without:
                try:
                    return await self._clones.get(repository)
                except ForgeError as error:
                    self._without[name] = f"no clone of {name} (example: --repo ./{repository.repo}): {error}"
        raise NotFound(self._without[name])

    async def clone_at_hand(self, repository: Repository) -> Path | None:
        """See Forge: no clone is made to look into."""
        await self._check(repository)
        return self._clones.at_hand(repository)

    async def aclose(self) -> None:
        """See Forge: there are no connections."""

    async def _check(self, repository: Repository) -> None:
        if repository.full_name.lower() not in await asyncio.to_thread(self._all_names):
            raise NotFound(f"no --offline-source names {repository.full_name}")

    def _all_names(self) -> dict[str, str]:
        """owner/repo as the files spell it, by its lower-case form."""
        if self._names is None:
            import polars as pl

            repo = pl.col("repo")
            found = [
                frame.select("repo").filter(repo.str.contains(_FULL_NAME)).unique(maintain_order=True).collect()["repo"]
                for frame in self._frames
            ]
            every = [name for names in found for name in names]
            for name in every:
                if not is_full_name(name):
                    _log.warning("%r is not a name that a repository can have: its rows are left out", name[:200])
            self._names = {name.lower(): name for name in every if is_full_name(name)}
        return self._names

    def _read(self, repository: Repository, window: Window, clone: Path | None) -> list[PR]:
        name = self._all_names()[repository.full_name.lower()]
        with collector_paused():
            prs = pull_requests(self._window_of(name, window), name)
        if clone is None:
            return prs
        return ground(Git(clone), [Told(pr, Size.of(pr.files) if pr.files else None) for pr in prs])

    def _inside(self, name: str, window: Window) -> "pl.DataFrame":
        """Which rows count, by their file and their place in it."""
        import polars as pl

        mine, merged = pl.col("repo").str.to_lowercase() == name.lower(), pl.col("merged_at")
        # Which row counts is decided before the window is: a later row may say another time.
        keys = pl.concat(
            [frame.select(*_KEYS).filter(mine).with_columns(file=pl.lit(number)) for number, frame in self._indexed()]
        )
        chosen = _last_of_each(keys.collect())
        return chosen.filter((merged >= window.start) & (merged < window.end)).select("file", "row")

    def _window_of(self, name: str, window: Window) -> "pl.DataFrame":
        import polars as pl

        mine, inside = pl.col("repo").str.to_lowercase() == name.lower(), self._inside(name, window)
        parts = []
        for number, frame in self._indexed():
            rows = inside.filter(pl.col("file") == number)["row"]
            if len(rows):
                parts.append(frame.filter(mine & pl.col("row").is_in(rows.implode())).collect())
        found = pl.concat(parts) if parts else pl.DataFrame(schema=self._frames[0].collect_schema())
        return found.sort("merged_at", "number")

    def _indexed(self) -> "list[tuple[int, pl.LazyFrame]]":
        return list(enumerate(self._frames))


_LAST_NUMBER = 2**31 - 1
"""Of pull requests, as the store keeps them."""
_KEYS = ("row", "repo", "number", "merged_at", "merge_sha", "base_sha")


def _last_of_each(keys: "pl.DataFrame") -> "pl.DataFrame":
    """The rows that count; those without a number or a merge time tell of no merged pull request."""
    import polars as pl

    usable = keys.filter(pl.col("number").is_between(1, _LAST_NUMBER), pl.col("merged_at").is_not_null())
    if len(usable) < len(keys):
        _log.warning("%d rows without a usable number or merge time are left out", len(keys) - len(usable))
    has_sha = pl.col("merge_sha").is_not_null()
    merges = usable.filter(has_sha).unique(["merge_sha", "base_sha"], keep="last", maintain_order=True)
    rest = pl.concat([usable.filter(~has_sha), merges]).sort("file", "row")
    return rest.unique("number", keep="last", maintain_order=True)


def expect_source(path: Path) -> None:
    """Raises ConfigError where there is no such file, or it cannot be read."""
    expect_file("--offline-source", path, "pull_requests.parquet", "a Parquet file of pull requests")


def _opened(path: Path) -> "pl.LazyFrame":
    """The rows of a file as clean columns, numbered by `row`."""
    import polars as pl

    expect_source(path)
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = Columns(frame.collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ConfigError(
            f"--offline-source {path} is not a parquet file: {error} (example: --offline-source pull_requests.parquet)"
        ) from error
    columns.check(path)
    return frame.select(columns.all()).with_row_index("row")


def _repository(name: str) -> Repository:
    owner, repo = name.split("/")
    return Repository(owner=owner, repo=repo)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Without garbage collections: among many new values that all stay, each would look through all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def pull_requests(frame: "pl.DataFrame", repository: str) -> list[PR]:
    """Rows of clean columns as pull requests of `repository`, in order."""
    import polars as pl

    told = frame.select(
        repository=pl.lit(repository),
        issue_number="number",
        title=pl.col("title").fill_null(""),
        body=pl.col("body").fill_null(""),
        author=pl.col("author").fill_null(""),
        labels=pl.col("labels").fill_null(pl.lit([], pl.List(pl.String))),
        created_at="created_at",
        merged_at="merged_at",
        base_sha=pl.col("base_sha").fill_null(""),
        merge_commit_sha=pl.col("merge_sha").fill_null(""),
        patch="patch",
    )
    files = _listed_files(frame)
    return _PRS.validate_python(
        [row | {"files": files.get(at) or files_of_patch(row["patch"])} for at, row in enumerate(told.to_dicts())]
    )


def _listed_files(frame: "pl.DataFrame") -> dict[int, list[FileChange]]:
    """What the change summaries list, by row."""
    listed = files_of_summaries(frame)
    rows, *columns = (listed[name].to_list() for name in listed.columns)
    made = _FILES.validate_python([dict(zip(_FIELDS, cells, strict=True)) for cells in zip(*columns, strict=True)])
    found: dict[int, list[FileChange]] = {}
    for row, file in zip(rows, made, strict=True):
        found.setdefault(row, []).append(file)
    return found


def files_of_patch(patch: str | None) -> list[FileChange]:
    """The files of a patch; without counts where it is not what `git diff` writes."""
    if not patch:
        return []
    try:
        return [_file(change) for change in gitdiff.parse_diff(patch)]
    except gitdiff.MalformedDiff:
        return [FileChange(path=new) for _, new in _HEADER.findall(patch)]


def _file(change: gitdiff.FileChange) -> FileChange:
    status = "added" if change.new else "removed" if change.deleted else "modified"
    if change.binary_bytes is not None:
        return FileChange(path=change.path, status=status)
    return FileChange(path=change.path, additions=change.added, deletions=change.removed, status=status)
