"""What an image is made of, as CycloneDX 1.6: the packages of its lock file, and Debian's."""

import gzip
import re
import uuid
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from datasmith.docker.oci import Descriptor, Manifest, OciLayout
from datasmith.resolution.build_lock import PREFIX
from datasmith.tar_members import open_tar

SPEC = "1.6"
MEDIA_TYPE = "application/vnd.cyclonedx+json"
MAX_STATUS = 50_000_000
_DPKG = "var/lib/dpkg/status"
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAMESPACE = uuid.UUID("1b9a2a6e-6d0f-5a5f-9a55-0f0c8a4e7f11")


def sbom(name: str, digest: str, *, lock: str, dpkg: str, version: str) -> dict[str, object]:
    """The document for the image `name` with this digest; the same image always gives the same.

    `lock` is a requirements file with hashes, `dpkg` the text of dpkg's status file (both may be empty), `version`
    that of fc-data.
    """
    components = [*locked(lock), *installed(dpkg)]
    unique = {str(part["bom-ref"]): part for part in components}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, digest)}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "fc-data", "version": version}]},
            "component": {"type": "container", "bom-ref": "image", "name": name, "version": digest},
        },
        "components": [unique[key] for key in sorted(unique)],
    }


def locked(lock: str) -> Iterator[dict[str, object]]:
    """A component for each pin of a lock file, with the hashes of the files that may be installed for it.

    What only built other packages, in an environment of its own, has the scope "excluded".
    """
    lines = lock.splitlines()
    yield from _pins("\n".join(line for line in lines if not line.startswith(PREFIX)))
    for part in _pins("\n".join(line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX))):
        yield {**part, "bom-ref": f"build:{part['bom-ref']}", "scope": "excluded"}


def _pins(lock: str) -> Iterator[dict[str, object]]:
    for entry in re.split(r"\n(?=[A-Za-z0-9])", lock):
        pin = _PIN.match(entry.strip())
        if pin is None:
            continue
        name = re.sub(r"[-_.]+", "-", pin[1]).lower()
        purl = f"pkg:pypi/{name}@{quote(pin[2], safe='.')}"
        part: dict[str, object] = {"type": "library", "bom-ref": purl, "name": name, "version": pin[2], "purl": purl}
        hashes = sorted(set(_HASH.findall(entry)))
        if hashes:
            told = [{"alg": "SHA-256", "content": content} for content in hashes]
            url = f"https://pypi.org/project/{name}/{quote(pin[2])}/"
            part["externalReferences"] = [{"type": "distribution", "url": url, "hashes": told}]
        yield part


def installed(status: str) -> Iterator[dict[str, object]]:
    """A component for each package that dpkg has installed."""
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"[A-Za-z-]+: ", line))
        if not fields.get("Status", "").endswith(" installed") or not {"Package", "Version"} <= fields.keys():
            continue
        name, version = fields["Package"], fields["Version"]
        architecture = quote(fields.get("Architecture", "all"))
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='.~')}?arch={architecture}"
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def dpkg_status(layout: OciLayout, manifest: Manifest) -> str:
    """The status file of dpkg as the image has it; empty where it has none. Layers are read, nothing of them is run."""
    return next(_states(layout, manifest.blobs[1:]), "")


def _states(layout: OciLayout, layers: Sequence[Descriptor]) -> Iterator[str]:
    for layer in reversed(layers):
        with gzip.open(layout.blob(layer.digest)) as plain, open_tar(plain, mode="r|") as tar:
            found = next((member for member in tar if member.name.removeprefix("./") == _DPKG and member.isreg()), None)
            content = tar.extractfile(found) if found and found.size <= MAX_STATUS else None
            if content is not None:
                yield content.read().decode("utf-8", "replace")
