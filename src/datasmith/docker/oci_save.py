"""Get an image out of the engine that built it, as an OCI layout; the image is read, nothing in it is run."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from datasmith.docker.cli_command import Cli
from datasmith.docker.engine import ImageRef
from datasmith.docker.layers import LayerStore
from datasmith.docker.oci import Manifest, OciLayout, is_saved_as, read_saved
from datasmith.docker.oci_trees import save_layers
from datasmith.errors import ContainerError

if TYPE_CHECKING:
    from datasmith.settings import Settings

_SAVE_S = 3600.0


def save_image(settings: "Settings", image: ImageRef, layout: OciLayout, name: str) -> Manifest:
    """Lay out `image`, named `name`; `settings` are those that its engine was opened with.

    Raises:
        ContainerError: the engine does not hold it, or what it gives is not the image with this digest.
        EngineUnavailable: the engine is gone.
    """
    if image.engine == "bubblewrap":
        store = LayerStore(settings.cache_dir.absolute() / "layers")
        layer = store.find(image.digest)
        if layer is None:
            raise ContainerError(f"no layer {image.digest} under {settings.cache_dir}")
        return save_layers(store, layer, layout, name)
    return _saved(settings, image, layout, name)


def _saved(settings: "Settings", image: ImageRef, layout: OciLayout, name: str) -> Manifest:
    reached = {"DOCKER_HOST": settings.docker_host, "XDG_RUNTIME_DIR": settings.xdg_runtime_dir}
    cli = Cli(image.engine, {variable: value for variable, value in reached.items() if value})
    with tempfile.TemporaryDirectory(dir=layout.root.parent, prefix=".save-") as place:
        archive = Path(place, "image.tar")
        save_archive(cli, image, archive)
        manifest = read_saved(archive, layout, name)
        found = manifest.blobs[0].digest
        if not is_saved_as(archive, image.digest, found):
            raise ContainerError(f"{image.engine} saved another image: {found}, not {image.digest}")
    return manifest


def save_archive(cli: Cli, image: ImageRef, target: Path) -> None:
    """What `docker save` writes of an image: its configuration and all of its layers.

    Raises:
        ContainerError: the engine does not hold it.
        EngineUnavailable: the engine is gone.
    """
    form = ["--format", "docker-archive"] if cli.program == "podman" else []
    cli.ask(["save", *form, "--output", target, image.digest], timeout=_SAVE_S)
