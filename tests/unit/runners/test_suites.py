"""Which suite is chosen, from which commit, and what the environment is asked to hold for it."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import ConfigError
from datasmith.github.forges import Sources
from datasmith.github.git import Git
from datasmith.github.models import PR
from datasmith.resolution.base import Resolution, SourceTree
from datasmith.resolution.imports import undeclared
from datasmith.resolution.metadata import read_metadata
from datasmith.runners.request import Request
from datasmith.runners.resolve_packages import read_suite, read_tree
from datasmith.runners.rows import load_resolution, load_suite, resolution_row
from datasmith.runners.suites import ForeignSuite, SuiteWish, choose, hints, laid_over, last_suite
from datasmith.settings import Settings
from datasmith.storage import open_store
from datasmith.workloads.config import AsvConfig
from tests.clones import ASV, Clone


def pull_request(merged: str = "2026-02-05") -> PR:
    when = datetime.fromisoformat(merged).replace(tzinfo=UTC)
    return PR(repository="acme/calc", issue_number=5, merged_at=when)


def chosen(wish: SuiteWish, clone: Clone, pr: PR | None = None) -> ForeignSuite:
    found = choose(wish, pr or pull_request(), clone.path)
    assert isinstance(found, ForeignSuite), found
    return found


def test_newest_is_the_tip_and_a_ref_is_what_it_names(tmp_path: Path) -> None:
    """Branches, tags and shortened ids are refs; where a clone lacks one, its pull requests are refused."""
    clone = Clone(tmp_path / "calc")
    first = clone.git("rev-parse", "HEAD")
    clone.git("tag", "v1")
    tip = clone.commit("later", {"benchmarks/more.py": "x\n"}, "2026-03-01T00:00:00+0000")
    assert chosen(SuiteWish("newest"), clone).record.commit == tip
    assert [chosen(SuiteWish(ref), clone).record.commit for ref in ("v1", first[:9], "main")] == [first, first, tip]
    assert set(chosen(SuiteWish("main"), clone).files) == {"bench.py", "more.py"}
    for ref in ("v2", "--all", "main..v1"):
        said = choose(SuiteWish(ref), pull_request(), clone.path)
        assert said == f"its clone holds no commit '{ref}', which --suite-from names"


def test_newest_is_the_last_suite_where_the_project_has_none_any_more(tmp_path: Path) -> None:
    """The commit before the one that dropped it; a branch's name still means what it names."""
    clone = Clone(tmp_path / "calc")
    last = clone.commit("later", {"benchmarks/more.py": "x\n"}, "2026-02-01T00:00:00+0000")
    clone.git("rm", "-rq", "asv.conf.json", "benchmarks")
    clone.commit("no benchmarks", {}, "2026-02-03T00:00:00+0000")
    clone.commit("more", {"calc.py": "x\n"}, "2026-03-01T00:00:00+0000")
    assert last_suite(Git(clone.path), clone.git("rev-parse", "HEAD")) == (last, "asv.conf.json")
    assert chosen(SuiteWish("newest"), clone).record.commit == last
    assert "no asv configuration" in str(choose(SuiteWish("main"), pull_request(), clone.path))


def test_a_repository_of_suites_is_read_as_of_the_merge(tmp_path: Path) -> None:
    """The newest commit that is not younger; of several configurations the one for this project; a place of its own."""
    files = {"x/asv.conf.json": ASV, "calc/asv.conf.json": ASV, "calc/benchmarks/a.py": "1\n", "x/benchmarks/b.py": ""}
    clone = Clone(tmp_path / "suites", files, origin="acme/suites")
    clone.commit("later", {"calc/benchmarks/a.py": "2\n"}, "2026-02-06T00:00:00+0000")
    wish = SuiteWish.checked("", str(clone.path))
    found = chosen(wish, clone)
    assert (found.record.repository, found.record.benchmark_dir) == ("acme/suites", ".asv_suite/benchmarks")
    assert {path: file.data for path, file in found.files.items()} == {"a.py": b"1\n"}
    assert chosen(wish, clone, pull_request("2026-02-07")).files["a.py"].data == b"2\n"
    assert chosen(SuiteWish("newest", wish.repository), clone).files["a.py"].data == b"2\n"
    early = choose(wish, pull_request("2025-01-01"), clone.path)
    assert early == "the suite's repository has no commit as old as the merge (2025-01-01)"
    other = pull_request().model_copy(update={"repository": "acme/unknown"})
    assert "no asv configuration" in str(choose(wish, other, clone.path))


def test_a_suite_without_files_or_configuration_has_a_reason(tmp_path: Path) -> None:
    """It is a decision about the pull request, never an empty suite."""
    clone = Clone(tmp_path / "calc", {"calc.py": "x\n"})
    assert "no asv configuration at the suite's commit" in str(choose(SuiteWish("main"), pull_request(), clone.path))
    clone.commit("config", {"asv.conf.json": ASV}, "2026-01-02T00:00:00+0000")
    assert "there is no suite in benchmarks" in str(choose(SuiteWish("main"), pull_request(), clone.path))
    clone.commit("config", {"asv.conf.json": "{"}, "2026-01-03T00:00:00+0000")
    assert "cannot be used" in str(choose(SuiteWish("main"), pull_request(), clone.path))


def test_the_environment_is_bases_with_what_the_other_suite_needs(tmp_path: Path) -> None:
    """Its interpreters and versions are of another day: only names of packages, and what its files import, count."""
    clone = Clone(tmp_path / "calc")
    base = clone.git("rev-parse", "HEAD")
    config = ASV.replace("}", ', "pythons": ["3.14"], "matrix": {"req": {"numpy": ["9.9"], "pandas": []}}}')
    later = {
        "asv.conf.json": config,
        "benchmarks/bench.py": "import requests\n",
        "benchmarks/sub/c.py": "import calc\n",
    }
    clone.commit("later", later, "2026-03-01T00:00:00+0000")
    git = Git(clone.path)
    tree = read_tree(git, base)
    own = read_suite(git, base, tree.paths)
    foreign = chosen(SuiteWish("newest"), clone)
    assert hints(own, foreign).pythons == () and hints(own, foreign).requirements == ("numpy", "pandas")
    kept = AsvConfig(pythons=("3.11",), requirements=("numpy==1.26.*",), install_command=("pip install .",))
    said = hints(kept, foreign)
    assert (said.pythons, said.requirements) == (("3.11",), ("numpy==1.26.*", "pandas"))
    assert said.install_paths == ("pip install .",)
    assert undeclared(tree, ["calc"]) == ()
    assert undeclared(laid_over(tree, foreign), ["calc"]) == ("requests",)
    assert "benchmarks/sub/c.py" in laid_over(tree, foreign).paths


@pytest.mark.parametrize(
    "config",
    [
        '{"repo_subdir": "python", "install_command": ["in-dir={env_dir} python -mpip install {wheel_file}"]}',
        '{"install_command": ["in-dir={env_dir} python -mpip install {build_dir}/python"]}',
    ],
)
def test_the_project_is_where_asv_installs_it_from(config: str) -> None:
    """Not the tools at the tree's root."""
    texts = {
        "setup.py": "from setuptools import setup\nsetup(name='tools')\n",
        "python/pyproject.toml": "[project]\nname = 'mine'\n",
    }
    tree = SourceTree(texts, (*texts, "python/mine/__init__.py"))
    said = hints(AsvConfig.parse(config), None)
    assert read_metadata(tree, "o/mine", said.install_paths).root == "python"


def test_a_suite_repository_is_a_clone_or_a_name(tmp_path: Path) -> None:
    """A path becomes absolute, for workers elsewhere; anything else is refused with an example."""
    subprocess.run(["git", "init", "-q", str(tmp_path / "suite")], check=True)
    assert SuiteWish.checked("", str(tmp_path / "suite")).repository == str(tmp_path / "suite")
    with pytest.raises(ConfigError, match=r"--suite-repo \S+ is not a git clone \(example: --suite-repo"):
        SuiteWish.checked("", str(tmp_path))
    assert SuiteWish.checked("v1", "acme/suites") == SuiteWish("v1", "acme/suites")
    assert not SuiteWish.checked("", "")
    with pytest.raises(ConfigError, match="example: --suite-repo astropy/astropy-benchmarks"):
        SuiteWish.checked("", "no such place")


def test_a_ref_is_looked_for_before_anything_starts(tmp_path: Path) -> None:
    """In the clones that are here, of which one that has it is enough; "newest" is everywhere."""
    clones = [Clone(tmp_path / name) for name in ("one", "two")]
    for number, clone in enumerate(clones):
        clone.commit("first", {"a.py": str(number)}, "2026-02-01T00:00:00+0000")
        clone.git("tag", f"only-{number}")
    paths = [clone.path for clone in clones]
    for wish in (SuiteWish(), SuiteWish("newest"), SuiteWish("only-0"), SuiteWish("only-1"), SuiteWish("x", "a/b")):
        wish.check(paths)
    SuiteWish("misspelt").check([])
    for wish in (SuiteWish("misspelt"), SuiteWish("only-0", str(paths[1]))):
        with pytest.raises(ConfigError, match=rf"two holds no commit '{wish.ref}' \(example: --suite-from"):
            wish.check(paths)


def asked(**flags: object) -> Request:
    given: dict[str, object] = {
        "start_date": "2026-02-01", "end_date": "2026-03-01", "sources": Sources("git"), "stages": (), "resume": False,
        "force": False, "n_concurrent": None, "tasks_per_repo": None, "seed": 0, "precise": False,
        "suite": SuiteWish("newest"),
    }  # fmt: skip
    return Request.checked(**{**given, **flags})  # type: ignore[arg-type]


def test_an_agent_may_be_called_as_its_program_is() -> None:
    """--agent has one name for it, which is that of the evaluation."""
    assert asked(agent="mini-swe-agent").agent == asked(agent="mini_swe").agent == "mini_swe"
    with pytest.raises(ConfigError, match=r"--agent 'mini': must be one of .*mini_swe"):
        asked(agent="mini")


def test_stage_4_chooses_the_suite() -> None:
    """Stage 5 alone cannot be asked for another suite; with stage 4 its old decisions do not count, but for resume."""
    with pytest.raises(ConfigError, match="need stage 4"):
        asked(stages=(5,))
    assert asked(stages=(4, 5)).terms(None).force and asked().terms(None).force
    assert not asked(resume=True).terms(None).force
    assert asked(stages=(5,), suite=None).suite == SuiteWish()


def test_the_store_remembers_which_suite_an_environment_is_for(tmp_path: Path) -> None:
    """The record comes back beside an unharmed resolution; without one base's own suite is meant."""
    clone = Clone(tmp_path / "calc")
    pr = pull_request().model_copy(update={"base_sha": clone.git("rev-parse", "HEAD")})
    record = chosen(SuiteWish("newest"), clone).record
    environment = Resolution(
        python_version="3.11", pins=("a==1",), lock="a==1\n", cutoff=datetime(2026, 1, 1, tzinfo=UTC),
        strategy="newest-python", dropped=(), project_root=".", project_name="calc", import_names=("calc",),
        build_requires=(), compiled=False, apt_packages=(), log="",
    )  # fmt: skip
    with open_store(Settings(data_dir=tmp_path / "data")) as store:
        for suite in (record, None):
            table, row = resolution_row(pr, environment, datetime(2026, 1, 2, tzinfo=UTC), suite=suite)
            store.upsert(table, [row])
            assert load_suite(store, pr) == suite
            assert load_resolution(store, pr) == environment


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    """Editors of Windows put it before the first requirement."""
    clone = Clone(tmp_path / "calc", {"requirements.txt": "\ufeffnumpy\n", "asv.conf.json": ASV})
    tree = read_tree(Git(clone.path), clone.git("rev-parse", "HEAD"))
    assert tree.texts["requirements.txt"] == "numpy\n"


def test_a_file_of_powershell_is_read(tmp_path: Path) -> None:
    """`pip freeze > requirements.txt` writes UTF-16 there, with its mark."""
    clone = Clone(tmp_path / "calc", {"asv.conf.json": ASV})
    (clone.path / "requirements.txt").write_text("numpy\n", encoding="utf-16")
    head = clone.commit("frozen", {}, "2026-01-02T00:00:00+0000")
    assert read_tree(Git(clone.path), head).texts["requirements.txt"] == "numpy\n"
