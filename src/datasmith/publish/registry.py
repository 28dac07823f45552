"""Push to and ask an OCI registry over HTTP: uploads in parts that go on where a connection broke, digests checked."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from datasmith.docker.oci import INDEX, MANIFEST, Descriptor
from datasmith.errors import PublishError
from datasmith.github.connection import goes_in_the_clear
from datasmith.publish.answers import BUSY, Unanswered, arrived, ask, busy, challenges, errors_in, place_in, token_in

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 8
"""Tries of one request, or of one part of an upload, without any progress between them."""
PART = 16 * 2**20
"""Bytes of one part of an upload: what a broken connection can cost."""
_RESTARTS = 8
"""Begins of one upload. docker-registry 2.8 forgets an upload that a broken connection left in the middle of a part."""
_ACCEPT = ", ".join((MANIFEST, INDEX, "application/vnd.docker.distribution.manifest.v2+json"))
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
"""Where a blob lies in another place, such as an object store; it is not asked: our login is not for it."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user and a password (or access token) of a registry; empty for none. Neither is ever shown."""

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long to wait before another try: doubling from `first_s` up to `longest_s`; if asked, up to `asked_s`."""

    first_s: float = 0.5
    longest_s: float = 30.0
    asked_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep

    def before(self, attempt: int, wait_s: float = 0.0) -> None:
        """Wait before the try with this number, from 1 on, and as long as a registry asked for."""
        own = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        self.sleep(max(own, min(self.asked_s, wait_s)))


class Registry:
    """One registry, at `url` ("https://registry-1.docker.io"); use it in one thread, and close it."""

    def __init__(self, url: str, login: Login, http: "httpx2.Client", pauses: Pauses | None = None) -> None:
        self._url = url.rstrip("/")
        self._login = login
        self._http = http
        self._pauses = pauses or Pauses()
        self._authorization = ""

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def digest(self, repository: str, reference: str) -> str | None:
        """The digest of the manifest under a tag or digest; None where the registry has none.

        Raises:
            PublishError: the registry gave no usable answer; nothing is known then.
        """
        answer = self._ask("HEAD", f"/v2/{repository}/manifests/{reference}", headers={"Accept": _ACCEPT})
        if answer.status_code == 404:
            return None
        found = answer.headers.get("Docker-Content-Digest", "")
        if answer.status_code != 200 or not _DIGEST.fullmatch(found):
            raise self._unexpected(answer, f"{repository}:{reference}")
        return found

    def manifest(self, repository: str, reference: str) -> bytes | None:
        """The manifest under a tag or digest as it was written; None where the registry has none.

        Raises:
            PublishError: the registry gave no usable answer; nothing is known then.
        """
        answer = self._ask("GET", f"/v2/{repository}/manifests/{reference}", headers={"Accept": _ACCEPT})
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            raise self._unexpected(answer, f"{repository}:{reference}")
        return answer.content

    def has(self, repository: str, blob: Descriptor) -> bool:
        """Whether a blob is there, whole; a registry that says where it lies instead has it."""
        answer = self._ask("HEAD", f"/v2/{repository}/blobs/{blob.digest}")
        if answer.status_code not in {200, 404, *_ELSEWHERE}:
            raise self._unexpected(answer, blob.digest)
        return answer.status_code != 404

    def put_manifest(self, repository: str, reference: str, data: bytes, descriptor: Descriptor) -> None:
        """Put a manifest under a tag or its digest, and see that the registry has it under that digest.

        Raises:
            PublishError: it has not.
        """
        path = f"/v2/{repository}/manifests/{reference}"
        answer = self._ask("PUT", path, headers={"Content-Type": descriptor.media_type}, content=data)
        if answer.status_code not in {201, 202}:
            raise self._unexpected(answer, f"{repository}:{reference}")
        found = self.digest(repository, reference)
        if found != descriptor.digest:
            raise PublishError(f"{self._name}: {repository}:{reference} is {found}, not {descriptor.digest}")

    def put_blob(self, repository: str, blob: Descriptor, source: Path) -> bool:
        """Upload a blob where it is missing; False where it was there already.

        After a broken connection the upload goes on with what the registry says has arrived; where it has forgotten
        the upload, or what arrived is not what was sent, the upload begins again.

        Raises:
            PublishError: it did not arrive.
        """
        if self.has(repository, blob):
            return False
        for restart in range(_RESTARTS):
            if restart:
                self._pauses.before(restart)
            with source.open("rb") as file:
                if self._upload(repository, blob, file):
                    return True
        raise PublishError(f"{self._name}: {repository}: the upload of {blob.digest} did not arrive whole")

    def _upload(self, repository: str, blob: Descriptor, file: IO[bytes]) -> bool:
        """One upload from its begin; False where it has to begin again."""
        begun = self._ask("POST", f"/v2/{repository}/blobs/uploads/")
        if begun.status_code != 202:
            raise self._unexpected(begun, repository)
        place, sent, furthest, failed = self._location(begun), 0, 0, 0
        while sent < blob.size:
            try:
                place, known = self._part(place, file, sent)
                if known is not None and known <= sent:
                    raise Unanswered(f"nothing arrived from byte {sent} on")
            except Unanswered as error:
                failed += 1
                self._give_up_after(failed, error)
                asked = self._ask("GET", place)
                if asked.status_code not in {200, 204}:
                    return False
                place, known = self._location(asked), arrived(asked, blob.size)
            if known is None or known > blob.size:
                return False
            # A registry that forgets and takes the same part again and again makes no progress, either.
            failed = 0 if known > furthest else failed
            sent, furthest = known, max(known, furthest)
        closed = self._ask("PUT", f"{place}{'&' if '?' in place else '?'}digest={blob.digest}")
        if closed.status_code not in {201, 400, 404, 416}:
            raise self._unexpected(closed, repository)
        return closed.status_code == 201 or self.has(repository, blob)

    def _part(self, place: str, file: IO[bytes], sent: int) -> tuple[str, int | None]:
        """Send the part from byte `sent` on; returns where the next one goes, and how many bytes have arrived."""
        file.seek(sent)
        part = file.read(PART)
        headers = {"Content-Type": "application/octet-stream", "Content-Range": f"{sent}-{sent + len(part) - 1}"}
        answer = self._once("PATCH", place, headers=headers, content=part)
        if answer.status_code in {202, 204}:
            return self._location(answer), arrived(answer, sent + len(part))
        if answer.status_code in BUSY | {404, 416, 499}:
            raise busy(answer)
        raise self._unexpected(answer, "an upload")

    def _location(self, answer: "httpx2.Response") -> str:
        found = answer.headers.get("Location", "")
        if not found:
            raise self._unexpected(answer, "an upload")
        place = place_in(found, f"{self._url}/", self._name)
        if urlsplit(place).scheme == "http" and urlsplit(self._url).scheme == "https":
            raise PublishError(f"{self._name}: an upload would go on in the clear, at {urlsplit(place).netloc}")
        return place

    def _ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> "httpx2.Response":
        """One request that may be said again, as often as that takes."""
        failed = 0
        while True:
            try:
                answer = self._once(method, path, headers=headers, content=content)
                if answer.status_code not in BUSY:
                    return answer
                raise busy(answer)
            except Unanswered as error:
                failed += 1
                self._give_up_after(failed, error)

    def _give_up_after(self, failed: int, error: Unanswered) -> None:
        if failed >= ATTEMPTS:
            raise PublishError(f"{self._name}: no answer after {failed} tries: {error}") from error
        self._pauses.before(failed, error.wait_s)

    def _once(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> "httpx2.Response":
        """One request, and once more with a token where the registry asks for one."""
        answer = self._send(method, path, headers or {}, content)
        if answer.status_code != 401:
            return answer
        self._authorization = self._authorized(answer)
        return self._send(method, path, headers or {}, content)

    def _send(self, method: str, path: str, headers: Mapping[str, str], content: bytes) -> "httpx2.Response":
        url = place_in(path, f"{self._url}/", self._name)
        # What a registry calls the place of an upload may lie elsewhere: that place gets no credentials.
        ours = urlsplit(url)[:2] == urlsplit(self._url)[:2]
        given = {**headers, "Authorization": self._authorization} if ours and self._authorization else headers
        return ask(self._http, self._name, method, url, headers=given, content=content)

    def _authorized(self, refused: "httpx2.Response") -> str:
        """What the registry wants to be told: our credentials, or a token that they buy."""
        asked = challenges(refused.headers.get("WWW-Authenticate", ""))
        if "bearer" not in asked and "basic" in asked and self._login.user:
            return _basic(self._login)
        told = asked.get("bearer", {})
        realm = told.get("realm", "")
        if not realm.startswith(("https://", "http://")):
            raise self._unexpected(refused, "log in")
        if goes_in_the_clear(place_in(realm, realm, self._name)):
            raise self._unexpected(refused, "log in")
        headers = {"Authorization": _basic(self._login)} if self._login.user else {}
        wanted = {name: word for name, word in told.items() if name in {"service", "scope"}}
        answer = ask(self._http, self._name, "GET", realm, params=wanted, headers=headers)
        if answer.status_code in BUSY:
            raise busy(answer, "log in: ")
        token = token_in(answer.content) if answer.status_code == 200 else ""
        if not token:
            raise PublishError(f"{self._name}: log in: {urlsplit(realm).hostname} gave no token ({answer.status_code})")
        return f"Bearer {token}"

    @property
    def _name(self) -> str:
        return urlsplit(self._url).netloc

    def _unexpected(self, answer: "httpx2.Response", what: str) -> PublishError:
        said = errors_in(answer.content)
        return PublishError(f"{self._name}: {what}: HTTP {answer.status_code}{f': {said}' if said else ''}")


def _basic(login: Login) -> str:
    from base64 import b64encode

    return f"Basic {b64encode(f'{login.user}:{login.password}'.encode()).decode()}"
