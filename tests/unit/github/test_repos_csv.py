"""Lists of repositories: what is written is read, and other tools' files are, too."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasmith.errors import ConfigError
from datasmith.github.discovery import judged
from datasmith.github.models import Repository, is_full_name
from datasmith.github.repos_csv import COLUMNS, Listed, read_repositories, write_repositories

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30).map(str.strip)
WORD = st.text("abz09-_", min_size=1, max_size=6)
NAME = WORD.filter(lambda word: is_full_name(f"{word}/{word}"))


@st.composite
def listed(draw: st.DrawFn) -> Listed:
    """Any repository, with any text in every field."""
    repository = Repository(
        owner=draw(NAME),
        repo=draw(NAME),
        stars=draw(st.none() | st.integers(0, 10**6)),
        description=draw(TEXT),
        language=draw(TEXT),
        topics=tuple(draw(st.lists(WORD, max_size=3, unique=True))),
        licence=draw(st.none() | WORD),
    )
    return Listed(
        repository=repository,
        asv_paths=tuple(draw(st.lists(WORD, max_size=3, unique=True))),
        fork=draw(st.none() | st.booleans()),
        archived=draw(st.none() | st.booleans()),
        renamed_from=draw(TEXT),
        source=draw(TEXT),
        reason=draw(TEXT),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(listed(), max_size=3, unique_by=lambda each: each.repository.full_name))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, repositories: list[Listed]) -> None:
    """Every field comes back, and no cell is a formula."""
    path = tmp_path_factory.mktemp("csv") / "repos.csv"
    write_repositories(path, repositories)
    assert read_repositories(path) == repositories
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert tuple(head) == COLUMNS
    assert not [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell]
    assert [file.name for file in path.parent.iterdir()] == ["repos.csv"]


@pytest.mark.parametrize(
    ("text", "name", "stars"),
    [
        ('repo_name,stars\npypa/packaging,"1,000"\n', "pypa/packaging", 1000),
        ("\ufefffull_name,stargazers_count\r\npypa/packaging,12.0\r\n", "pypa/packaging", 12),
        ("url\nhttps://github.com/pypa/packaging.git\n", "pypa/packaging", None),
        ("owner,name,stars\npypa,packaging,nan\n", "pypa/packaging", None),
        ("repo,more\n\npypa/packaging,x,y,z\n", "pypa/packaging", None),
        ("Owner , Repo\npypa,packaging\n", "pypa/packaging", None),
    ],
)
def test_other_spellings_are_read(tmp_path: Path, text: str, name: str, stars: int | None) -> None:
    """BigQuery's, GitHub's and a person's."""
    (tmp_path / "a.csv").write_text(text, encoding="utf-8", newline="")
    (found,) = read_repositories(tmp_path / "a.csv", source="a.csv")
    assert (found.repository.full_name, found.repository.stars, found.source) == (name, stars, "a.csv")


def test_rows_of_one_repository_are_one(tmp_path: Path) -> None:
    """BigQuery may give a row a file; the paths come together."""
    (tmp_path / "a.csv").write_text("repo_name,path\no/r,asv.conf.json\nO/R,b/asv.conf.json\nx/y,asv.conf.json\n")
    first, second = read_repositories(tmp_path / "a.csv")
    assert (first.repository.full_name, first.asv_paths) == ("o/r", ("asv.conf.json", "b/asv.conf.json"))
    assert second.repository.full_name == "x/y"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"repo_name\no/r\nnobody\n", "line 3 names no repository"),
        (b"repo_name\n../..\n", "line 2 names no repository"),
        (b"repo_name\n\xff\xfe\n", "UTF-8"),
        (b"repo_name\n" + b"x" * 200_000, "no CSV file"),
    ],
)
def test_a_line_that_names_none_is_told(tmp_path: Path, content: bytes, says: str) -> None:
    """With its number, in one line."""
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ConfigError, match=says) as raised:
        read_repositories(tmp_path / "a.csv")
    assert str(tmp_path / "a.csv") in str(raised.value) and "\n" not in str(raised.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """With what writes one."""
    with pytest.raises(ConfigError, match="fc-data discover"):
        read_repositories(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("stars", "fork", "archived", "reason"),
    [
        (50, False, False, ""),
        (49, False, False, "fewer than 50 stars"),
        (None, None, None, "nobody has counted its stars"),
        (999, True, False, "a fork"),
        (999, False, True, "archived"),
        (999, None, None, ""),
    ],
)
def test_reasons(stars: int | None, fork: bool | None, archived: bool | None, reason: str) -> None:
    """Few stars, forks and archives are not mined; what nobody says does not count against a repository."""
    each = Listed(repository=Repository(owner="o", repo="r", stars=stars), fork=fork, archived=archived)
    assert [found.reason for found in judged([each, each], 50)] == [reason]
