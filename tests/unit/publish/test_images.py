"""Images of tasks in real registries: pushed, looked for, taken apart by another program."""

import hashlib
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest

from datasmith import process
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import ContainerEngine, Tier
from datasmith.docker.oci import INDEX, OciLayout
from datasmith.docker.oci_save import save_image
from datasmith.errors import ConfigError, InvalidTask, PublishError
from datasmith.publish.images import (
    ARTIFACT,
    PUBLISHED,
    REFERRERS,
    SBOM,
    STATEMENT,
    ImagePublisher,
    Published,
    read_index,
    read_published,
    sealed_task,
)
from datasmith.publish.registry import Pauses
from datasmith.settings import Settings
from datasmith.tasks.folder import read_task, write_task
from tests.loopback.registry import CuttingProxy, free_port, registry
from tests.sandboxes import embedded_engine, tree_image, tree_task
from tests.unit.tasks.samples import certificate, sample_task, source_tar

pytestmark = pytest.mark.engine
LOCK = f"""numpy==1.26.0 \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
typing-extensions==4.11.0 ; python_version < '3.12' \\
    --hash=sha256:{"c" * 64}
#build numpy==1.26.0 \\
#build     --hash=sha256:{"d" * 64}
#build setuptools==69.0 \\
#build     --hash=sha256:{"e" * 64}
"""
TOOLS = {"fc_data": "1.2", "uv": "0.8.3", "engine": "bubblewrap"}
NO_PAUSES = Pauses(sleep=lambda _seconds: None)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def engine(cache: Path) -> BubblewrapEngine:
    return embedded_engine(cache)


def task_folder(engine: BubblewrapEngine, place: Path, content: bytes = b"x = 1\n") -> Path:
    """A sealed and certified task whose image the engine holds."""
    work = place / "work"
    work.mkdir(parents=True)
    image = tree_image(engine, work, {"a.py": content})
    build = {"python_version": "3.11", "files": {"lock.txt": LOCK, "Dockerfile": "FROM scratch\n"}}
    task = tree_task(image, build=build, certificate=certificate("acme_fast_1", image.digest))
    return write_task(task, place / "tasks", source=source_tar(place / "repo.tar.gz"), provenance=TOOLS)


def publisher(engine: ContainerEngine, cache: Path, registries: str, layout: str = "single") -> ImagePublisher:
    settings = Settings.model_validate(
        {
            "FC_CACHE_DIR": cache,
            "cache_dir": cache,
            "registries": registries,
            "registry_layout": layout,
            "DOCKER_CONFIG": cache,
        }
    )
    return ImagePublisher(settings, lambda: engine, pauses=NO_PAUSES)


def where(port: int) -> str:
    return f"127.0.0.1:{port}/formulacode"


def test_an_image_is_pushed_to_all_places(engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path) -> None:
    """Two registries hold the same digest under the archive tag; the folder says so, with SBOM and statement."""
    folder = task_folder(engine, tmp_path)
    with registry(tmp_path / "mirror") as mirror:
        both = publisher(engine, cache, f"{where(port)},{where(mirror)}")
        pushed = both.publish(folder)
        assert [found.state for found in both.check(pushed)] == ["available", "available"]
    assert pushed == read_published(folder)
    tag = f"acme-fast-{'a' * 40}--final"
    assert pushed.name == f"127.0.0.1:{port}/formulacode/all:{tag}@{pushed.manifest_digest}"
    told = process.run(
        ["skopeo", "inspect", "--tls-verify=false", f"docker://{pushed.name.replace(f':{tag}', '')}"], timeout=60
    )
    assert told.ok and json.loads(told.text)["Digest"] == pushed.manifest_digest, told.error_text
    assert [found.state for found in both.check(pushed)] == ["available", "unknown"]


def test_a_failed_mirror_publishes_nothing(engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path) -> None:
    """One registry that does not answer fails the task: no file says that it is published."""
    folder = task_folder(engine, tmp_path, b"x = 2\n")
    gone = publisher(engine, cache, f"{where(port)},{where(free_port())}")
    with pytest.raises(PublishError, match="no answer"):
        gone.publish(folder)
    assert not (folder / PUBLISHED).exists() and not (folder / SBOM).exists()
    assert publisher(engine, cache, where(port)).publish(folder).references[0].host == f"127.0.0.1:{port}"


def test_a_push_survives_cuts(engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path) -> None:
    """Connections that are cut in the middle of uploads: the image arrives, and is the one that was built."""
    noise = b"".join(b"%d\n" % (7919 * number % 1_000_003) for number in range(400_000))
    folder = task_folder(engine, tmp_path, noise)
    with CuttingProxy(port, cut_after=200_000, cuts=4).running() as proxy:
        pushed = publisher(engine, cache, where(proxy.port)).publish(folder)
        assert proxy.made == 4
    direct = Published.model_validate_json(
        pushed.model_dump_json().replace(f"127.0.0.1:{proxy.port}", f"127.0.0.1:{port}")
    )
    assert publisher(engine, cache, where(port)).check(direct)[0].state == "available"
    target = tmp_path / "pulled"
    words = [
        "skopeo",
        "copy",
        "--src-tls-verify=false",
        f"docker://{direct.name.partition(':acme')[0]}@{direct.manifest_digest}",
    ]
    assert process.run([*words, f"dir:{target}"], timeout=120).ok
    layers = json.loads((target / "manifest.json").read_text())["layers"]
    files: dict[str, bytes] = {}
    for layer in layers:
        with tarfile.open(target / layer["digest"].removeprefix("sha256:")) as tar:
            files |= {member.name: tar.extractfile(member).read() for member in tar if member.isreg()}  # type: ignore[union-attr]
    assert files["workspace/repo/a.py"] == noise


def test_what_is_there_is_skipped(engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path) -> None:
    """Again: the same digest, and with skip_existing not even the engine is asked; a deleted image is pushed again."""
    folder = task_folder(engine, tmp_path, b"x = 3\n")
    first = publisher(engine, cache, where(port), "project").publish(folder)
    assert (first.references[0].repository, first.references[0].tag) == ("formulacode/acme-fast", "1")

    def no_engine() -> ContainerEngine:
        raise AssertionError("the engine was asked")

    settings = publisher(engine, cache, where(port), "project").settings
    assert ImagePublisher(settings, no_engine, pauses=NO_PAUSES).publish(folder) == first
    again = ImagePublisher(settings, lambda: engine, skip_existing=False, pauses=NO_PAUSES).publish(folder)
    assert again == first
    url = f"http://127.0.0.1:{port}/v2/formulacode/acme-fast/manifests/{first.manifest_digest}"
    assert httpx2.delete(url).status_code == 202
    assert ImagePublisher(settings, no_engine, pauses=NO_PAUSES).check(first)[0].state == "missing"
    assert publisher(engine, cache, where(port), "project").publish(folder) == first
    assert ImagePublisher(settings, no_engine, pauses=NO_PAUSES).check(first)[0].state == "available"


def hashes(part: Mapping[str, Any]) -> set[str]:
    """The SHA-256 sums that a component of an SBOM tells."""
    return {each["content"] for reference in part["externalReferences"] for each in reference["hashes"]}


def test_sbom_and_statement_say_what_it_is_made_of(
    engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path
) -> None:
    """The SBOM is valid CycloneDX and holds the pins with their hashes; the statement names inputs and no fix.

    What was only there to build sources is a part of its own: its hashes are not those of another pin.
    Both hang on the image in the registry, found by the tag that its digest makes.
    """
    # Importing them takes longer than this test, and each process that collects tests would.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    folder = task_folder(engine, tmp_path, b"x = 4\n")
    pushed = publisher(engine, cache, where(port)).publish(folder)
    text = (folder / SBOM).read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = json.loads(text)["components"]
    built = {part["name"]: part for part in listed if part.get("scope") == "excluded"}
    parts = {part["name"]: part for part in listed if part not in built.values()}
    assert hashes(built["numpy"]) == {"d" * 64} and hashes(built["setuptools"]) == {"e" * 64}
    assert hashes(parts["typing-extensions"]) == {"c" * 64} and "setuptools" not in parts
    assert parts["numpy"]["purl"] == "pkg:pypi/numpy@1.26.0"
    assert len(parts["numpy"]["externalReferences"][0]["hashes"]) == 2 and "typing-extensions" in parts
    said = json.loads((folder / STATEMENT).read_text())
    assert said["subject"][0]["digest"] == {"sha256": pushed.manifest_digest.removeprefix("sha256:")}
    inputs = {each.get("name"): each["digest"] for each in said["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert {"environment/lock.txt", "environment/repo.tar.gz"} <= inputs.keys()
    image = engine.inspect(read_task(folder).image_digest)
    assert image and inputs["operating system"] == {"sha256": engine.base_of(image).rpartition(":")[2]}
    assert said["predicate"]["runDetails"]["builder"]["version"] == {
        "fc-data": "1.2", "uv": "0.8.3", "engine": "bubblewrap",
    }  # fmt: skip
    assert "b" * 40 not in (folder / STATEMENT).read_text() and "expert" not in (folder / STATEMENT).read_text()
    base = f"http://127.0.0.1:{port}/v2/formulacode/all"
    accept = {"Accept": "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"}
    index = httpx2.get(f"{base}/manifests/{pushed.manifest_digest.replace(':', '-')}", headers=accept).json()
    artifact = httpx2.get(f"{base}/manifests/{index['manifests'][0]['digest']}", headers=accept).json()
    assert artifact["subject"]["digest"] == pushed.manifest_digest
    blobs = {httpx2.get(f"{base}/blobs/{layer['digest']}").content for layer in artifact["layers"]}
    assert blobs == {(folder / SBOM).read_bytes(), (folder / STATEMENT).read_bytes()}


def test_what_others_hung_on_an_image_stays(engine: BubblewrapEngine, cache: Path, port: int, tmp_path: Path) -> None:
    """A signature in the index of referrers is there after the next push; what is no index is not written over."""
    folder = task_folder(engine, tmp_path, b"x = 7\n")
    pushed = publisher(engine, cache, where(port)).publish(folder)
    index = f"http://127.0.0.1:{port}/v2/formulacode/all/manifests/{pushed.manifest_digest.replace(':', '-')}"
    headers = {"Accept": INDEX, "Content-Type": INDEX}
    listed = httpx2.get(index, headers=headers).json()
    ours = listed["manifests"][0]
    signature = {**ours, "artifactType": "application/vnd.example.signature"}
    listed |= {"manifests": [signature, ours], "annotations": {"who": "signed"}}
    assert httpx2.put(index, headers=headers, content=json.dumps(listed)).status_code == 201
    again = publisher(engine, cache, where(port))
    ImagePublisher(again.settings, lambda: engine, skip_existing=False, pauses=NO_PAUSES).publish(folder)
    found = httpx2.get(index, headers=headers).json()
    assert found["manifests"] == [signature, ours] and found["annotations"] == {"who": "signed"}
    for text in (b"[]", b'{"manifests": {}}', b"not JSON"):
        with pytest.raises(PublishError, match="left as it is"):
            read_index(text, "sha256-0")


def test_an_image_that_nobody_sealed_is_not_given_away(engine: BubblewrapEngine, cache: Path, tmp_path: Path) -> None:
    """Without a certificate that says so, there is no push."""
    folder = task_folder(engine, tmp_path, b"x = 5\n")
    (folder / "certificate.json").unlink()
    with pytest.raises(InvalidTask, match="sealed"):
        publisher(engine, cache, where(free_port())).publish(folder)


@pytest.mark.parametrize(("sealed", "given"), [(True, True), (None, True), (False, False)])
def test_an_image_in_which_something_was_found_is_not_given_away(
    tmp_path: Path, sealed: bool | None, given: bool
) -> None:
    """One of which not all could be looked for is: nothing was found."""
    task = sample_task(certificate=certificate().model_copy(update={"sealed": sealed}))
    folder = write_task(task, tmp_path / "tasks", source=source_tar(tmp_path / "repo.tar.gz"), provenance=TOOLS)
    with nullcontext() if given else pytest.raises(InvalidTask, match="sealed"):
        assert sealed_task(folder).certificate == task.certificate


def test_an_archive_is_read_by_another_program(engine: BubblewrapEngine, cache: Path, tmp_path: Path) -> None:
    """The same image gives the same archive; skopeo finds the digest that we named, and the one image in it.

    SBOM and statement are those of a registry: in the folder, and in the archive, with the image as their subject.
    """
    folder = task_folder(engine, tmp_path, b"x = 6\n")
    one = publisher(engine, cache, "")
    with pytest.raises(ConfigError, match=r"--out .*: is a directory, .* \(example: --out .*/image\.tar\)"):
        one.save(folder, tmp_path)
    digest = one.save(folder, tmp_path / "one.oci.tar")
    assert one.save(folder, tmp_path / "two.oci.tar") == digest
    assert (tmp_path / "one.oci.tar").read_bytes() == (tmp_path / "two.oci.tar").read_bytes()
    told = process.run(["skopeo", "inspect", f"oci-archive:{tmp_path}/one.oci.tar"], timeout=60)
    assert told.ok and json.loads(told.text)["Digest"] == digest, told.error_text
    copied = process.run(["skopeo", "copy", f"oci-archive:{tmp_path}/one.oci.tar", f"dir:{tmp_path}/it"], timeout=60)
    assert copied.ok, copied.error_text
    artifact = hung_on(tmp_path / "one.oci.tar", digest)
    assert artifact == {SBOM: (folder / SBOM).read_bytes(), STATEMENT: (folder / STATEMENT).read_bytes()}
    assert json.loads(artifact[SBOM])["bomFormat"] == "CycloneDX" and "numpy" in artifact[SBOM].decode()
    subject = json.loads(artifact[STATEMENT])["subject"][0]["digest"]
    assert subject == {"sha256": digest.removeprefix("sha256:")} and not (folder / PUBLISHED).exists()


def hung_on(archive: Path, digest: str) -> dict[str, bytes]:
    """The papers in an OCI archive whose subject is the image with this digest, by the names of their files."""
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isreg()}  # type: ignore[union-attr]

    def blob(name: str) -> bytes:
        found = files[f"blobs/{name.replace(':', '/')}"]
        assert hashlib.sha256(found).hexdigest() in name
        return found

    index = json.loads(blob(json.loads(files["index.json"])["annotations"][REFERRERS]))
    manifest = json.loads(blob(index["manifests"][0]["digest"]))
    assert manifest["subject"]["digest"] == digest and index["manifests"][0]["artifactType"] == ARTIFACT
    kinds = {"application/vnd.cyclonedx+json": SBOM, "application/vnd.in-toto+json": STATEMENT}
    return {kinds[layer["mediaType"]]: blob(layer["digest"]) for layer in manifest["layers"]}


def test_only_what_a_tier_changes_is_in_its_layer(engine: BubblewrapEngine, cache: Path, tmp_path: Path) -> None:
    """A tier that changes one file of the environment and deletes one has these two, and a white-out, in its layer."""
    log = tmp_path / "log"
    first = b"mkdir -p $FC_ENV/lib; for n in 1 2 3; do echo $n >$FC_ENV/lib/$n; done; ln -s 1 $FC_ENV/lib/link\n"
    base = engine.build(None, Tier("base", "t-base", (), {}), log=log)
    python = {"FC_PYTHON": engine.pythons()[-1]}
    env = engine.build(base, Tier("env", "t-env", ("a.sh",), {"a.sh": first}, python), log=log)
    second = b"echo two >$FC_ENV/lib/2; rm $FC_ENV/lib/3\n"
    pr = engine.build(env, Tier("pr", "t-pr", ("b.sh",), {"b.sh": second}), log=log)
    layout = OciLayout(tmp_path / "layout")
    manifest = save_image(publisher(engine, cache, "").settings, pr, layout, "t")
    assert len(manifest.blobs) == 3
    with tarfile.open(layout.blob(manifest.blobs[2].digest)) as tar:
        members = {member.name: member for member in tar if not member.isdir()}
    assert set(members) == {"opt/env/lib/2", "opt/env/lib/.wh.3"}
    assert {(member.uid, member.mtime) for member in members.values()} == {(1000, 315_532_800)}
