"""What builds of sources ask for together."""

from datasmith.resolution.base import SourceRelease
from datasmith.resolution.build_lock import build_needs


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
