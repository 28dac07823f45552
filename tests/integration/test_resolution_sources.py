"""Releases that were never wheels: resolved with the real uv against a dated index, built nowhere near the host."""

import platform
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import IndexUnavailable, Unsatisfiable
from datasmith.process import find_uv
from datasmith.resolution.base import AsvHints, Resolution, SourceRelease, SourceTree
from datasmith.resolution.resolver import Resolver
from datasmith.resolution.uv import UvCompiler
from tests.integration.loopback_index import Index, Release, Sdist, serving

DAY = datetime(2024, 3, 1, tzinfo=UTC)
TRACE = Path("/tmp/fc-test-an-sdist-was-run")


def sources(name: str, version: str, requires: str = "", *, day: str = "2023-01-01", more: str = "") -> Sdist:
    """A release whose setup.py would leave a trace."""
    setup = (
        f"open({str(TRACE)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name={name!r}, version={version!r})\n"
    )
    egg = f"{name.replace('-', '_')}.egg-info"
    return Sdist(name, version, day, {"setup.py": setup + more, f"{egg}/PKG-INFO": "", f"{egg}/requires.txt": requires})


def only_python(version: str) -> str:
    tag = "cp" + version.replace(".", "")
    return f"{tag}-{tag}-manylinux2014_{platform.machine()}"


RELEASES: tuple[Release | Sdist, ...] = (
    Release("pytest", "8.0", "2024-01-01"),
    Release("setuptools", "69.0", "2023-12-01"),
    Release("setuptools", "57.0", "2021-12-01"),
    Release("setuptools", "70.0", "2024-06-01"),
    Release("wheel", "0.42", "2023-12-01"),
    Release("numpy", "1.26", "2023-09-01"),
    Release("numpy", "1.24", "2022-09-01"),
    sources("pure", "0.1", "old-dependency\n", day="2020-01-01"),
    sources("pure", "1.0", "numpy<1.25\n\n[extra]\nhelper\n"),
    sources("pure", "2.0", "numpy\n", day="2024-03-02"),
    Release("helper", "1.0", "2023-01-01"),
    Release("needs-pure", "1.0", "2023-01-01", ("pure[extra]",)),
    # Wheels since 2.0; who wants less gets sources.
    sources("late", "1.0"),
    Release("late", "2.0", "2023-06-01"),
    Release("wants-late-one", "1.0", "2023-01-01", ("late<2",)),
    # A wheel for an older Python goes before sources.
    sources("older", "1.0"),
    Release("older", "1.0", "2023-01-01", tag=only_python("3.10")),
    Sdist("compiling", "1.0", "2023-01-01", {"setup.py": "setup(ext_modules=[Extension('c', ['c.c'])])", "c.c": ""}),
    Sdist("computing", "1.0", "2023-01-01", {"setup.py": "setup(install_requires=read())"}),
    sources("two-to-three", "1.0", more="setup(use_2to3=True)"),
    Sdist(
        "numeric",
        "1.0",
        "2023-01-01",
        {
            "pyproject.toml": '[build-system]\nrequires = ["setuptools", "oldest-supported-numpy"]\n'
            '[project]\nname = "numeric"\ndependencies = ["numpy<1.25"]\n'
        },
    ),
)


@pytest.fixture
def index() -> Iterator[Index]:
    TRACE.unlink(missing_ok=True)
    with serving(RELEASES) as running:
        yield running
    assert not TRACE.exists(), "a setup.py was run on the host"


def resolve(index: Index, cache: Path, dependencies: str, *, asv: tuple[str, ...] = ()) -> Resolution:
    text = f'[build-system]\nrequires = ["setuptools"]\n[project]\nname = "p"\ndependencies = [{dependencies}]\n'
    tree = SourceTree({"pyproject.toml": text}, ("pyproject.toml", "p/__init__.py"))
    resolver = Resolver(("3.10", "3.11"), index_url=index.url, cache_dir=cache)
    return resolver.resolve(tree, repository="o/p", commit_date=DAY, asv=AsvHints((), asv))


def test_what_was_never_a_wheel_is_locked_from_sources(index: Index, tmp_path: Path) -> None:
    """The newest of the day, with what its egg-info asks for; hashes and the build's own wheels stand in the lock."""
    found = resolve(index, tmp_path, '"pure"')
    assert found.sources == ("pure==1.0",)
    assert {"pure==1.0", "numpy==1.24"} <= set(found.pins)
    head, _, tail = found.lock.partition("#build ")
    assert "--no-binary pure\n--only-binary :all:" in head
    assert head.count("--hash=sha256:") == len(found.pins)
    assert tail.count("--hash=sha256:") == 2
    assert "setuptools==69.0" in tail and "wheel==0.42" in tail
    assert "pure==1.0: never a wheel; its sources are built in the sandbox" in found.log
    assert "sources are built with setuptools==69.0, wheel==0.42" in found.log


def test_a_dependency_of_a_dependency_may_be_from_sources(index: Index, tmp_path: Path) -> None:
    """With the extra that is asked of it."""
    found = resolve(index, tmp_path, '"needs-pure"')
    assert (found.sources, "helper==1.0" in found.pins) == (("pure==1.0",), True)


def test_wheels_go_first(index: Index, tmp_path: Path) -> None:
    """A newer release with a wheel, and an older Python with one; sources only where neither is what is asked for."""
    assert resolve(index, tmp_path, '"late"').sources == ()
    assert resolve(index, tmp_path, '"late<2"').sources == ("late==1.0",)
    assert resolve(index, tmp_path, '"wants-late-one"').sources == ("late==1.0",)
    older = resolve(index, tmp_path, '"older"')
    assert (older.python_version, older.sources) == ("3.10", ())


def test_optional_sources_that_must_be_compiled_give_way(index: Index, tmp_path: Path) -> None:
    """A required one is built, with what Debian gives for it; for the asv matrix alone the risk is not taken."""
    needed = resolve(index, tmp_path, '"compiling"')
    assert (needed.sources, needed.apt_packages) == (("compiling==1.0",), ("build-essential",))
    spared = resolve(index, tmp_path, "", asv=("compiling", "pure"))
    assert (spared.sources, [item.requirement for item in spared.dropped]) == (("pure==1.0",), ["compiling"])
    assert "has sources to compile, and can be done without" in spared.log


def test_computed_dependencies_are_refused_with_the_reason(index: Index, tmp_path: Path) -> None:
    """Nobody knows what it needs without running it."""
    with pytest.raises(Unsatisfiable, match="computing"):
        resolve(index, tmp_path, '"computing"')


def test_builds_get_what_they_can_work_with(index: Index, tmp_path: Path) -> None:
    """An old setuptools for 2to3; the numpy of the environment for what is compiled against it."""
    assert "#build setuptools==57.0" in resolve(index, tmp_path, '"two-to-three"').lock
    found = resolve(index, tmp_path, '"numeric"')
    assert "#build numpy==1.24" in found.lock and "numpy==1.24" in found.pins


def test_bounds_of_builds_that_contradict_each_other_are_let_go(index: Index, tmp_path: Path) -> None:
    """One environment builds all sources: then the newest of the day do, and the log says so."""
    contradicting = Sdist(
        "modern", "1.0", "2023-01-01",
        {"pyproject.toml": '[build-system]\nrequires = ["setuptools>=60"]\n[project]\nname = "modern"\n'},
    )  # fmt: skip
    with serving([*RELEASES, contradicting]) as both:
        found = resolve(both, tmp_path, '"two-to-three", "modern"')
    assert "#build setuptools==69.0" in found.lock
    assert "their bounds contradict each other" in found.log


def test_the_same_commit_gives_the_same_bytes(index: Index, tmp_path: Path) -> None:
    """Whether its archives were read before or not; a second time none is downloaded."""
    first = resolve(index, tmp_path / "a", '"needs-pure", "late<2"').model_dump_json()
    index.requests.clear()
    assert resolve(index, tmp_path / "a", '"needs-pure", "late<2"').model_dump_json() == first
    assert not [path for path in index.requests if path.endswith(".tar.gz")]
    assert resolve(index, tmp_path / "b", '"needs-pure", "late<2"').model_dump_json() == first


def test_what_is_kept_is_written_beside_other_processes(index: Index, tmp_path: Path) -> None:
    """Threads of processes that were forked are called the same: what another one is writing stays as it is."""
    resolve(index, tmp_path / "a", '"pure"')
    kept = [path.name for path in (tmp_path / "a" / "read-sdists").iterdir()]
    drafts = [tmp_path / "b" / "read-sdists" / Path(name).with_suffix(f".{threading.get_ident()}") for name in kept]
    drafts[0].parent.mkdir(parents=True)
    for draft in drafts:
        draft.write_text("half of")
    resolve(index, tmp_path / "b", '"pure"')
    assert [draft.read_text() for draft in drafts] == ["half of"] * len(drafts)
    assert {path.name for path in drafts[0].parent.iterdir()} == {*kept, *(draft.name for draft in drafts)}


def test_an_archive_that_is_not_what_the_page_says_is_no_answer(index: Index, tmp_path: Path) -> None:
    """An older release in its place would depend on the day's weather."""
    index.spoiled.add("/files/pure-1.0.tar.gz")
    with pytest.raises(IndexUnavailable, match=r"pure-1\.0\.tar\.gz is not what its page says"):
        resolve(index, tmp_path, '"pure"')


def test_an_outage_while_sources_are_read_is_no_answer(index: Index, tmp_path: Path) -> None:
    """Neither a refusal nor a dropped requirement."""
    index.failing.add("/files/pure-1.0.tar.gz")
    with pytest.raises(IndexUnavailable, match=r"pure-1\.0\.tar\.gz: status 503"):
        resolve(index, tmp_path, '"pure"')


def backend(name: str) -> Sdist:
    """Sources that need nothing to be built: their own backend would leave a trace."""
    text = '[build-system]\nrequires = []\nbuild-backend = "trace"\nbackend-path = ["."]\n'
    trace = f"open({str(TRACE)!r}, 'w').close()\n"
    egg = {f"{name}.egg-info/PKG-INFO": "", f"{name}.egg-info/requires.txt": ""}
    told = f'[project]\nname = "{name}"\ndynamic = ["version"]\n'
    return Sdist(name, "1.0", "2023-01-01", {"pyproject.toml": text + told, "trace.py": trace, **egg})


@pytest.mark.usefixtures("index")
def test_no_address_of_a_repository_is_asked(tmp_path: Path) -> None:
    """Releases of the same names stand in, of an admitted project too, whose archive uv would build at an address."""
    with serving([*RELEASES, backend("traced"), Release("evil", "1.0", "2023-01-01", ("traced",))]) as served:
        files = served.url.replace("/simple", "/files").replace("://", ":/")
        lines = f'"traced", "evil @ {files}/evil-1.0-py3-none-any.whl", "traced @ {files}/traced-1.0.tar.gz"'
        found = resolve(served, tmp_path, lines)
    assert {"evil==1.0", "traced==1.0"} < set(found.pins) and found.sources == ("traced==1.0",)
    assert sorted(item.requirement.partition(" @ ")[0] for item in found.dropped) == ["evil", "traced"]
    assert " @ " not in found.lock


@pytest.mark.usefixtures("index")
def test_no_address_of_a_release_is_asked(tmp_path: Path) -> None:
    """Of an index that lets releases name addresses: uv takes none, be the project admitted from sources or not."""
    with serving([backend("elsewhere")]) as other:
        address = other.url.replace("/simple", "/files/elsewhere-1.0.tar.gz")
        releases = [*RELEASES, backend("elsewhere"), Release("needy", "1.0", "2023-01-01", (f"elsewhere @ {address}",))]
        with serving(releases) as served, pytest.raises(Unsatisfiable, match="included as a URL dependency"):
            resolve(served, tmp_path, '"elsewhere", "needy"')
        assert other.requests == []


@pytest.mark.usefixtures("index")
def test_no_build_gets_to_its_first_line(tmp_path: Path) -> None:
    """Should uv ever begin one, as it does here for an address of what is admitted, no Python starts for it."""
    with serving([backend("traced")]) as served:
        address = served.url.replace("/simple", "/files/traced-1.0.tar.gz")
        compiler = UvCompiler(find_uv(), index_url=served.url, cache_dir=tmp_path)
        words = compiler._command("3.11", DAY)
        admitted = [SourceRelease("traced", "2.0", (), ())]
        done = compiler._run(words, [f"traced @ {address}"], admitted, "", timeout=60)
    assert not done.ok and "Failed to build" in done.error_text and "PYTHONHOME" in done.error_text
