"""A whole image of a small package, from a lock with hashes to a sealed tree whose tests run, on every engine."""

import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker import seal
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import WORKDIR
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.docker.verifiers import PytestVerifier, SmokeVerifier, run_tests
from tests.conformance.engines import Built
from tests.sandboxes import GIT_ENV, committed

PACKAGE: Mapping[str, bytes] = {
    "pyproject.toml": b"""[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "adder"
version = "1.0"
""",
    "src/adder/__init__.py": b"def add(a, b):\n    return a + b\n",
    "tests/test_adder.py": b"""from adder import add
import pytest
def test_add(): assert add(1, 2) == 3
def test_wrong(): assert add(1, 2) == 4
@pytest.mark.skip
def test_later(): pass
""",
}
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={junit}", "tests")


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Locked wheels, with hashes, of what the package needs to be built and tested."""
    place = tmp_path_factory.mktemp("lock")
    (place / "in.txt").write_text("setuptools==80.9.0\npytest==8.4.2\n")
    words = [str(process.find_uv()), "pip", "compile", "--quiet", "--generate-hashes", "--only-binary=:all:"]
    done = process.run(
        [*words, "--no-header", "--python-version", "3.11", "in.txt", "-o", "lock.txt"], cwd=place, timeout=120
    )
    assert done.ok, done.error_text
    return (place / "lock.txt").read_text()


def test_an_image_is_built_sealed_and_tested(built: Built, lock: str, tmp_path: Path) -> None:
    """The package imports, the seal holds for exactly this tree, and each test has its own state."""
    tree = committed(tmp_path / "tree", PACKAGE)
    base_tree = process.run(["git", "rev-parse", "HEAD^{tree}"], cwd=tree, env=GIT_ENV).text.strip()
    with tarfile.open(tmp_path / "repo.tar", "w") as archive:
        archive.add(tree, arcname=".")
    plan = ImagePlan(
        owner="Own",
        repo="Adder",
        tag="1",
        python_version=built.engine.pythons()[-1],
        apt_packages=(),
        context=DockerContext.default(lock=lock),
        source=tmp_path / "repo.tar",
        build_args={"FC_IMPORT_NAMES": "adder"},
    )
    images = ImageManager(built.engine, namespace="fc-conformance")
    image = images.build(plan, log=tmp_path / "log")
    assert images.build(plan, log=tmp_path / "log").digest == image.digest
    container = built.engine.start(image)
    with container.freeze() as frozen:
        assert SmokeVerifier("adder").verify(frozen).ok
        assert not SmokeVerifier("no_such_module").verify(frozen).ok
        report = seal.check(frozen, fix=seal.Fix(frozenset({"0" * 40})), base_tree=base_tree)
        assert report.ok, report.problems
        assert seal.check(frozen, base_tree="0" * 40).problems
        tests = run_tests(frozen, PYTEST, timeout=120)
        assert dict(tests.outcomes) == {
            "tests.test_adder::test_add": "passed",
            "tests.test_adder::test_wrong": "failed",
            "tests.test_adder::test_later": "skipped",
        }
        assert not PytestVerifier(PYTEST, timeout=120).verify(frozen).ok
        assert PytestVerifier((*PYTEST[:-1], "tests/test_adder.py::test_add"), timeout=120).verify(frozen).ok
        status = frozen.exec(["git", "status", "--porcelain"], timeout=60, cwd=WORKDIR)
        assert (status.rc, status.text) == (0, "")
    for place in ("/tmp/uv-cache", "/opt/uv"):
        with built.engine.start(image) as again:
            assert not again.exec(["test", "-e", place], timeout=60, cwd="/").ok
