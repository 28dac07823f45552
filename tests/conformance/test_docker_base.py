"""What docker builds start from: an image by its digest, whatever its tag means later; and one file for all tiers."""

import os
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef, Tier
from datasmith.docker.images import BUILD_ARGS, ImageManager, build_args_text
from datasmith.docker.pinned import pinned_base
from datasmith.errors import EngineUnavailable
from tests.conformance.engines import CA_BUNDLE, said
from tests.conformance.test_sources_built import plan, port_of, releases
from tests.integration.loopback_index import serving
from tests.sandboxes import committed
from tests.support.base_image import BASE_IMAGE, ensure_base_image

pytestmark = [pytest.mark.engine, pytest.mark.docker]
CONFIG = """version: 0.1
storage: {{filesystem: {{rootdirectory: {place}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
BACKEND = b"""import os, zipfile
def build_editable(directory, config_settings=None, metadata_directory=None):
    open("who.txt", "w").write(f"{os.getuid()} {os.environ.get('UV_OFFLINE')}")
    with zipfile.ZipFile(directory + "/thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n")
        wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("thing-1.0.dist-info/RECORD", "")
    return "thing-1.0-py3-none-any.whl"
build_wheel = build_editable
"""
PROJECT = b"""[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "thing"
version = "1.0"
"""


def docker(*words: str | Path, timeout: float = 300) -> str:
    """What a docker command says; it has to succeed."""
    done = process.run(["docker", *words], timeout=timeout)
    assert done.ok, done.error_text
    return done.text.strip()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of a registry on this machine."""
    program = shutil.which("docker-registry")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("docker-registry is not installed, and CI must not skip (apt-get install docker-registry)")
        pytest.skip("docker-registry is not installed (apt-get install docker-registry)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "registry.yml").write_text(CONFIG.format(place=tmp_path / "registry", port=port))
    with (tmp_path / "registry.log").open("wb") as log:
        child = subprocess.Popen([program, "serve", tmp_path / "registry.yml"], stdout=log, stderr=log)
    try:
        waited = 0
        while not _answers(port) and waited < 200:
            waited += 1
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        child.kill()
        child.wait()


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def small_image(place: Path, name: str, word: str) -> str:
    """An image with one file, pushed; its digest in the registry."""
    place.mkdir()
    (place / "word").write_text(word)
    (place / "Dockerfile").write_text("FROM scratch\nCOPY word /word\n")
    docker("build", "--tag", name, place)
    said = docker("push", name)
    return said.rpartition("digest: ")[2].split()[0]


def test_a_tag_is_resolved_once_and_for_all(registry: str, tmp_path: Path) -> None:
    """The digest that a tag had is what a tier starts from, is keyed by and records, when the tag has moved on."""
    name = f"{registry}/fc-tiers/base:stable"
    first = small_image(tmp_path / "one", name, "first")
    engine = CliEngine("docker", base_image=name)
    assert engine._starts.reference(name) == f"{registry}/fc-tiers/base@{first}"
    second = small_image(tmp_path / "two", name, "second")
    tier = Tier("base", "fc-tiers/pinned:1", (), {}, dockerfile="ARG PARENT\nFROM ${PARENT}\n")
    try:
        images = [engine.build(None, tier, log=tmp_path / "log")]
        shown = '{{index .Config.Labels "org.opencontainers.image.base.digest"}}'
        assert docker("inspect", "--format", shown, images[0].digest) == first
        references = (name, f"{registry}/fc-tiers/base@{first}", f"{name}@{first}")
        engines = [CliEngine("docker", base_image=reference) for reference in references]
        images += [moved.build(None, tier, log=tmp_path / "log") for moved in engines]
        assert docker("inspect", "--format", shown, images[1].digest) == second
        assert images[1].digest != images[0].digest and {images[0].digest} == {image.digest for image in images[2:]}
    finally:
        docker("rmi", "--force", "fc-tiers/pinned:1", name, *{image.digest for image in images})


def test_a_task_is_built_again_on_the_system_that_it_had(registry: str, tmp_path: Path) -> None:
    """Its Dockerfile says which, also through a mirror; where that is gone, or another is set, the log tells it."""
    name = f"{registry}/fc-tiers/base:stable"
    first, second = [small_image(tmp_path / word, name, word) for word in ("first", "second")]
    docker("rmi", "--force", name)
    context = DockerContext({"Dockerfile": f"ARG FC_BASE_IMAGE=docker.io/base:stable@{first}\n"})
    base, gone = pinned_base(context), f"base:stable@sha256:{'0' * 64}"
    assert base == f"docker.io/base:stable@{first}"
    shown = '{{index .Config.Labels "org.opencontainers.image.base.digest"}}'
    engine, log, made = CliEngine("docker", base_image=name), tmp_path / "log", []

    def stands_on(wanted: str, engine: CliEngine = engine) -> str:
        tier = Tier("base", "fc-tiers/again:1", (), {}, dockerfile="ARG PARENT\nFROM ${PARENT}\n", base=wanted)
        made.append(engine.build(None, tier, log=log).digest)
        return docker("inspect", "--format", shown, made[-1])

    try:
        assert stands_on(base) == first and not log.read_text().count("as it is today")
        assert engine.base_of(ImageRef("docker", "x", made[-1])) == f"{name}@{first}"
        assert stands_on("") == second
        for other in (f"other:stable@{first}", f"base:older@{first}"):
            assert stands_on(other) == second, "another system is set"
        held = CliEngine("docker", base_image=f"{registry}/fc-tiers/base@{second}")
        assert stands_on(base, held) == second, "one by its digest is set"
        assert [stands_on(gone), stands_on(gone)] == [second, second]
        assert f"built on {name} as it is today: {registry}/fc-tiers/base@sha256:{'0' * 64} is gone" in log.read_text()
        with pytest.raises(EngineUnavailable, match=r"cannot fetch the base image 127\.0\.0\.1:1/base@sha256:0"):
            stands_on(gone, CliEngine("docker", base_image="127.0.0.1:1/base:stable"))
    finally:
        docker("rmi", "--force", "fc-tiers/again:1", name, f"{registry}/fc-tiers/base@{first}", *set(made))


def test_all_tiers_in_one_file(tmp_path: Path) -> None:
    """A task folder's Dockerfile builds by itself: code of the repository, and of what was never a wheel, as the
    sandbox's user, told to be offline. Such a build has the network: its manual says so."""
    base = ensure_base_image(tmp_path)
    engine, name = CliEngine("docker", base_image=BASE_IMAGE), "fc-tiers/whole:1"
    tree = committed(tmp_path / "tree", {"pyproject.toml": PROJECT, "backend.py": BACKEND})
    with serving([]) as listener, serving(releases(port := port_of(listener))) as index:
        place = plan(engine, index, tmp_path).context.to_directory(tmp_path / "environment")
        with tarfile.open(place / "repo.tar.gz", "w:gz") as archive:
            archive.add(tree, arcname=".", filter=_of_root)
        given = {"FC_PYTHON": "3.11", "FC_INSTALL_DIR": ".", "UV_DEFAULT_INDEX": index.url}
        (place / BUILD_ARGS).write_text(build_args_text(given))
        if CA_BUNDLE.exists():
            shutil.copyfile(CA_BUNDLE, place / "ca.pem")
        docker("build", "--network", "host", "--build-arg", f"FC_BASE_IMAGE={base}", "--tag", name, place, timeout=580)
    try:
        image = engine.inspect(name)
        assert image is not None
        with engine.start(image) as container:
            assert container.read_file("/workspace/repo/who.txt") == b"1000 1"
            told = said(container, "python -c 'import homegrown; print(homegrown.TOLD)'")
            assert told == str({"uid": 1000, "tool": "build_tool", "reached": [port], "environment": []})
            assert said(container, "find /opt/env -name '*fc-sources*' -o -name '*build_tool*'") == ""
            assert said(container, "git status --porcelain") == ""
    finally:
        docker("rmi", "--force", name)


def test_what_the_system_has_already_is_not_fetched(tmp_path: Path) -> None:
    """A base image with all packages is asked for none: cut off, apt would say that it could not fetch its lists."""
    own = DockerContext.default(lock="")
    script = f"{own.texts['docker_build_base.sh']}# {tmp_path}: no image that another test made\n"
    context = DockerContext({**own.texts, "docker_build_base.sh": script})
    engine = CliEngine("docker", base_image=ensure_base_image(tmp_path), build_network="none")
    log = tmp_path / "log"
    image = ImageManager(engine, namespace="fc-tiers").build_base(("git",), context, log=log)
    docker("rmi", "--force", image.digest)
    assert "fc-script=docker_build_base.sh" in log.read_text()
    assert "etch" not in log.read_text()


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """As a sealed source is: everything belongs to root."""
    member.uid = member.gid = 0
    return member
