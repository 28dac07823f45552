"""fc-data discover, and runs over GitHub and over parquet files, from the outside."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.github.repos_csv import read_repositories
from datasmith.settings import Settings
from tests.clones import Clone
from tests.house.source import PACKAGE, ROOT
from tests.loopback.github_graphql_search import SearchingGraphQL
from tests.loopback.github_server import GitHubServer, Response, github_server
from tests.loopback.github_world import ChangedFile, LoopbackPull, LoopbackRepository
from tests.unit.github.pull_tables import row, write

WINDOW = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")
EARLY = ("--stage", "1", "--stage", "2", "--stage", "3", "--json")
MERGED = datetime(2026, 2, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine's reaches the tests; the working directory is empty."""
    fields = (f"FC_{field.upper()}" for field in Settings.model_fields)
    for name in ("DATABASE_URL", "GH_TOKENS", "HTTPS_PROXY", *fields):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubServer]:
    """A GitHub with acme/calc, once acme/old, a small repository, a fork and an archive."""
    suite = {"asv.conf.json": 300}
    with github_server(
        LoopbackRepository("acme/calc", stars=80, code=suite, old_names=("acme/old",)),
        LoopbackRepository("acme/small", id=2, stars=3, code=suite),
        LoopbackRepository("acme/fork", id=3, stars=99, fork=True, code=suite),
        LoopbackRepository("acme/done", id=4, stars=99, archived=True, code=suite),
    ) as found:
        SearchingGraphQL(found)
        monkeypatch.setenv("FC_GITHUB_URL", found.url)
        monkeypatch.setenv("GH_TOKENS", "token-a,token-b")
        monkeypatch.setattr("datasmith.github.search.PAUSE_S", 0.0)
        yield found


def said(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    code = run_app(app, [str(word) for word in words])
    return (code, *capsys.readouterr())


def names(path: str) -> list[str]:
    return [each.repository.full_name for each in read_repositories(Path(path))]


def test_both_lists_are_written(capsys: pytest.CaptureFixture[str], server: GitHubServer) -> None:
    """All that was found with the reasons, and those to mine; counts on the screen."""
    code, out, err = said(capsys, "discover", "--min-stars", "50", "--out", "lists")
    assert (code, err) == (0, "")
    assert out.startswith("4 repositories, 1 to mine; the lists are in lists\n")
    assert names("lists/repos_valid.csv") == ["acme/calc"]
    reasons = {each.repository.repo: each.reason for each in read_repositories(Path("lists/repos_discovered.csv"))}
    assert reasons == {"calc": "", "small": "fewer than 50 stars", "fork": "a fork", "done": "archived"}


def test_a_bigquery_table_is_looked_up(capsys: pytest.CaptureFixture[str], server: GitHubServer) -> None:
    """Old names become today's, gone ones are told; as JSON."""
    Path("big.csv").write_text("repo_name,asv_paths\nacme/old,asv.conf.json;b/asv.conf.json\nno/where,asv.conf.json\n")
    code, out, _ = said(capsys, "discover", "--from-csv", "big.csv", "--json")
    first, second = json.loads(out)["repositories"]
    assert (code, first["repository"]["stars"], first["renamed_from"]) == (0, 80, "acme/old")
    assert (first["asv_paths"], first["source"]) == (["asv.conf.json", "b/asv.conf.json"], "big.csv")
    assert second["reason"] == "GitHub does not have it"
    assert names("work/repos_valid.csv") == ["acme/calc"]


def test_a_short_search_is_written_and_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], server: GitHubServer
) -> None:
    """What came is kept; the exit code is the forge's."""
    server.incomplete = lambda seen: True
    code, out, err = said(capsys, "discover")
    assert code == 22 and "code search counted 2 files more than it gave" in err
    assert len(names("work/repos_discovered.csv")) == 2 and out.startswith("2 repositories")


def test_a_search_that_never_looks_everywhere_ends_with_an_error(
    capsys: pytest.CaptureFixture[str], server: GitHubServer
) -> None:
    """Also where GitHub counts no more than it gives: that count is short, too."""
    gave = {"total_count": 0, "incomplete_results": True, "items": []}
    server.answers["/search/code"] = lambda seen: Response.of(gave)
    code, out, err = said(capsys, "discover", "--json")
    assert code == 22 and "before it had looked everywhere: what came is written, and may be short" in err
    assert (json.loads(out)["missing"], json.loads(out)["incomplete"]) == (0, True)


def test_a_repository_that_github_refuses_is_named_and_not_mined(
    capsys: pytest.CaptureFixture[str], server: GitHubServer
) -> None:
    """The others are listed as ever."""
    server.repositories[1].forbidden = "`acme` forbids access via this token"
    code, out, err = said(capsys, "discover")
    assert (code, err) == (0, "acme/small: GitHub refuses it: FORBIDDEN: `acme` forbids access via this token\n")
    assert "1 GitHub refuses it: FORBIDDEN" in out and names("work/repos_valid.csv") == ["acme/calc"]
    reasons = {each.repository.repo: each.reason for each in read_repositories(Path("work/repos_discovered.csv"))}
    assert reasons["small"] == "GitHub refuses it: FORBIDDEN: `acme` forbids access via this token"


def test_without_tokens_a_list_with_stars_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """One without stars needs GH_TOKENS, as code search does; nothing is written then."""
    Path("a.csv").write_text('repo_name,stars\no/r,"1,000"\no/s,3\n')
    code, _, err = said(capsys, "discover", "--from-csv", "a.csv", "--out", "lists")
    assert code == 0 and "GH_TOKENS is not set" in err and names("lists/repos_valid.csv") == ["o/r"]
    Path("b.csv").write_text("repo_name\no/r\n")
    for words in (("--from-csv", "b.csv"), ()):
        code, out, err = said(capsys, "discover", *words)
        assert (code, out) == (2, "") and "GH_TOKENS" in err
    assert not Path("work").exists()


@pytest.mark.parametrize("words", [("--min-stars", "-1"), ("--from-csv", "missing.csv"), ("--from-csv", ".")])
def test_wrong_input_is_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    """Exit code 2, and no file."""
    code, out, err = said(capsys, "discover", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not Path("work").exists()


def test_the_query_of_the_manual_is_that_of_the_package() -> None:
    """Line by line."""
    page = (ROOT / "docs/howto/discover-with-bigquery.md").read_text()
    query = (PACKAGE / "github/templates/asv_repositories.sql").read_text()
    shown = page.partition("```sql\n")[2].partition("    ```")[0]
    assert [line.removeprefix("    ") for line in shown.splitlines()] == query.splitlines()


def test_a_run_over_github_mines_the_valid_list(
    capsys: pytest.CaptureFixture[str], server: GitHubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --repo and --forge: repositories of repos_valid.csv under today's names, base and patch of the clone."""
    clone = Clone(tmp_path / "upstream/calc")
    merge = clone.merge(2, "Speed up all")
    monkeypatch.setenv("FC_CLONE_URL", f"file://{tmp_path}/{{owner}}/../upstream/{{repo}}/.git")
    (tmp_path / "acme").mkdir()
    pull = LoopbackPull(
        number=2, title="Speed up all", merged_at=MERGED, closed_at=MERGED, merge_commit_sha=merge, base_sha="e" * 40,
        files=(ChangedFile("calc.py", additions=1, deletions=0),),
    )  # fmt: skip
    server.repositories[0].add(pull)
    Path("work").mkdir()
    Path("work/repos_valid.csv").write_text("repo_name\nacme/old\n")
    code, out, _ = said(capsys, *WINDOW, *EARLY)
    found = json.loads(out)
    assert code == 0 and [stage["passed"] for stage in found["stages"]] == [1, 1, 1]
    code, out, _ = said(capsys, *WINDOW, *EARLY, "--repo", "acme/calc")
    assert (code, json.loads(out)["funnel"]) == (0, found["funnel"])


def test_a_run_over_github_needs_tokens_and_repositories(
    capsys: pytest.CaptureFixture[str], server: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line each; a dry run of what could not run says so, too, and asks nobody."""
    dry = ("--dry-run",)
    for words in ((), dry):
        code, _, err = said(capsys, *WINDOW, *words)
        assert code == 2 and "--repo pypa/packaging" in err and "fc-data discover" in err
    assert said(capsys, *WINDOW, "--repo", "acme/calc", *dry)[0] == 0
    monkeypatch.delenv("GH_TOKENS")
    for words in ((), dry):
        code, _, err = said(capsys, *WINDOW, "--repo", "acme/calc", *words)
        assert code == 2 and "GH_TOKENS" in err
    assert server.seen == [] and not Path("work").exists()


def test_a_run_over_parquet_files_needs_no_github(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--offline-source is enough for stages 1 to 3; the row of src/FileReader.py is there."""
    first = write(tmp_path / "a.parquet", [row(1, file_change_summary="| src/FileReader.py | 1,000 | 2 | 1,002 |")])
    second = write(tmp_path / "b.parquet", [row(2, pr_title="Fix typo"), row(3, repo_name="x/y")])
    code, out, _ = said(capsys, *WINDOW, *EARLY, "--offline-source", first, "--offline-source", second)
    found = json.loads(out)
    assert code == 0 and [stage["passed"] for stage in found["stages"]] == [2, 2, 2]
    assert found["funnel"]["stages"][0]["entered"] == 3
    dry = json.loads(
        said(capsys, *WINDOW, "--dry-run", "--json", "--offline-source", first, "--offline-source", second)[1]
    )
    assert dry["stages"][1]["details"][0] == "3 pull requests merged in the window"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--forge", "offline"), "--offline-source pull_requests.parquet"),
        (("--forge", "git", "--offline-source", "a.parquet"), "--offline-source does not go with --forge git"),
        (("--offline-source", "missing.parquet"), "--offline-source missing.parquet: no such file"),
        (("--offline-source", "."), "is a directory, and a Parquet file of pull requests is expected (example: "),
        (("--forge", "github", "--repo", "x"), "--repo x is neither a clone nor of the form owner/repo"),
        (("--forge", "svn"), "there is git, github, offline"),
    ],
)
def test_sources_that_do_not_fit(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str) -> None:
    """Exit code 2, one line, nothing made."""
    code, out, err = said(capsys, *WINDOW, *words)
    assert (code, out, err.count("\n")) == (2, "", 1) and says in err
    assert not Path("work").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        ("\ufeff", "is empty"),
        ("repo_name\n", "no repository"),
        ("a,b\n,\n", "no repo"),
    ],
)
def test_an_empty_list_is_told(capsys: pytest.CaptureFixture[str], content: str, says: str) -> None:
    """One line with an example; the lists that are there stay as they are."""
    Path("big.csv").write_text(content)
    code, out, err = said(capsys, "discover", "--from-csv", "big.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err and "example" in err and "big.csv" in err
    assert [path.name for path in Path().iterdir()] == ["big.csv"]
