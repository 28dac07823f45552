"""A package that was never a wheel: locked, fetched, and built on every engine, cut off and as the sandbox's user."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.docker import parts
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.environment import SYSTEM_PATH
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.errors import BuildFailed
from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.resolution.resolver import Resolver
from tests.conformance.engines import LONG, every_engine, said
from tests.conformance.indexed import opened
from tests.integration.loopback_index import Index, Release, Sdist, serving

DAY = datetime(2024, 3, 1, tzinfo=UTC)
BACKEND = '''
import os, pathlib, socket, zipfile

def build_wheel(directory, config=None, metadata=None):
    """Writes a wheel whose module tells what its build could reach."""
    import build_tool
    told = {"uid": os.getuid(), "tool": build_tool.__name__, "reached": []}
    for port in (PORT,):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            told["reached"].append(port)
        except OSError:
            pass
    told["environment"] = sorted(name for name in os.environ if "TOKEN" in name or "KEY" in name)
    info = "homegrown-1.0.dist-info"
    with zipfile.ZipFile(pathlib.Path(directory) / "homegrown-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(zipfile.ZipInfo("homegrown.py"), f"TOLD = {told!r}\\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/METADATA"), "Metadata-Version: 2.1\\nName: homegrown\\nVersion: 1.0\\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/WHEEL"),
                       "Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
    return "homegrown-1.0-py3-none-any.whl"
'''
PYPROJECT = (
    '[build-system]\nrequires = ["build-tool"]\nbuild-backend = "flit_core_of_its_own"\nbackend-path = ["."]\n'
    '[project]\nname = "homegrown"\nversion = "1.0"\ndependencies = ["helper"]\n'
)


@pytest.fixture(params=every_engine)
def engine_of(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of an engine."""
    return str(request.param)


def releases(port: int, backend: str = BACKEND) -> list[Release | Sdist]:
    """What the index holds: wheels of what builds need, and the sources."""
    texts = {"pyproject.toml": PYPROJECT, "flit_core_of_its_own.py": backend.replace("PORT", str(port))}
    wheels = [
        Release(name, "1.0", "2023-01-01", modules=(name.replace("-", "_"),))
        for name in ("build-tool", "helper", "flit-core", "setuptools", "wheel", "pytest")
    ]
    return [*wheels, Sdist("homegrown", "1.0", "2023-01-01", texts)]


def port_of(index: Index) -> int:
    """Where an index listens."""
    return int(index.url.split(":")[2].split("/")[0])


def plan(engine: ContainerEngine, index: Index, place: Path, *needs: str) -> ImagePlan:
    """An image of a project that needs the sources, or what is named."""
    wanted = list(needs) or ["homegrown"]
    tree = SourceTree({"pyproject.toml": f'[project]\nname = "p"\ndependencies = {wanted}\n'}, ("pyproject.toml",))
    resolver = Resolver(engine.pythons(), index_url=index.url, cache_dir=place / "uv")
    found = resolver.resolve(tree, repository="o/p", commit_date=DAY, asv=AsvHints())
    assert found.sources == (() if needs else ("homegrown==1.0",))
    return ImagePlan(
        "o", "sources", "1", found.python_version, (), DockerContext.default(lock=found.lock), place / "repo.tar"
    )


def test_sources_are_built_cut_off_and_as_nobody(engine_of: str, tmp_path: Path) -> None:
    """The index that served the download cannot be reached while the build runs; nothing of the way stays behind."""
    with serving([]) as listener, serving(releases(port_of(listener))) as index:
        engine = opened(engine_of, tmp_path, index)
        planned, images = plan(engine, index, tmp_path), ImageManager(engine, namespace="fc-conformance")
        log = tmp_path / "log"
        base = images.build_base((), planned.context, log=log)
        env = images.build_env(base, planned, log=log)
        assert images.build_env(base, planned, log=log).digest == env.digest
        with engine.start(env) as container:
            told = said(container, "python -c 'import homegrown; print(homegrown.TOLD)'")
            freeze = said(container, "uv pip freeze --offline --python /opt/env/bin/python").split()
            left = said(container, "find /opt/env -name '*fc-sources*' -o -name '*build_tool*'")
    assert told == str({"uid": 1000, "tool": "build_tool", "reached": [], "environment": []})
    assert freeze == [f"{name}==1.0" for name in ("helper", "homegrown", "pytest", "setuptools", "wheel")]
    assert left == ""


def test_a_build_that_fails_is_named(engine_of: str, tmp_path: Path) -> None:
    """The script of this step is to blame, with what the build said."""
    broken = "def build_wheel(*_, **__): raise SystemExit('no compiler for homegrown')\n"
    with serving(releases(1, broken)) as index:
        engine = opened(engine_of, tmp_path, index)
        planned, images = plan(engine, index, tmp_path), ImageManager(engine, namespace="fc-conformance")
        base = images.build_base((), planned.context, log=tmp_path / "log")
        with pytest.raises(BuildFailed) as caught:
            images.build_env(base, planned, log=tmp_path / "log")
    assert caught.value.stage == "docker_build_sources.sh"
    assert "no compiler for homegrown" in caught.value.log_tail


PROGRAMS = "bash sh env find sort comm cut grep mktemp rm id chown chmod cp mkdir uv"
"""What scripts of builds call, or might."""


def test_no_program_of_a_wheel_is_run_while_it_is_installed(
    engine_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code of packages is not run where there is a network, whatever their programs are called; on docker they lie in a
    layer of their own, below the one that goes on."""
    monkeypatch.setattr(parts, "LARGE", ("lying",))
    lies = tuple((name, f"#!/bin/sh\necho {name} >>/opt/env/was-run\n") for name in PROGRAMS.split())
    index_of = [each for each in releases(1) if each.name != "homegrown"]
    with serving([*index_of, Release("lying", "1.0", "2023-01-01", programs=lies)]) as index:
        engine = opened(engine_of, tmp_path, index)
        planned = plan(engine, index, tmp_path, "lying", "helper")
        images = ImageManager(engine, namespace="fc-conformance")
        env = images.build_env(
            images.build_base((), planned.context, log=tmp_path / "log"), planned, log=tmp_path / "log"
        )
        with engine.start(env) as container:
            given = {"PATH": SYSTEM_PATH}
            found = container.exec(["ls", "/opt/env", "/opt/env/bin"], timeout=LONG, env=given).text.split()
    assert set(PROGRAMS.split()) <= set(found) and "was-run" not in found


@pytest.mark.engine
def test_cold_and_warm_builds_give_the_same_tree(tmp_path: Path) -> None:
    """Two caches that know nothing of each other: one digest, which covers every file of the environment."""
    with serving(releases(1)) as index:
        digests = []
        for place in (tmp_path / "one", tmp_path / "other"):
            engine = opened("bubblewrap", place, index)
            planned, images = plan(engine, index, place), ImageManager(engine, namespace="fc-conformance")
            base = images.build_base((), planned.context, log=tmp_path / "log")
            digests.append(images.build_env(base, planned, log=tmp_path / "log").digest)
    assert digests[0] == digests[1]
