"""Dependencies that a build computes: it is asked on every engine, cut off; then they are resolved like any others."""

import re
import socket
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from datasmith.errors import CommandTimedOut, IndexUnavailable
from datasmith.resolution import hook
from datasmith.resolution.base import AsvHints, Resolution, SourceTree
from datasmith.resolution.hook import MetadataHook
from datasmith.resolution.resolver import Resolver
from tests.conformance.engines import every_engine
from tests.conformance.indexed import opened
from tests.integration.loopback_index import Index, Release, serving

DAY = datetime(2024, 3, 1, tzinfo=UTC)
RELEASES = [
    Release(name, "1.0", "2023-01-01", modules=(name.replace("-", "_"),))
    for name in ("build-tool", "helper", "other", "lister", "setuptools", "wheel", "pytest", "fallback")
]
PYPROJECT = """[build-system]
requires = ["build-tool"]
build-backend = "own_backend:Backend.hooks"
backend-path = ["build_scripts"]
[project]
name = "p"
version = "1.0"
dynamic = ["dependencies"]
"""
WRITE = """
        text = "Metadata-Version: 2.1\\nName: p\\nVersion: 1.0\\n"
        for line in pathlib.Path("needs.list").read_text().split():
            text += "Requires-Dist: " + line + "\\n"
        text += 'Requires-Dist: lister; python_version > "3" and extra == "test"\\n'
"""
HEAD = "import pathlib, socket, sys, time, zipfile, build_tool\nclass Backend:\n    class hooks:\n"
PREPARE = f"""        def prepare_metadata_for_build_wheel(place, settings=None):
    {WRITE.replace(chr(10), chr(10) + "    ")}
            info = pathlib.Path(place) / "p-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(text)
            return info.name
"""
BUILD = f"""        def build_wheel(place, settings=None, metadata=None):
    {WRITE.replace(chr(10), chr(10) + "    ")}
            with zipfile.ZipFile(pathlib.Path(place) / "p.whl", "w") as wheel:
                wheel.writestr("p-1.0.dist-info/METADATA", text)
            return "p.whl"
"""
NAMING = f"""import tempfile
{HEAD}        def prepare_metadata_for_build_wheel(place, settings=None):
            raise SystemExit(f"neither {{place}} nor {{tempfile.mkdtemp()}}")
"""
"""Names of temporary places are never the same twice; a log is, for the same commit."""


@pytest.fixture(params=every_engine)
def engine_of(request: pytest.FixtureRequest) -> str:
    """The name of an engine."""
    return str(request.param)


@pytest.fixture
def index() -> Iterator[Index]:
    with serving(RELEASES) as running:
        yield running


def project(backend: str, **more: str) -> dict[str, str]:
    texts = {"pyproject.toml": PYPROJECT, "build_scripts/own_backend.py": backend, "p/__init__.py": ""}
    return {
        **texts,
        "needs.list": "helper other>=1",
        **{name.replace("_txt", ".txt"): text for name, text in more.items()},
    }


def archived(texts: Mapping[str, str], place: Path) -> Callable[[], AbstractContextManager[Path]]:
    """Opens the texts as a tar."""

    @contextmanager
    def source() -> Iterator[Path]:
        with tarfile.open(place / "repo.tar", "w") as archive:
            for path, text in texts.items():
                member = tarfile.TarInfo(path)
                member.size = len(text.encode())
                archive.addfile(member, BytesIO(text.encode()))
        yield place / "repo.tar"

    return source


def resolve(
    engine_of: str, index: Index, place: Path, texts: Mapping[str, str], builds_from: Index | None = None
) -> Resolution:
    engine = opened(engine_of, place, builds_from or index)
    asked = MetadataHook(engine, namespace="fc-conformance", logs=place / "logs")
    resolver = Resolver(engine.pythons(), index_url=index.url, cache_dir=place / "uv", hook=asked)
    tree = SourceTree(texts, tuple(texts))
    source = archived(texts, place)
    return resolver.resolve(tree, repository="o/p", commit_date=DAY, asv=AsvHints(), source=source)


@pytest.mark.parametrize("way", [PREPARE, BUILD])
def test_a_build_says_what_it_depends_on(engine_of: str, index: Index, tmp_path: Path, way: str) -> None:
    """By the hook for metadata, or out of its wheel; extras come along, and the log tells."""
    found = resolve(engine_of, index, tmp_path, project(HEAD + way))
    assert {"helper==1.0", "other==1.0", "lister==1.0"} <= set(found.pins)
    assert "the build, asked in the sandbox, depends on helper, other>=1" in found.log


def test_a_build_is_asked_for_extras_that_it_computes(engine_of: str, index: Index, tmp_path: Path) -> None:
    """Though its dependencies are listed."""
    texts = project(HEAD + PREPARE)
    texts["pyproject.toml"] = PYPROJECT.replace('["dependencies"]', '["optional-dependencies"]\ndependencies = []')
    found = resolve(engine_of, index, tmp_path, texts)
    assert "lister==1.0" in found.pins and "helper==1.0" not in found.pins
    assert "known to the build alone" not in found.log


def test_the_build_reaches_nothing(engine_of: str, index: Index, tmp_path: Path) -> None:
    """Neither a service on this machine nor its files; what it would leave is gone with the sandbox."""
    trace = Path("/tmp/fc-test-a-build-was-run")
    trace.unlink(missing_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = (
            f"open({str(trace)!r}, 'w').close()\n"
            f"try:\n    socket.create_connection(('127.0.0.1', {port}), timeout=2)\n"
            "except OSError:\n    pass\nelse:\n    raise SystemExit('reached')\n"
        )
        texts = project(HEAD.replace("class Backend", reach + "class Backend") + PREPARE)
        assert "helper==1.0" in resolve(engine_of, index, tmp_path, texts).pins
    assert not trace.exists()


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("raise SystemExit('I will not')", "its build fails: I will not"),
        ("import os\nos._exit(0)", "its build leaves no metadata"),
        (NAMING, "its build fails: neither /workspace/cache/METADATA.d nor /tmp/tmp"),
    ],
)
def test_a_build_that_says_nothing_costs_nothing_else(
    engine_of: str, index: Index, tmp_path: Path, backend: str, reason: str
) -> None:
    """The project's requirements.txt stands in, as where nobody can be asked."""
    found = resolve(engine_of, index, tmp_path, project(backend, requirements_txt="fallback\n"))
    assert "fallback==1.0" in found.pins
    assert re.search(f"the build does not say what it depends on: {reason}(:|$)", found.log, re.MULTILINE)
    assert "the dependencies are known to the build alone, which did not say them" in found.log


def test_an_index_that_is_gone_when_the_environment_is_made_is_an_outage(
    engine_of: str, index: Index, tmp_path: Path
) -> None:
    """It is no failed build, for which requirements.txt would stand in: the commit would have two sets of pins."""
    gone = Index("http://127.0.0.1:9/simple")
    texts = project(HEAD + PREPARE, requirements_txt="fallback\n")
    # An environment that no other test has made: engines keep what they have built.
    texts["pyproject.toml"] = PYPROJECT.replace('["build-tool"]', '["build-tool", "lister"]')
    said = r"docker_build_env\.sh: what it downloads from is unavailable: .* \(FC_INDEX_URL names another one"
    with pytest.raises(IndexUnavailable, match=said):
        resolve(engine_of, index, tmp_path, texts, builds_from=gone)


def test_a_build_that_takes_too_long_is_no_answer(
    engine_of: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a quieter machine it might have answered: nothing stands in, or the commit would have two sets of pins."""
    monkeypatch.setattr(hook, "TIMEOUT_S", 10.0)
    with pytest.raises(CommandTimedOut, match="within 10 s"):
        resolve(engine_of, index, tmp_path, project("import time\ntime.sleep(60)", requirements_txt="fallback\n"))


def test_nobody_is_asked_what_the_files_say(index: Index, tmp_path: Path) -> None:
    """Static dependencies need no sandbox; without a hook nothing is run either."""

    def forbidden() -> AbstractContextManager[Path]:
        raise AssertionError("the tree was asked for")

    listed = PYPROJECT.replace('dynamic = ["dependencies"]', 'dependencies = ["helper"]')
    static = {**project(""), "pyproject.toml": listed}
    engine = opened("bubblewrap", tmp_path, index)
    asked = MetadataHook(engine, namespace="fc-conformance", logs=tmp_path / "logs")
    for texts, hooked, left in ((static, asked, False), (project("", requirements_txt="helper"), None, True)):
        resolver = Resolver(("3.11",), index_url=index.url, cache_dir=tmp_path / "uv", hook=hooked)
        tree = SourceTree(texts, tuple(texts))
        found = resolver.resolve(tree, repository="o/p", commit_date=DAY, asv=AsvHints(), source=forbidden)
        assert "helper==1.0" in found.pins
        assert ("the dependencies are known to the build alone, which is not run here" in found.log) is left
