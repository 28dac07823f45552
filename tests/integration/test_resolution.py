"""Resolution with the real uv, against an index on the loopback interface whose releases have dates."""

import platform
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from datasmith.errors import IndexUnavailable, NoPythonFits, Unsatisfiable
from datasmith.process import find_uv
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.resolver import Resolver
from datasmith.resolution.uv import Compiled, UvCompiler
from tests.integration.loopback_index import Index, Release, serving

PYTHONS = ("3.10", "3.11", "3.12")
DAY = datetime(2024, 3, 1, tzinfo=UTC)
NO_HINTS = AsvHints()


def for_python(version: str) -> str:
    """The tag of a wheel with compiled parts for one Python, on any Linux that Debian 12 is newer than."""
    tag = "cp" + version.replace(".", "")
    return f"{tag}-{tag}-manylinux2014_{platform.machine()}"


RELEASES = (
    Release("pytest", "7.0", "2022-01-01", ("pluggy",)),
    Release("pytest", "8.0", "2024-02-29"),
    Release("pytest", "9.0", "2024-03-02"),
    Release("pluggy", "1.0", "2021-01-01"),
    Release("setuptools", "59.0", "2021-11-01"),
    Release("setuptools", "69.0", "2023-12-01"),
    Release("cython", "0.29", "2021-11-01"),
    Release("cython", "3.0", "2023-08-01"),
    Release("needs-cython", "1.0", "2023-09-01", ("cython>=3",)),
    Release("wheel", "0.42", "2023-12-01"),
    Release("numpy", "1.26", "2023-09-01"),
    Release("numpy", "2.0rc1", "2024-02-01"),
    Release("numpy", "2.0", "2024-06-01"),
    Release("old-numpy-user", "1.0", "2023-09-01", ("numpy<2",)),
    Release("compiled", "1.0", "2023-09-01", tag=for_python("3.11")),
    Release("compiled-more", "1.0", "2023-09-01", tag=for_python("3.10")),
    Release("picky", "1.0", "2023-09-01", ("numpy<1",)),
    Release("scripted", "0.9", "2018-03-01"),
    Release("scripted", "2.26", "2023-10-01", ('compiled; extra == "lua"',), extras=("lua",)),
    Release("plain-now", "2.0", "2023-10-01"),
    Release("plain-now", "1.0", "2018-03-01", extras=("security",)),
    Release("newest-only", "1.0", "2023-09-01", requires_python=">=3.12"),
    Release("below-a-patch", "1.0", "2022-01-01"),
    Release("of-a-patch", "1.0", "2022-01-01"),
    Release("of-a-patch", "2.0", "2023-01-01", requires_python=">=3.11.1"),
    Release("old-runner", "3.5", "2018-05-01"),
    Release("old-runner", "5.2", "2019-10-01", ("atomicwrites>=1",)),
    *(Release("atomicwrites", version, "2022-07-09") for version in ("1.2.1", "1.3.0", "1.4.0", "1.4.1")),
)


@pytest.fixture
def index() -> Iterator[Index]:
    with serving(RELEASES) as running:
        yield running


def script(path: Path, *lines: str) -> Path:
    """A uv that does something of its own first."""
    path.write_text("\n".join(["#!/bin/sh", *lines, f'exec "{find_uv()}" "$@"']) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def resolver(index: Index, cache: Path, pythons: tuple[str, ...] = PYTHONS) -> Resolver:
    return Resolver(pythons, index_url=index.url, cache_dir=cache)


def project(dependencies: str = "", *, test: str = "", build: str = '"setuptools"', more: str = "") -> SourceTree:
    text = (
        f'[build-system]\nrequires = [{build}]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "p"\ndependencies = [{dependencies}]\n{more}\n'
        f"[project.optional-dependencies]\ntest = [{test}]\n"
    )
    return SourceTree({"pyproject.toml": text}, ("pyproject.toml", "p/__init__.py"))


def resolve(resolver: Resolver, tree: SourceTree, hints: AsvHints = NO_HINTS, day: datetime = DAY) -> Resolution:
    return resolver.resolve(tree, repository="o/p", commit_date=day, asv=hints)


def test_pins_are_the_newest_of_the_day_with_hashes(index: Index, tmp_path: Path) -> None:
    """A release of the day before is in, one of the day after is not; the lock holds a hash for each pin."""
    found = resolve(resolver(index, tmp_path), project('"numpy"'))
    assert found.pins == ("numpy==1.26", "pytest==8.0", "setuptools==69.0", "wheel==0.42")
    assert found.lock.count("--hash=sha256:") == len(found.pins)
    assert "--only-binary :all:" in found.lock
    assert (found.python_version, found.strategy, found.cutoff) == ("3.12", "newest-python", DAY)
    assert (found.build_requires, found.import_names, found.dropped) == (("setuptools", "wheel"), ("p",), ())


def test_releases_that_came_again_are_as_old_as_they_were(index: Index, tmp_path: Path) -> None:
    """Atomicwrites was deleted and uploaded again in 2022; without it, 2019 would have the runner of 2018."""
    day = datetime(2019, 10, 15, tzinfo=UTC)
    compiler = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path)
    found = compiler.compile(["old-runner"], python_version="3.8", cutoff=day)
    assert isinstance(found, Compiled) and found.pins == ("atomicwrites==1.3.0", "old-runner==5.2")
    alone = compiler.compile(["numpy"], python_version="3.11", cutoff=DAY)
    assert isinstance(alone, Compiled) and alone.pins == ("numpy==1.26",)


def test_the_cutoff_is_a_moment_in_utc(index: Index, tmp_path: Path) -> None:
    """A commit of 20:00 five hours west of Greenwich saw what was uploaded at midnight UTC."""
    local = datetime(2024, 3, 1, 20, tzinfo=timezone(timedelta(hours=-5)))
    found = resolve(resolver(index, tmp_path), project(), day=local)
    assert "pytest==9.0" in found.pins
    assert found.cutoff.utcoffset() == timedelta(0)


def test_an_environment_has_a_patch_of_its_python(index: Index, tmp_path: Path) -> None:
    """To uv 3.11 is 3.11.0, which a release that wants 3.11.1 is not for; what Debian's 3.11.2 wants is there, too."""
    below = "below-a-patch; python_full_version < '3.11.3'"
    found = resolve(resolver(index, tmp_path, ("3.11",)), project(f'"of-a-patch>=2", "{below}"'))
    assert {"of-a-patch==2.0", "below-a-patch==1.0"} <= set(found.pins)


def test_a_missing_wheel_selects_an_older_python(index: Index, tmp_path: Path) -> None:
    """Newest first; the log says why each newer one was refused."""
    found = resolve(resolver(index, tmp_path), project('"compiled"'))
    assert (found.python_version, found.strategy) == ("3.11", "older-python")
    assert "python 3.12: 4 requirements: refused: No solution found" in found.log
    assert "compiled" in found.log


def test_a_wheel_that_only_tests_want_selects_an_older_python_too(index: Index, tmp_path: Path) -> None:
    """More of the tests can run there, so it is tried before anything is dropped."""
    found = resolve(resolver(index, tmp_path), project(test='"compiled"'))
    assert (found.python_version, found.dropped) == ("3.11", ())


def test_a_release_from_before_an_extra_selects_an_older_python(index: Index, tmp_path: Path) -> None:
    """What uv would take for lack of a wheel is years old and has nothing of what was asked for."""
    found = resolve(resolver(index, tmp_path), project('"scripted[lua]"'))
    assert (found.python_version, found.strategy) == ("3.11", "older-python")
    assert {"scripted==2.26", "compiled==1.0"} < {*found.pins}
    assert "scripted==0.9: has no extra lua" in found.log
    beside = resolve(resolver(index, tmp_path), project('"scripted[lua]", "plain-now[security]"'))
    assert (beside.python_version, "plain-now==2.0" in beside.pins) == ("3.11", True)


def test_an_extra_that_is_no_more_selects_no_older_python(index: Index, tmp_path: Path) -> None:
    """Today's releases do without it; which Python runs them is another matter."""
    found = resolve(resolver(index, tmp_path), project('"plain-now[security]"'))
    assert "plain-now==2.0" in found.pins
    assert (found.python_version, found.strategy) == ("3.12", "newest-python")


def test_optional_requirements_give_way_one_by_one_with_reasons(index: Index, tmp_path: Path) -> None:
    """Unknown, in conflict, or never a wheel on a common Python: dropped; the rest of the group survives."""
    tree = project('"numpy"', test='"unheard-of", "picky", "old-numpy-user"')
    found = resolve(resolver(index, tmp_path), tree, AsvHints((), ("newest-only", "compiled-more")))
    reasons = {item.requirement: item.reason for item in found.dropped}
    assert "not found in the package registry" in reasons["unheard-of"]
    assert "numpy<1" in reasons["picky"]
    assert "old-numpy-user==1.0" in found.pins
    assert reasons.keys() == {"unheard-of", "picky", "compiled-more"}
    assert found.python_version == "3.12"
    assert all(f"left out {name}: " in found.log for name in reasons)


def test_what_is_only_guessed_gives_way_to_its_name(index: Index, tmp_path: Path) -> None:
    """The line of an extra that nothing can meet costs its bound, not the module that the tests import."""
    extra = '[project.optional-dependencies]\nfast = ["old-numpy-user==7"]\n'
    texts = {"pyproject.toml": f'[project]\nname = "p"\n{extra}', "tests/test_a.py": "import old_numpy_user\n"}
    found = resolve(resolver(index, tmp_path), SourceTree(texts, (*texts, "p/__init__.py")))
    assert "old-numpy-user==1.0" in found.pins
    assert [item.requirement for item in found.dropped] == ["old-numpy-user==7"]


def test_required_ones_never_give_way(index: Index, tmp_path: Path) -> None:
    """No environment is better than a wrong one; the message has every Python's reason."""
    with pytest.raises(Unsatisfiable) as caught:
        resolve(resolver(index, tmp_path), project('"picky"', test='"unheard-of"'))
    assert "as of 2024-03-01" in str(caught.value)
    with pytest.raises(Unsatisfiable) as caught:
        resolve(resolver(index, tmp_path, ("3.11", "3.12")), project('"compiled-more"'))
    assert all(f"python {version}: No solution found" in str(caught.value) for version in ("3.11", "3.12"))


def test_a_build_bound_on_numpy_gives_way_to_the_package(index: Index, tmp_path: Path) -> None:
    """One numpy for building and running: the bound that only the isolated build meant is dropped, with a reason."""
    tree = project('"numpy<2"', build='"setuptools", "numpy>=2.0rc1"')
    found = resolve(resolver(index, tmp_path), tree)
    assert "numpy==1.26" in found.pins
    assert [item.requirement for item in found.dropped] == ["numpy>=2.0rc1"]
    assert "numpy" in found.build_requires


def test_a_build_bound_does_not_fight_a_run_time_bound(index: Index, tmp_path: Path) -> None:
    """What runs the package wins, whether it or a dependency says so; the lock holds no such bound of the build."""
    tree = project('"setuptools>=60", "needs-cython"', build='"setuptools<60", "cython<3; python_version > \'3\'"')
    found = resolve(resolver(index, tmp_path), tree)
    assert {"setuptools==69.0", "cython==3.0"} <= {*found.pins} and {"cython", "setuptools"} <= {*found.build_requires}
    assert sorted(item.requirement for item in found.dropped) == ['cython<3; python_version > "3"', "setuptools<60"]
    assert all("you require" in item.reason for item in found.dropped)
    assert [line for line in found.lock.splitlines() if line.startswith("#bound")] == ["#bound setuptools>=60"]


def test_a_build_bound_holds_where_nothing_contradicts_it(index: Index, tmp_path: Path) -> None:
    """An optional requirement goes before it does."""
    tree = project('"setuptools"', build='"setuptools<60", "cython<3"', test='"needs-cython"')
    found = resolve(resolver(index, tmp_path), tree)
    assert {"setuptools==59.0", "cython==0.29"} <= {*found.pins}
    assert [item.requirement for item in found.dropped] == ["needs-cython"]


def test_a_release_candidate_is_taken_only_where_it_is_asked_for_and_needed(index: Index, tmp_path: Path) -> None:
    """Once the release is out, the candidate's bound is met by the release."""
    tree = project('"numpy>=2.0rc1"')
    assert "numpy==2.0rc1" in resolve(resolver(index, tmp_path), tree).pins
    assert "numpy==2.0" in resolve(resolver(index, tmp_path), tree, day=datetime(2024, 7, 1, tzinfo=UTC)).pins


def test_no_python_fits(index: Index, tmp_path: Path) -> None:
    """It says of each interpreter why not, and asks the index nothing."""
    tree = project(more='requires-python = "<3.10"')
    with pytest.raises(NoPythonFits, match=r"3\.11: requires-python is <3\.10"):
        resolve(resolver(index, tmp_path), tree)
    assert index.requests == []


def test_the_asv_configuration_chooses_among_the_pythons(index: Index, tmp_path: Path) -> None:
    """Python 3.10 and toolz in the matrix: 3.10 is chosen, an unknown toolz is dropped."""
    found = resolve(resolver(index, tmp_path), project(), AsvHints(("3.10",), ("toolz",)))
    assert (found.python_version, found.strategy) == ("3.10", "newest-python")
    assert [item.requirement for item in found.dropped] == ["toolz"]


def test_an_outage_is_no_answer(index: Index, tmp_path: Path) -> None:
    """An index out of order neither drops a requirement nor makes anything unsatisfiable."""
    index.broken = True
    impatient = script(tmp_path / "uv", "export UV_HTTP_RETRIES=0")
    broken = Resolver(PYTHONS, index_url=index.url, cache_dir=tmp_path / "cache", uv=impatient)
    with pytest.raises(IndexUnavailable, match="package index unavailable") as caught:
        resolve(broken, project('"numpy"', test='"picky"'))
    assert type(caught.value) is IndexUnavailable


def test_an_index_without_dates_is_named_as_the_cause(tmp_path: Path) -> None:
    """Nothing counts as published before the commit there; the message says so."""
    with (
        serving(
            [Release("pytest", "8.0", None), Release("setuptools", "69.0", None), Release("wheel", "1", None)]
        ) as index,
        pytest.raises(Unsatisfiable, match="no upload dates"),
    ):
        resolve(resolver(index, tmp_path), project())


def test_the_same_commit_gives_the_same_bytes(index: Index, tmp_path: Path) -> None:
    """Whatever was resolved in between, with a cold or a warm cache."""
    one, other = project('"numpy"', test='"picky", "compiled"'), project('"pytest<8"', test='"old-numpy-user"')
    first = resolver(index, tmp_path / "a")
    before = resolve(first, one).model_dump_json()
    between = resolve(first, other).model_dump_json()
    assert resolve(first, one).model_dump_json() == before
    assert resolve(resolver(index, tmp_path / "b"), other).model_dump_json() == between
    assert str(tmp_path) not in before


def test_each_log_line_is_told_as_it_is_written(index: Index, tmp_path: Path) -> None:
    """The listener hears exactly the log."""
    heard: list[str] = []
    found = resolver(index, tmp_path).resolve(
        project(), repository="o/p", commit_date=DAY, asv=NO_HINTS, log=heard.append
    )
    assert "".join(f"{line}\n" for line in heard) == found.log


def test_uv_sees_no_secret_and_no_configuration(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment is a short list; what lies in the current directory and in HOME has no say."""
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_planted")
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", "http://127.0.0.1:9/planted")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uv.toml").write_text('index-url = "http://127.0.0.1:9/planted"\n')
    (tmp_path / "requirements.txt").write_text("planted\n")
    seen = tmp_path / "seen"
    spy = script(tmp_path / "spy", f'/usr/bin/env > "{seen}"', f'/bin/pwd >> "{seen}"')
    before = set(tmp_path.iterdir())
    found = resolve(Resolver(PYTHONS, index_url=index.url, cache_dir=tmp_path / "cache", uv=spy), project())
    names = {line.split("=")[0] for line in seen.read_text().splitlines() if "=" in line}
    assert found.pins
    assert names <= {"PATH", "HOME", "LANG", "UV_CACHE_DIR", "PYTHONHOME", "PWD", "SHLVL", "_", "OLDPWD"}
    assert "planted" not in seen.read_text()
    assert str(tmp_path) not in seen.read_text().splitlines()[-1]
    assert set(tmp_path.iterdir()) - before == {seen, tmp_path / "cache"}


def test_the_lock_says_what_the_project_asks_of_its_pins(index: Index, tmp_path: Path) -> None:
    """Run and build; what tests ask may give way, and what may be any version is not said."""
    found = resolve(resolver(index, tmp_path), project('"numpy<2"', test='"pytest>7"', build='"setuptools>60"'))
    assert found.lock.endswith("#bound numpy<2\n#bound setuptools>60\n") and found.lock.count("#bound ") == 2
