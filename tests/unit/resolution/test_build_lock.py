"""What builds of sources ask for together."""

from datetime import UTC, datetime
from pathlib import Path

from datasmith.process import find_uv
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.build_lock import build_needs, extended
from datasmith.resolution.uv import Compiled, UvCompiler
from tests.integration.loopback_index import Release, serving


def release(*build_requires: str) -> SourceRelease:
    return SourceRelease("x", "1.0", (), build_requires)


def test_the_needs_of_all_builds_are_put_together() -> None:
    """Each once, in a fixed order."""
    found = build_needs([release("setuptools", "pbr"), release("setuptools", "wheel>1")], ["numpy==1.0"])
    assert found == ("setuptools", "pbr", "wheel>1")


def test_numpy_is_that_of_the_environment() -> None:
    """What is compiled against another one cannot be imported there; without one, the newest of the day will do."""
    sources = [release("setuptools", "numpy>=2.0", "oldest-supported-numpy")]
    assert build_needs(sources, ["numpy==1.24.4", "numpydoc==1"]) == ("setuptools", "numpy==1.24.4")
    assert build_needs(sources, ["scipy==1.0"]) == ("setuptools", "numpy")


def test_bounds_that_contradict_give_way_but_not_the_numpy_of_the_environment(tmp_path: Path) -> None:
    """The others are the newest of the day; what is compiled still fits where it is imported."""
    needs = [release("setuptools<50", "numpy"), release("setuptools>=60", "oldest-supported-numpy")]
    found = Compiled("numpy==1.21\nx==1.0\n", ("numpy==1.21", "x==1.0"), tuple(needs))
    offered = [Release(name, version, "2022-01-01") for name, version in (
        ("setuptools", "49.0"), ("setuptools", "60.0"), ("numpy", "1.21"), ("numpy", "1.22"),
    )]  # fmt: skip
    said = list[str]()
    with serving(offered) as index:
        uv = UvCompiler(find_uv(), index_url=index.url, cache_dir=tmp_path)
        lock = extended(uv, found, "3.11", datetime(2023, 1, 1, tzinfo=UTC), said.append)
    assert "#build numpy==1.21 " in lock and "#build setuptools==60.0 " in lock
    assert said[0] == "sources are built with the newest of the day of setuptools: their bounds contradict each other"
