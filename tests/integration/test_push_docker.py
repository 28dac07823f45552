"""An image of docker in a registry."""

from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.oci import OciLayout
from datasmith.docker.oci_save import save_image
from datasmith.publish.places import open_registry, read_places
from datasmith.publish.sbom import dpkg_status, installed
from datasmith.settings import Settings
from tests.conformance.engines import CA_BUNDLE
from tests.loopback.registry import registry
from tests.support.base_image import ensure_base_image

pytestmark = pytest.mark.engine

SMALL = """FROM {base} AS whole
FROM scratch
COPY --from=whole /etc/debian_version /etc/
COPY --from=whole /var/lib/dpkg/status /var/lib/dpkg/status
"""
"""Two layers, and what dpkg knows of a whole system."""


@pytest.mark.docker
def test_an_image_of_docker_keeps_its_id(tmp_path: Path) -> None:
    """`docker pull` by the manifest's digest brings back the image with the same id; the packages of dpkg are known."""
    base, small = ensure_base_image(tmp_path), "fc-test-small:1"
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "Dockerfile").write_text(SMALL.format(base=base))
    assert process.run(["docker", "build", "--tag", small, tmp_path / "built"], timeout=120).ok
    cli = ["docker", "image", "inspect", "--format", "{{.Id}}"]
    docker = CliEngine("docker", base_image=base, ca_bundle=CA_BUNDLE if CA_BUNDLE.exists() else None)
    image = docker.inspect(small)
    assert image is not None
    layout = OciLayout(tmp_path / "layout")
    settings = Settings()
    manifest = save_image(settings, image, layout, "t")
    assert manifest.blobs[0].digest == image.digest == process.run([*cli, small]).text.strip()
    assert len(manifest.blobs) == 3
    names = {str(part["name"]) for part in installed(dpkg_status(layout, manifest))}
    assert {"libc6", "git", "python3"} <= names
    with registry(tmp_path / "registry") as port:
        (place,) = read_places(f"127.0.0.1:{port}/formulacode")
        client = open_registry(place, settings)
        for blob in manifest.blobs:
            client.put_blob("formulacode/docker", blob, layout.blob(blob.digest))
        client.put_manifest("formulacode/docker", "t", manifest.data, manifest.descriptor)
        assert client.digest("formulacode/docker", "t") == manifest.descriptor.digest
        name = f"127.0.0.1:{port}/formulacode/docker@{manifest.descriptor.digest}"
        assert process.run(["docker", "pull", "--quiet", name], timeout=300).ok
        assert process.run([*cli, name]).text.strip() == image.digest
        assert process.run(["docker", "rmi", name]).ok and docker.inspect(small) == image
    assert process.run(["docker", "rmi", small]).ok
