"""Publish the sealed image of a task: to every registry or to none, with what it is made of; and see if it is there."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from datasmith import __version__
from datasmith.docker.engine import ContainerEngine, ImageRef
from datasmith.docker.oci import EMPTY, INDEX, MANIFEST, Descriptor, Manifest, OciLayout, is_packed
from datasmith.docker.oci_save import save_image
from datasmith.errors import ConfigError, InvalidTask, PublishError, naming, refuse_directory
from datasmith.misfits import misfit
from datasmith.publish import sbom as bill
from datasmith.publish import statement as origin
from datasmith.publish.answers import document
from datasmith.publish.places import ImageName, Place, open_registry, read_places
from datasmith.publish.registry import Pauses, Registry
from datasmith.tasks.folder import read_task
from datasmith.tasks.task import Task

if TYPE_CHECKING:
    from datasmith.settings import Settings

PUBLISHED = "published.json"
SBOM = "sbom.cdx.json"
STATEMENT = "statement.intoto.json"
ARTIFACT = "application/vnd.formulacode.origin.v1"
"""Kind of the manifest that holds SBOM and statement, and names the image as its subject."""

REFERRERS = "org.formulacode.referrers"
"""Annotation of an archive's index.json: the digest of the index that a registry has under the tag of referrers."""


class Index(TypedDict):
    """What is used of an image index; what else it holds stays."""

    schemaVersion: int
    mediaType: str
    manifests: list[dict[str, object]]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reference(_Frozen):
    """One place where an image is: registry, repository, tag; `scheme` is how it was reached, where that was noted."""

    host: str
    repository: str
    tag: str
    scheme: Literal["", "http", "https"] = ""

    @property
    def address(self) -> str:
        """As FC_REGISTRIES would name its place."""
        return f"{self.scheme}://{self.host}/{self.repository}".removeprefix("://")


class Published(_Frozen):
    """published.json of a task folder: the manifest's digest, and where it was seen to be; the first is the main one.

    `config_digest` is the image's id for docker and podman; `engine_digest` is the one that the certificate names.
    """

    manifest_digest: str
    config_digest: str
    engine_digest: str
    references: tuple[Reference, ...]

    @property
    def name(self) -> str:
        """What `docker pull` takes: `docker.io/formulacode/all:TAG@sha256:...`."""
        first = self.references[0]
        return f"{first.host}/{first.repository}:{first.tag}@{self.manifest_digest}"


@dataclass(frozen=True, slots=True)
class Availability:
    """What a registry says about one reference: `state` is available, missing, other (digest) or unknown."""

    reference: Reference
    state: str
    said: str = ""


def read_published(folder: Path) -> Published | None:
    """Where a task's image is; None where it was not published.

    Raises:
        InvalidTask: the file says something else.
    """
    path = folder / PUBLISHED
    if not path.is_file() or path.is_symlink():
        return None
    try:
        found = Published.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InvalidTask([f"{folder.name}: {PUBLISHED}: {misfit(error)}"]) from error
    if not found.references:
        raise InvalidTask([f"{folder.name}: {PUBLISHED} names no registry"])
    try:
        several = any(len(read_places(each.address)) != 1 for each in found.references)
    except ConfigError:
        several = True
    if several:
        raise InvalidTask([f"{folder.name}: {PUBLISHED} names what is no registry with a repository"])
    return found


@dataclass(frozen=True)
class ImagePublisher:
    """Publishes images to the places of the settings. Only here are credentials read, and nothing of an image is run.

    `engine` opens the engine that holds the images, when the first one is needed.
    """

    settings: "Settings"
    engine: Callable[[], ContainerEngine]
    skip_existing: bool = True
    pauses: Pauses = field(default_factory=Pauses)

    @property
    def places(self) -> tuple[Place, ...]:
        """The registries of the settings.

        Raises:
            ConfigError: FC_REGISTRIES cannot be read.
        """
        return read_places(self.settings.registries)

    def publish(self, folder: Path) -> Published:
        """Push a task's image to every place; afterwards published.json, SBOM and statement lie in its folder.

        What a registry has already is not sent again, so a push that broke off goes on where it ended.

        Raises:
            PublishError: it did not arrive at one of them; nothing is written then.
            InvalidTask: the folder cannot be read, or its image was not sealed.
        """
        task = sealed_task(folder)
        known = read_published(folder)
        if self.skip_existing and known and self._is_everywhere(task, known):
            return known
        with tempfile.TemporaryDirectory(prefix=".oci-", dir=folder.parent) as place:
            layout = OciLayout(Path(place, "layout"))
            image = self._image(task)
            manifest = save_image(self.settings, image, layout, self._references(task)[0].tag)
            papers = write_papers(task, folder, layout, manifest, image, self.engine().base_of(image))
            references = self._references(task)
            for target, reference in zip(self.places, references, strict=True):
                self._push(target, reference, layout, manifest, papers)
        published = Published(
            manifest_digest=manifest.descriptor.digest,
            config_digest=manifest.blobs[0].digest,
            engine_digest=task.image_digest,
            references=references,
        )
        for name, text in papers.items():
            _write(folder / name, text)
        _write(folder / PUBLISHED, published.model_dump_json(indent=1).encode() + b"\n")
        return published

    def save(self, folder: Path, target: Path) -> str:
        """Write a task's image as an OCI archive; returns the manifest's digest.

        SBOM and statement lie in the archive and, afterwards, in the task's folder, as when it is pushed.

        Raises:
            PublishError: the engine holds no such image.
            ConfigError: the archive cannot lie there; a file that is no such archive is not replaced.
        """
        task = sealed_task(folder)
        refuse_directory("--out", target, str(target / "image.tar"))
        if target.exists() and not is_packed(target):
            raise ConfigError(f"--out {target}: is there already, and is no archive of an image (example: image.tar)")
        with naming("--out", target, "image.tar"):
            target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".oci-", dir=target.absolute().parent) as place:
            layout = OciLayout(Path(place, "layout"))
            image = self._image(task)
            manifest = save_image(self.settings, image, layout, _name(task).tag(single=True))
            papers = write_papers(task, folder, layout, manifest, image, self.engine().base_of(image))
            hang(layout, manifest.descriptor, papers)
            layout.pack(target)
        with naming("TASK", folder, "tasks/shapely_shapely_2283"):
            for name, text in papers.items():
                _write(folder / name, text)
        return manifest.descriptor.digest

    def check(self, published: Published) -> tuple[Availability, ...]:
        """Ask every registry for its reference; what cannot be asked is unknown, never missing."""
        return tuple(self._available(published, reference) for reference in published.references)

    def _available(self, published: Published, reference: Reference) -> Availability:
        registry = open_registry(self._place(reference), self.settings, self.pauses)
        try:
            found = registry.digest(reference.repository, reference.tag)
            pinned = found or registry.digest(reference.repository, published.manifest_digest)
        except PublishError as error:
            return Availability(reference, "unknown", str(error))
        finally:
            registry.close()
        if found == published.manifest_digest:
            return Availability(reference, "available")
        said = f"the tag is {found}" if found else "no such tag"
        return Availability(reference, "other" if pinned else "missing", said)

    def _place(self, reference: Reference) -> Place:
        """Where to ask: as it was reached; where that was not noted, the settings' scheme goes before the usual one."""
        (known,) = read_places(reference.address)
        if reference.scheme:
            return known
        return next((place for place in self.places if place.host == known.host), known)

    def _image(self, task: Task) -> ImageRef:
        engine = self.engine()
        image = engine.inspect(task.image_digest)
        if image is None:
            raise PublishError(
                f"{task.task_id}: {engine.name} holds no image {task.image_digest}"
                " (publish where it was built, or build it again: fc-data --stage 5 --force)"
            )
        return image

    def _references(self, task: Task) -> tuple[Reference, ...]:
        name, single = _name(task), self.settings.registry_layout == "single"
        return tuple(
            Reference(
                host=place.host,
                repository=place.repository(task.owner, task.repo, single=single),
                tag=name.tag(single=single),
                scheme=place.scheme,
            )
            for place in self.places
        )

    def _is_everywhere(self, task: Task, known: Published) -> bool:
        """Whether what was published is this image, at all places of the settings, and still there."""
        if known.engine_digest != task.image_digest or known.references != self._references(task):
            return False
        return all(found.state == "available" for found in self.check(known))

    def _push(
        self, place: Place, reference: Reference, layout: OciLayout, manifest: Manifest, papers: dict[str, bytes]
    ) -> None:
        registry = open_registry(place, self.settings, self.pauses)
        try:
            for blob in dict.fromkeys(manifest.blobs):
                registry.put_blob(reference.repository, blob, layout.blob(blob.digest))
            registry.put_manifest(reference.repository, reference.tag, manifest.data, manifest.descriptor)
            attach(registry, reference.repository, layout, manifest.descriptor, papers)
        finally:
            registry.close()


def sealed_task(folder: Path) -> Task:
    """The task of a folder, whose image may be given away.

    Raises:
        InvalidTask: it may not: no certificate says that nothing of the fix was found in it.
    """
    task = read_task(folder)
    if task.certificate is None:
        unknown = f"no certificate says that its image is sealed (fc-eval certify {folder} makes one)"
        raise InvalidTask([f"{folder.name}: {unknown}"])
    if task.certificate.sealed is False:
        raise InvalidTask([f"{folder.name}: its image is not sealed (fc-data seal-check {folder} says what it holds)"])
    return task


def write_papers(
    task: Task, folder: Path, layout: OciLayout, manifest: Manifest, image: ImageRef, base_image: str
) -> dict[str, bytes]:
    """SBOM and statement of an image by the names of their files; they are blobs of the layout, too."""
    digest, lock = manifest.descriptor.digest, task.build.files.get("lock.txt", "")
    dpkg = bill.dpkg_status(layout, manifest)
    documents = {
        SBOM: bill.sbom(task.image_name, digest, lock=lock, dpkg=dpkg, version=__version__),
        STATEMENT: origin.statement(
            task,
            folder,
            name=task.image_name,
            digest=digest,
            engine=image.engine,
            base_image=base_image,
            version=__version__,
        ),
    }
    return {name: json.dumps(said, indent=1, sort_keys=True).encode() + b"\n" for name, said in documents.items()}


def attach(
    registry: Registry, repository: str, layout: OciLayout, subject: Descriptor, papers: dict[str, bytes]
) -> None:
    """Put SBOM and statement beside an image: a manifest whose subject it is, in the index that tag `sha256-...` names.

    That tag is how registries without a list of referrers are asked for them (OCI distribution, referrers tag schema).
    What others hung on the image stays in it; ours of an earlier push is replaced.

    Raises:
        PublishError: something did not arrive, or what is under that tag is no such index.
    """
    artifact, blobs = _artifact(layout, subject, papers)
    for blob in blobs:
        registry.put_blob(repository, blob, layout.blob(blob.digest))
    registry.put_manifest(repository, artifact.digest, layout.blob(artifact.digest).read_bytes(), artifact)
    tag = subject.digest.replace(":", "-")
    known = registry.manifest(repository, tag)
    listed = _listed(_no_index() if known is None else read_index(known, tag), artifact)
    registry.put_manifest(repository, tag, listed, layout.add(listed, INDEX))


def hang(layout: OciLayout, subject: Descriptor, papers: dict[str, bytes]) -> None:
    """Put SBOM and statement beside the one image of a layout: the same manifest, in the same index as in a registry.

    An annotation of index.json names that index. The manifest is no entry there: it would be a second image to podman
    and skopeo, which read a layout of two only where one is named.
    """
    artifact, _ = _artifact(layout, subject, papers)
    layout.annotate({REFERRERS: layout.add(_listed(_no_index(), artifact), INDEX).digest})


def _artifact(
    layout: OciLayout, subject: Descriptor, papers: dict[str, bytes]
) -> tuple[Descriptor, tuple[Descriptor, ...]]:
    """A manifest that holds SBOM and statement and has the image as its subject; and the blobs that it names."""
    kinds = {SBOM: bill.MEDIA_TYPE, STATEMENT: origin.MEDIA_TYPE}
    empty = layout.add(b"{}", EMPTY)
    parts = [layout.add(text, kinds[name]) for name, text in papers.items()]
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": ARTIFACT,
        "config": empty.document(),
        "layers": [part.document() for part in parts],
        "subject": subject.document(),
    }
    return layout.add(json.dumps(document, sort_keys=True).encode(), MANIFEST), (empty, *parts)


def _no_index() -> "Index":
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": []}


def _listed(index: "Index", artifact: Descriptor) -> bytes:
    """The index with our manifest in it, in place of an earlier one of ours."""
    others = [entry for entry in index["manifests"] if entry.get("artifactType") != ARTIFACT]
    listed = {**index, "manifests": [*others, {**artifact.document(), "artifactType": ARTIFACT}]}
    return json.dumps(listed, sort_keys=True).encode()


def read_index(data: bytes, tag: str) -> "Index":
    """An image index that lies in a registry.

    Raises:
        PublishError: it is none; it is nothing that may be written over.
    """
    found = document(data)
    entries = found.get("manifests")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PublishError(f"{tag} is no index of referrers, and is left as it is (delete it in the registry)")
    return cast("Index", found)


def _name(task: Task) -> ImageName:
    return ImageName(task.owner, task.repo, task.pr_number, task.base_commit)


def _write(target: Path, data: bytes) -> None:
    draft = target.with_name(f".{target.name}")
    draft.write_bytes(data)
    draft.rename(target)
