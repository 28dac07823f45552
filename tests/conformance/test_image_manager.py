"""A whole image of a small package, from a lock with hashes to a sealed tree whose tests run, on every engine."""

import itertools
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker import cli_build, parts, seal
from datasmith.docker.archive import unpack
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, ContainerEngine, ImageRef
from datasmith.docker.images import ImageManager, ImagePlan, root_suffix, short
from datasmith.docker.trees import tree_digest
from datasmith.docker.verifiers import PytestVerifier, SmokeVerifier, run_tests
from datasmith.errors import BuildFailed, ConfigError
from tests.conformance.engines import ENGINES, Built, every_builder, said
from tests.sandboxes import GIT_ENV, committed
from tests.support.base_image import ensure_base_image, podman_environment

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
COMPILED: Mapping[str, bytes] = {
    "setup.py": b"""from setuptools import Extension, setup
setup(ext_modules=[Extension("adder._fast", ["src/adder/_fast.c"])])
""",
    "src/adder/_fast.c": b"""#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast"};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
""",
}
"""A module in C beside it."""
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


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package as a tar of a git tree."""
    return packed(tmp_path / "tree", PACKAGE)


def packed(place: Path, files: Mapping[str, bytes]) -> Path:
    """Files as a tar of a git tree, which is made at `place`."""
    target = place.with_name(f"{place.name}.tar")
    with tarfile.open(target, "w") as archive:
        archive.add(committed(place, files), arcname=".")
    return target


def plan_of(context: DockerContext, source: Path, tag: str = "1", **args: str) -> ImagePlan:
    """A plan for the package."""
    given = {"FC_IMPORT_NAMES": "adder", **args}
    return ImagePlan("Own", "Adder", tag, "3.11", (), context, source, given)


def content(engine: ContainerEngine, image: ImageRef, place: Path) -> dict[str, str]:
    """What an image holds of ours: the packages by version, and digests of the environment and of the tree."""
    place.mkdir()
    with engine.start(image) as container:
        found = {"freeze": said(container, "uv pip freeze --python /opt/env/bin/python")}
        assert said(container, "ls -A /mnt; test ! -e /tmp/uv-cache") == ""
    for name in (ENV_PREFIX, "/workspace"):
        engine.export(image, name, place / "out.tar")
        target = place / name.replace("/", "_")
        target.mkdir()
        unpack(place / "out.tar", target)
        found[name] = tree_digest(target)
    return found


@pytest.mark.parametrize("name", every_builder)
def test_cold_and_warm_builds_are_the_same(
    name: str, lock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that is made again, with a warm cache, has the same packages and the same bytes; so has the tree.

    So has machine code, on bubblewrap: the images of docker that tests build have no compiler. The first build finds
    no download of an earlier one, BuildKit's own among them. No cache of downloads is in any image.
    """
    engine = ENGINES[name](tmp_path)
    tree = packed(tmp_path / "tree", PACKAGE if engine.runs_dockerfiles else {**PACKAGE, **COMPILED})
    images = ImageManager(engine, namespace="fc-conformance")
    # A mount of this test's own is empty; the one that all builds share cannot be emptied while others work with it.
    monkeypatch.setattr(cli_build, "CACHE_MOUNT", cli_build.CACHE_MOUNT.replace("id=", f"id={short(str(tmp_path))}-"))
    own = DockerContext.default(lock=lock)
    lock_text = own.texts["lock.txt"]
    seen = []
    for number in range(2):
        # A comment makes it another tier, of another repository: nothing is taken from an image that is there.
        texts = {**own.texts, "lock.txt": f"{lock_text}# {tmp_path} {number}\n"}
        plan = replace(plan_of(DockerContext(texts), tree), repo=f"Adder-{number}")
        image = images.build(plan, log=tmp_path / "log")
        seen.append(content(engine, image, tmp_path / f"built-{number}"))
    assert "pytest==8.4.2" in seen[0]["freeze"]
    assert seen[0] == seen[1]
    modules = {path.name.partition(".")[0] for path in (tmp_path / "built-1").rglob("*.so")}
    assert ("_fast" in modules) == (not engine.runs_dockerfiles)


def equal_from_the_start(one: list[str], other: list[str]) -> int:
    """How many layers two images have in common."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@pytest.mark.parametrize("name", [each for each in every_builder if each.values[0] != "bubblewrap"])
def test_what_is_large_lies_in_layers_that_images_share(
    name: str, lock: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another small pin, the env tier's layers below the last are the first one's, and its content as if whole.

    What is built on it adds layers above.
    """
    engine = ENGINES[name](tmp_path)
    images = ImageManager(engine, namespace="fc-conformance")
    found: list[tuple[list[str], dict[str, str]]] = []
    apart = ("pygments", "pytest"), frozenset({"setuptools", "iniconfig"})
    for number, (large, middling) in enumerate((apart, apart, ((), frozenset[str]()))):
        monkeypatch.setattr(parts, "LARGE", large)
        monkeypatch.setattr(parts, "MIDDLING", middling)
        context = DockerContext.default(lock=f"{lock}# {tmp_path} {number}\n")
        base = images.build_base((), context, log=tmp_path / "log")
        image = images.build_env(base, plan_of(context, tree), log=tmp_path / "log")
        words = [engine.name, "image", "inspect", "--format", "{{json .RootFS.Layers}}", image.digest]
        done = process.run(words, timeout=60, env=process.clean_environment(podman_environment()))
        said_layers = json.loads(done.text)
        found.append((said_layers, content(engine, image, tmp_path / f"built-{number}")))
    below = equal_from_the_start(found[0][0], found[2][0])
    shared = equal_from_the_start(found[0][0], found[1][0])
    assert shared == below + 7  # The programs, then a lock and what it installs, three times.
    assert found[0][1] == found[1][1] == found[2][1]


def test_an_embedded_image_is_the_same_in_another_place(lock: str, tree: Path, tmp_path: Path) -> None:
    """Bubblewrap's digests do not depend on the cache directory: a cold build elsewhere gives the same image.

    Each of the two kept the byte code that it compiled; what another build then takes from there is asked above.
    """
    digests = set()
    for number in range(2):
        engine = ENGINES["bubblewrap"](tmp_path / str(number))
        plan = plan_of(DockerContext.default(lock=lock), tree)
        digests.add(ImageManager(engine, namespace="fc-conformance").build(plan, log=tmp_path / "log").digest)
        assert any((tmp_path / str(number)).glob("**/fc-byte-code/*"))
    assert len(digests) == 1


OWN_ENV = "ARG PARENT\nFROM ${PARENT}\nUSER 0:0\nCOPY said.txt /opt/env/said.txt\nUSER 1000:1000\n"
OWN_PR = "ARG PARENT\nFROM ${PARENT}\nADD repo.tar /workspace/repo/\nRUN cp /opt/env/said.txt /workspace/repo/\n"


def test_a_context_with_its_own_dockerfiles(built: Built, tree: Path, tmp_path: Path) -> None:
    """An engine of Dockerfiles builds each tier by the context's own one; one of scripts runs those, and says so."""
    texts = {
        "Dockerfile.repo": OWN_ENV,
        "Dockerfile.pr": OWN_PR,
        "said.txt": "by its own\n",
        "docker_build_env.sh": 'mkdir -p "$FC_ENV/bin"\necho by a script >"$FC_ENV/said.txt"\n',
        "docker_build_pkg.sh": 'cp "$FC_ENV/said.txt" "$FC_WORKDIR/"\n',
        "docker_build_run.sh": "true\n",
    }
    place = DockerContext(texts).to_directory(tmp_path / "own")
    (place / "repo.tar").write_bytes(tree.read_bytes())
    images = ImageManager(built.engine, namespace="fc-conformance")
    log = tmp_path / "log"
    image = images.build_pr_image("own", "adder", 7, context=place, log=log)
    with built.engine.start(image) as container:
        expected = "by its own" if built.engine.runs_dockerfiles else "by a script"
        assert said(container, "cat said.txt") == expected
        assert said(container, "ls src/adder") == "__init__.py"
    assert ("runs no Dockerfile" in log.read_text()) is not built.engine.runs_dockerfiles


def test_a_dockerfile_without_scripts(built: Built, tree: Path, tmp_path: Path) -> None:
    """A directory with nothing but a Dockerfile is the tier that is asked for; bubblewrap refuses it."""
    place = tmp_path / "own"
    place.mkdir()
    base = ensure_base_image(tmp_path) if built.engine.runs_dockerfiles else "scratch"
    (place / "Dockerfile").write_text(
        f"FROM {base}\nCOPY word.txt /workspace/repo/\nADD repo.tar.gz /workspace/repo/\n"
    )
    (place / "word.txt").write_text("alone\n")
    with tarfile.open(place / "repo.tar.gz", "w:gz") as archive:
        archive.add(tree.with_name("tree"), arcname=".")
    images = ImageManager(built.engine, namespace="fc-conformance")
    if not built.engine.runs_dockerfiles:
        with pytest.raises(ConfigError, match="runs no Dockerfile"):
            images.build_pr_image("own", "alone", 1, context=place, log=tmp_path / "log")
        return
    image = images.build_pr_image("own", "alone", 1, context=place, log=tmp_path / "log")
    assert image.name == "fc-conformance/own-alone:1"
    with built.engine.start(image) as container:
        assert said(container, "cat word.txt; ls src/adder") == "alone\n__init__.py"
    (place / "Dockerfile").write_text(f"FROM {base}\nRUN echo it broke >&2; exit 3\n")
    with pytest.raises(BuildFailed, match="it broke") as caught:
        images.build_pr_image("own", "alone", 2, context=place, log=tmp_path / "log")
    assert caught.value.stage == "Dockerfile of fc-conformance/own-alone:2"


def test_two_projects_of_one_repository_have_their_own_images(
    built: Built, lock: str, tree: Path, tmp_path: Path
) -> None:
    """Images of two roots of one tree, with one lock, are found by names of their own, each with its own content."""
    images = ImageManager(built.engine, namespace="fc-conformance")
    script = 'printf %s "$FC_INSTALL_DIR" >"$FC_WORKDIR/root.txt"\n'
    own = DockerContext({**DockerContext.default(lock=lock).texts, "docker_build_pkg.sh": script})
    plans = {root: plan_of(own, tree, "5", FC_INSTALL_DIR=root, FC_IMPORT_NAMES="") for root in (".", "python")}
    found = {root: images.build(plan, log=tmp_path / "log") for root, plan in plans.items()}
    for root, image in found.items():
        name = f"fc-conformance/own-adder:5{root_suffix(root)}"
        for called in (name, f"{name}-py3.11"):
            seen = built.engine.inspect(called)
            assert seen and seen.digest == image.digest
        with built.engine.start(image) as container:
            assert said(container, "cat root.txt") == root


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
        assert not PytestVerifier(timeout=120).verify(frozen).ok
        assert PytestVerifier("tests/test_adder.py::test_add", timeout=120).verify(frozen).ok
        status = frozen.exec(["git", "status", "--porcelain"], timeout=60, cwd=WORKDIR)
        assert (status.rc, status.text) == (0, "")
    for place in ("/tmp/uv-cache", "/opt/uv"):
        with built.engine.start(image) as again:
            assert not again.exec(["test", "-e", place], timeout=60, cwd="/").ok
