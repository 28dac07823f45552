"""Parquet files of pull requests: every spelling of a value, and which row counts."""

import asyncio
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from datasmith.errors import ConfigError, ForgeUnavailable, NotFound
from datasmith.github.base import Window
from datasmith.github.clones import GivenClones
from datasmith.github.filters import symbolic_compliance
from datasmith.github.models import PR, FileChange, Repository
from datasmith.github.offline import OfflineForge, collector_paused
from tests.unit.github.pull_tables import BASE, HEAD, PATCH, row, summary, write

WINDOW = Window(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
O_R = Repository(owner="o", repo="r")
MERGED = datetime(2026, 2, 5, tzinfo=UTC)


class NoClones:
    """Nobody has a clone; `asked` counts who wanted one."""

    def __init__(self) -> None:
        self.asked = 0

    def at_hand(self, repository: Repository) -> Path | None:
        return None

    async def get(self, repository: Repository) -> Path:
        self.asked += 1
        raise ForgeUnavailable("the network is down")


def forge(*files: Path) -> OfflineForge:
    return OfflineForge(files, GivenClones({}, NoClones()))


def merged(source: OfflineForge, window: Window = WINDOW, repository: Repository = O_R) -> list[PR]:
    async def collect() -> list[PR]:
        return [pr async for pr in source.merged_pull_requests(repository, window)]

    return asyncio.run(collect())


def only(tmp_path: Path, **changes: object) -> PR:
    """The one pull request of a file with this row and a plain one of another repository."""
    (found,) = merged(
        forge(write(tmp_path / "a.parquet", [row(7, **changes), row(8, **{**changes, "repo_name": "x/y"})]))
    )
    return found


def test_a_row_is_a_whole_pull_request(tmp_path: Path) -> None:
    """Every column has its place."""
    assert only(tmp_path) == PR(
        repository="o/r",
        issue_number=7,
        title="Speed up 7",
        body="Because",
        labels=("perf",),
        created_at=datetime(2026, 1, 20, tzinfo=UTC),
        merged_at=MERGED,
        base_sha=BASE,
        merge_commit_sha=f"{7:040x}",
        files=(FileChange(path="src/a.py", additions=1, deletions=1),),
        patch=PATCH,
    )


@pytest.mark.parametrize(
    ("table", "files"),
    [
        (summary("src/FileReader.py | 1,000 | 12 | 1,012"), [("src/FileReader.py", 1000, 12)]),
        (summary("File | 1 | 2 | 3", "Lines Added | 4 | 5 | 9"), [("File", 1, 2), ("Lines Added", 4, 5)]),
        (summary("a.bin | - | - | -", "b.bin | nan | None | 0"), [("a.bin", None, None), ("b.bin", None, None)]),
        (summary("a|b.py | 1 | 2 | 3", "`c.py` | 3 | 4 | 7"), [("a|b.py", 1, 2), ("c.py", 3, 4)]),
        (summary("ä b.py | 1.0 | 2.0 | 3.0"), [("ä b.py", 1, 2)]),
        ("| src/a.py | 1 | 2 |\r\n| src/b.py | 3 | 4 |\r\n", [("src/a.py", 1, 2), ("src/b.py", 3, 4)]),
        ("src/a.py | 1,234,567 | 2 | 3\n\nno row", [("src/a.py", 1234567, 2)]),
        (HEAD, [("src/a.py", 1, 1)]),
        (None, [("src/a.py", 1, 1)]),
    ],
)
def test_change_summaries(tmp_path: Path, table: str | None, files: list[tuple[str, int | None, int | None]]) -> None:
    """A row is told from a heading by its numbers; what lists no file is made up for by the patch."""
    found = only(tmp_path, file_change_summary=table).files
    assert [(file.path, file.additions, file.deletions) for file in found] == files


@pytest.mark.parametrize(
    ("patch", "files"),
    [
        (PATCH.replace("a/src/a.py b", "a/src/z.py b"), [FileChange(path="src/a.py")]),
        ("not a patch", []),
        ("NaN", []),
        (None, []),
    ],
)
def test_files_of_patches(tmp_path: Path, patch: str | None, files: list[FileChange]) -> None:
    """Where a patch is not what git writes, its headers still name the files; where it is none, there are none."""
    assert list(only(tmp_path, file_change_summary=None, original_patch=patch).files) == files


@pytest.mark.parametrize("missing", [None, float("nan"), "NaN", "nan", "None", "", "  ", "NaT", "<NA>", "null"])
@pytest.mark.parametrize(
    "column", ["pr_body", "original_patch", "pr_created_at", "pr_merge_commit_sha", "file_change_summary", "pr_title"]
)
def test_what_is_missing_is_missing_however_it_is_spelled(tmp_path: Path, column: str, missing: object) -> None:
    """No text says "nan", no time is 1970, and no row is lost."""
    pr = only(tmp_path, **{column: missing})
    values = {"pr_body": pr.body, "original_patch": pr.patch, "pr_created_at": pr.created_at}
    values |= {"pr_merge_commit_sha": pr.merge_commit_sha}
    assert values.get(column) in (None, "")
    assert pr.issue_number == 7 and pr.merged_at == MERGED


def test_nul_and_other_bytes_never_reach_the_store(tmp_path: Path) -> None:
    """NUL becomes the replacement character in every text."""
    pr = only(tmp_path, pr_title="a\0b", pr_body="\0", original_patch=PATCH + "\0")
    assert (pr.title, pr.body, "\0" in (pr.patch or "")) == ("a\ufffdb", "\ufffd", False)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-02-05T00:00:00Z", MERGED),
        ("2026-02-05 00:00:00+00:00", MERGED),
        ("2026-02-05T02:00:00.000+02:00", MERGED),
        ("2026-02-04T18:30:00-0530", MERGED),
        ("2026-02-05 00:00:00", MERGED),
        ("2026-02-05", MERGED),
        ("2026-02-05 00:00:00 UTC", MERGED),
        (datetime(2026, 2, 5), MERGED),  # noqa: DTZ001
        (datetime(2026, 2, 5, 1, tzinfo=timezone(timedelta(hours=1))), MERGED),
        (date(2026, 2, 5), MERGED),
    ],
)
def test_times(tmp_path: Path, value: object, moment: datetime) -> None:
    """A time of any type and zone is that moment in UTC; one without a zone is UTC."""
    frame = pl.DataFrame([row(7)]).with_columns(pl.Series("pr_merged_at", [value]))
    frame.write_parquet(tmp_path / "a.parquet")
    (pr,) = merged(forge(tmp_path / "a.parquet"))
    assert pr.merged_at == moment and pr.merged_at.utcoffset() == timedelta()


@pytest.mark.parametrize("missing", [None, "NaT", "not a date", float("nan")])
def test_rows_without_a_merge_are_no_merged_pull_requests(tmp_path: Path, missing: object) -> None:
    """Closed without merging: passed over, and the others stay."""
    path = write(tmp_path / "a.parquet", [row(7, pr_merged_at=missing), row(8)])
    assert [pr.issue_number for pr in merged(forge(path))] == [8]


@pytest.mark.parametrize(
    ("number", "read"),
    [("1,000", 1000), (1000.0, 1000), (3.5, None), ("12", 12), ("#7", None), (None, None), (2**40, None)],
)
def test_numbers(tmp_path: Path, number: object, read: int | None) -> None:
    """As a number, a float or a text; a row without one is passed over."""
    path = write(tmp_path / "a.parquet", [row(0, pr_number=number)])
    assert [pr.issue_number for pr in merged(forge(path))] == ([] if read is None else [read])


@pytest.mark.parametrize(
    "changes",
    [
        {"pr_base": {"sha": BASE, "ref": "main"}},
        {"pr_base": f"{{'label': 'o:main', 'sha': '{BASE}'}}"},
        {"pr_base": f'{{"sha": "{BASE}"}}'},
        {"pr_base": BASE},
        {"pr_base_sha": BASE, "pr_base": None},
    ],
)
def test_bases(tmp_path: Path, changes: dict[str, object]) -> None:
    """As a struct, the text of one, or a column of its own."""
    assert only(tmp_path, **changes).base_sha == BASE


@pytest.mark.parametrize("labels", [["perf", "easy"], [{"name": "perf"}, {"name": "easy"}]])
def test_labels(tmp_path: Path, labels: list[object]) -> None:
    """As names or as objects."""
    assert only(tmp_path, pr_labels=labels).labels == ("perf", "easy")
    text = str([{"id": 1, "name": "perf"}, {"name": "easy"}])
    assert only(tmp_path, pr_labels=text).labels == ("perf", "easy")


@pytest.mark.parametrize(("name", "read"), [(1, ("1",)), (["a"], ()), (None, ())])
def test_odd_labels_stop_nothing(tmp_path: Path, name: object, read: tuple[str, ...]) -> None:
    """A name of another type is its text, or none."""
    assert only(tmp_path, pr_labels=[{"name": name}]).labels == read


def test_the_window_is_half_open(tmp_path: Path) -> None:
    """Ordered by merge time, then number; a merge at the end is out."""
    times = ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z"]
    rows = [row(9 - n, pr_merged_at=moment) for n, moment in enumerate(times)]
    path = write(tmp_path / "a.parquet", [*rows, row(2, pr_merged_at=times[1])])
    assert [pr.issue_number for pr in merged(forge(path))] == [2, 8, 7]


def test_the_last_row_counts(tmp_path: Path) -> None:
    """Of one merge, and of one number, the last row of the last file; also where that says another time."""
    master = write(tmp_path / "master.parquet", [row(1), row(2), row(3), row(5, pr_merge_commit_sha=None)])
    newer = [
        row(1, pr_title="newer"),
        row(20, pr_merge_commit_sha=f"{2:040x}"),
        row(3, pr_merged_at="2026-03-05T00:00:00Z"),
        row(6, pr_merge_commit_sha=None),
    ]
    found = merged(forge(master, write(tmp_path / "new.parquet", newer)))
    assert [(pr.issue_number, pr.title) for pr in found] == [
        (1, "newer"),
        (5, "Speed up 5"),
        (6, "Speed up 6"),
        (20, "Speed up 20"),
    ]


def test_repositories_are_those_of_all_files(tmp_path: Path) -> None:
    """Each once, however it is spelled; what is no name of one is not."""
    first = write(tmp_path / "a.parquet", [row(1), row(2, repo_name="b/c"), row(3, repo_name="../..;x")])
    odd = write(tmp_path / "c.parquet", [row(9, repo_name=name) for name in ("../..", "-x/y", "a/..", "./b")])
    second = write(tmp_path / "b.parquet", [row(4, repo_name="O/R"), row(5, repo_name=None)])
    source = forge(first, second, odd)
    assert [repository.full_name for repository in asyncio.run(source.repositories())] == ["b/c", "O/R"]
    assert [pr.issue_number for pr in merged(source)] == [1, 4]
    with pytest.raises(NotFound, match="x/y"):
        merged(source, repository=Repository(owner="x", repo="y"))


@pytest.mark.parametrize("dropped", ["repo_name", "pr_number", "pr_merged_at"])
def test_a_file_without_a_needed_column_is_named(tmp_path: Path, dropped: str) -> None:
    """One line with the file and the column."""
    path = tmp_path / "a.parquet"
    pl.DataFrame([row(1)]).drop(dropped).write_parquet(path)
    with pytest.raises(ConfigError, match=rf"--offline-source .*a\.parquet has no column {dropped}"):
        forge(path)


def test_other_columns_may_be_missing(tmp_path: Path) -> None:
    """Then their values are empty."""
    path = tmp_path / "a.parquet"
    pl.DataFrame([row(1)]).select("repo_name", "pr_number", "pr_merged_at").write_parquet(path)
    (pr,) = merged(forge(path))
    assert (pr.title, pr.body, pr.patch, pr.files, pr.labels, pr.merge_commit_sha) == ("", "", None, (), (), "")


def test_what_is_no_parquet_file_is_told(tmp_path: Path) -> None:
    """A missing file, a directory, a text."""
    (tmp_path / "text").write_text("hello")
    for path in (tmp_path / "text", tmp_path / "missing", tmp_path):
        with pytest.raises(
            ConfigError, match=rf"--offline-source {path}.*\(example: --offline-source pull_requests\.parquet\)$"
        ):
            forge(path)


def test_a_missing_clone_is_asked_for_once_and_says_what_to_do(tmp_path: Path) -> None:
    """The reason names the flag; the pull requests that come after do not wait for the network again."""
    clones = NoClones()
    source = OfflineForge([write(tmp_path / "a.parquet", [row(1)])], GivenClones({}, clones))
    for _ in range(3):
        with pytest.raises(NotFound, match=r"no clone of o/r \(example: --repo \./r\): the network is down"):
            asyncio.run(source.clone(O_R))
    assert clones.asked == 1
    assert asyncio.run(source.clone_at_hand(O_R)) is None


def test_the_verdict_is_the_same_on_line_and_off(tmp_path: Path) -> None:
    """The filters see the same files and patch."""
    online = (FileChange(path="src/a.py", additions=1000, deletions=12),)
    pr = only(tmp_path, file_change_summary=summary("src/a.py | 1,000 | 12 | 1,012"))
    assert pr.files == online
    assert symbolic_compliance(pr.title, file_changes=pr.files, patch=pr.patch) == symbolic_compliance(
        "Speed up 7", file_changes=online, patch=PATCH
    )


def test_the_collector_is_on_again_afterwards() -> None:
    """Whatever happens inside, and not where it was off before."""
    import gc

    with pytest.raises(KeyError), collector_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
