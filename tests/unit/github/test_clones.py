"""Clones that are made, brought up to date, shared between processes, and not made."""

import asyncio
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, ForgeUnavailable, NotFound
from datasmith.github.clones import CloneCache, GivenClones, without_password
from datasmith.github.git import Git
from datasmith.github.models import Repository
from datasmith.settings import Settings
from tests.unit.github.scripted import ScriptedRepository

O_R = Repository(owner="o", repo="r")


@pytest.fixture
def upstream(tmp_path: Path) -> ScriptedRepository:
    (tmp_path / "upstream/o").mkdir(parents=True)
    made = ScriptedRepository(tmp_path / "upstream/o/r.git")
    made.commit("Start", {"a.py": b"1\n"})
    return made


def cache(tmp_path: Path) -> CloneCache:
    return CloneCache(tmp_path / "clones", url=f"file://{tmp_path}/upstream/{{owner}}/{{repo}}.git")


def get(source: CloneCache, repository: Repository = O_R) -> Path:
    return asyncio.run(source.get(repository))


def test_a_clone_has_the_whole_history_and_no_pull_heads(tmp_path: Path, upstream: ScriptedRepository) -> None:
    """Branches and tags come, heads of pull requests that nobody merged do not; the place is at hand afterwards."""
    first = upstream.tip
    upstream.git("tag", "v1", first)
    second = upstream.commit("Next", {"a.py": b"2\n"})
    head = upstream.git("commit-tree", f"{first}^{{tree}}", "-m", "unmerged")
    upstream.git("update-ref", "refs/pull/1/head", head)
    source = cache(tmp_path)
    assert source.at_hand(O_R) is None
    clone = get(source)
    assert source.at_hand(O_R) == clone == tmp_path / "clones/o/r.git"
    git = Git(clone)
    assert git.head() == second and set(git.commits([first, second, head])) == {first, second}


def test_the_next_run_fetches_what_is_new_and_one_run_asks_once(tmp_path: Path, upstream: ScriptedRepository) -> None:
    """Also a new default branch, and a branch that was written anew."""
    source = cache(tmp_path)
    get(source)
    second = upstream.commit("Next", {"a.py": b"2\n"})
    assert Git(get(source)).head() != second
    assert Git(get(cache(tmp_path))).head() == second
    upstream.git("branch", "-m", "main", "trunk")
    third = upstream.git("commit-tree", f"{second}^{{tree}}", "-m", "anew")
    upstream.git("update-ref", "refs/heads/trunk", third)
    git = Git(get(cache(tmp_path)))
    assert (git.head(), git.default_branch()) == (third, "trunk")


def test_many_at_once_make_one_clone(tmp_path: Path, upstream: ScriptedRepository) -> None:
    """In one process and in several: nobody sees half a clone."""

    async def all_at_once() -> list[Path]:
        one, other = cache(tmp_path), cache(tmp_path)
        return await asyncio.gather(*(source.get(O_R) for source in (one, one, other, other)))

    assert set(asyncio.run(all_at_once())) == {tmp_path / "clones/o/r.git"}
    assert Git(tmp_path / "clones/o/r.git").head() == upstream.tip
    assert not list((tmp_path / "clones/o").glob(".r.git-*"))


def test_a_repository_that_is_not_there_is_not_found(tmp_path: Path, upstream: ScriptedRepository) -> None:
    """And nothing is left in the place of its clone."""
    with pytest.raises(NotFound, match=r"upstream/x/y\.git cannot be cloned: fatal: "):
        get(cache(tmp_path), Repository(owner="x", repo="y"))
    assert not (tmp_path / "clones/x/y.git").exists()


def test_a_server_that_does_not_answer_is_an_outage(tmp_path: Path) -> None:
    """Never NotFound; the line holds no password."""
    source = CloneCache(tmp_path / "clones", url="https://me:geheim@127.0.0.1:1/{owner}/{repo}.git")
    with pytest.raises(ForgeUnavailable, match=r"https://127\.0\.0\.1:1/o/r\.git could not be cloned") as raised:
        get(source)
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize("name", ["..", ".", "-u", "a/b", "r;id", "r\n", "--upload-pack=x", "r\u202e"])
def test_hostile_names_are_no_places(tmp_path: Path, name: str) -> None:
    """No name leaves the directory or becomes an option."""
    for owner, repo in ((name, "r"), ("o", name)):
        repository = Repository.model_construct(owner=owner, repo=repo)  # the model itself refuses it, too
        with pytest.raises(NotFound, match="not a name"):
            get(cache(tmp_path), repository)
    assert not (tmp_path / "clones").exists()


@pytest.mark.parametrize("url", ["https://github.com/o/r.git", "ext::sh -c id {owner} {repo}", "{owner}/{repo}", ""])
def test_a_url_must_be_a_template_of_a_known_protocol(tmp_path: Path, url: str) -> None:
    """Nothing that git would run."""
    with pytest.raises(ConfigError, match="FC_CLONE_URL"):
        CloneCache(tmp_path, url=url)


@pytest.mark.parametrize(
    ("api", "clones"),
    [
        ("https://api.github.com", "https://github.com/{owner}/{repo}.git"),
        ("https://github.example.org/api/v3", "https://github.example.org/{owner}/{repo}.git"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/{owner}/{repo}.git"),
    ],
)
def test_code_comes_from_the_server_that_is_asked(api: str, clones: str) -> None:
    """An Enterprise server's pull requests never meet github.com's repository of the same name."""
    assert Settings(github_url=api).clones_from == clones
    assert Settings(github_url=api, clone_url="file:///{owner}/{repo}").clones_from == "file:///{owner}/{repo}"


def test_what_is_wrong_with_a_template_is_said(tmp_path: Path) -> None:
    """Its protocol, or what it lacks."""
    with pytest.raises(ConfigError, match="must begin with one of file://, http://, https://, ssh://"):
        CloneCache(tmp_path, url="/clones/{owner}/{repo}")
    with pytest.raises(ConfigError, match="must hold"):
        CloneCache(tmp_path, url="https://github.com/owner/repo")


def test_the_users_own_clone_is_taken_as_it_is(tmp_path: Path, upstream: ScriptedRepository) -> None:
    """At owner/repo in the directory, or given by hand; nobody is asked."""
    (tmp_path / "clones/o").mkdir(parents=True)
    upstream.path.rename(tmp_path / "clones/o/r")
    assert get(cache(tmp_path)) == tmp_path / "clones/o/r"
    given = GivenClones({"o/r": tmp_path / "mine"}, cache(tmp_path))
    assert asyncio.run(given.get(O_R)) == given.at_hand(Repository(owner="O", repo="R")) == tmp_path / "mine"


def test_passwords_are_cut_out_of_urls() -> None:
    """Also a user alone."""
    assert without_password("https://me:x@host:8/a") == "https://host:8/a"
    assert without_password("https://token@host/a") == "https://host/a"
