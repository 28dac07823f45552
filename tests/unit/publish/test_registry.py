"""The registry client against Debian's docker-registry, with connections that break."""

import hashlib
import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import httpx2
import pytest

from datasmith.docker.oci import CONFIG, LAYER, MANIFEST, Descriptor, OciLayout, image_config
from datasmith.errors import PublishError
from datasmith.publish import registry as module
from datasmith.publish.registry import ATTEMPTS, Login, Pauses, Registry
from tests.loopback.registry import PASSWORD, USER, CuttingProxy, free_port, registry

NO_PAUSES = Pauses(sleep=lambda _seconds: None)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


def client(port: int, login: Login | None = None) -> Registry:
    return Registry(f"http://127.0.0.1:{port}", login or Login(), httpx2.Client(timeout=30), NO_PAUSES)


def some_blob(place: Path, size: int, seed: int) -> tuple[Descriptor, Path]:
    """Bytes that no compression makes smaller."""
    data = random.Random(seed).randbytes(size)
    (place / "blob").write_bytes(data)
    return Descriptor(LAYER, f"sha256:{hashlib.sha256(data).hexdigest()}", size), place / "blob"


def test_a_blob_arrives_once(port: int, tmp_path: Path) -> None:
    """The second upload sends nothing; a blob of another digest is not there."""
    blob, path = some_blob(tmp_path, 300_000, 1)
    one = client(port)
    assert not one.has("formulacode/all", blob)
    assert one.put_blob("formulacode/all", blob, path) and one.has("formulacode/all", blob)
    assert not one.put_blob("formulacode/all", blob, path)


@pytest.mark.parametrize("cuts", [1, 6])
def test_an_upload_survives_cut_connections(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: int
) -> None:
    """An upload whose connection is cut again and again arrives whole, byte for byte."""
    monkeypatch.setattr(module, "PART", 400_000)
    blob, path = some_blob(tmp_path, 5_000_000, cuts + 10)
    with CuttingProxy(port, cut_after=650_000, cuts=cuts).running() as proxy:
        assert client(proxy.port).put_blob("cut/all", blob, path)
        assert proxy.made == cuts
    answer = httpx2.get(f"http://127.0.0.1:{port}/v2/cut/all/blobs/{blob.digest}")
    assert hashlib.sha256(answer.content).hexdigest() == blob.digest.removeprefix("sha256:")


def test_an_upload_goes_on_where_it_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the registry keeps what arrived, only the rest is sent: as the OCI distribution specification says."""
    monkeypatch.setattr(module, "PART", 1000)
    blob, path = some_blob(tmp_path, 3500, 5)
    kept = bytearray()
    sent: list[int] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "HEAD":
            return httpx2.Response(404)
        if request.method == "PATCH":
            begin = int(request.headers["Content-Range"].partition("-")[0])
            assert begin == len(kept)
            sent.append(len(request.content))
            broken = len(sent) in {2, 3}
            kept.extend(request.content[:300] if broken else request.content)
            if broken:
                raise httpx2.ReadError("cut")
        if request.method == "PUT":
            whole = f"sha256:{hashlib.sha256(kept).hexdigest()}" == request.url.params["digest"]
            return httpx2.Response(201 if whole else 400)
        code = 204 if request.method == "GET" else 202
        return httpx2.Response(code, headers={"Location": "/up?_state=x", "Range": f"0-{max(0, len(kept) - 1)}"})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    assert Registry("https://registry.example.org", Login(), http, NO_PAUSES).put_blob("a/b", blob, path)
    assert bytes(kept) == path.read_bytes() and sent == [1000, 1000, 1000, 1000, 900]


def test_a_connection_that_never_gets_anywhere_fails(port: int, tmp_path: Path) -> None:
    """Cuts without end are an error after so many tries, and the blob is not said to be there."""
    blob, path = some_blob(tmp_path, 900_000, 2)
    error = pytest.raises(PublishError, match=rf"no answer after {ATTEMPTS} tries|did not arrive whole")
    with CuttingProxy(port, cut_after=10_000, cuts=10_000).running() as proxy, error:
        client(proxy.port).put_blob("never/all", blob, path)
    assert not client(port).has("never/all", blob)


def test_nobody_there_is_an_error_that_names_the_host() -> None:
    """Not a missing image."""
    port = free_port()
    with pytest.raises(PublishError, match=f"127.0.0.1:{port}: no answer after"):
        client(port).digest("a/b", "latest")


def test_a_manifest_is_there_under_its_digest(port: int, tmp_path: Path) -> None:
    """A manifest that names blobs that are not there is refused; afterwards tag and digest lead to the same."""
    layout = OciLayout(tmp_path / "layout")
    config = layout.add(image_config([], environment={}, labels={}, user="0:0", workdir="/"), CONFIG)
    manifest = layout.finish("one", config, [], {"a": "b"})
    one = client(port)
    with pytest.raises(PublishError, match="HTTP 4"):
        one.put_manifest("m/all", "one", manifest.data, manifest.descriptor)
    assert one.digest("m/all", "one") is None
    for blob in manifest.blobs:
        one.put_blob("m/all", blob, layout.blob(blob.digest))
    one.put_manifest("m/all", "one", manifest.data, manifest.descriptor)
    assert one.digest("m/all", "one") == one.digest("m/all", manifest.descriptor.digest) == manifest.descriptor.digest
    wrong = Descriptor(MANIFEST, "sha256:" + "0" * 64, 1)
    with pytest.raises(PublishError, match="not sha256:000"):
        one.put_manifest("m/all", "one", manifest.data, wrong)


def test_credentials_are_sent_where_they_are_asked_for(tmp_path: Path) -> None:
    """A registry with a login takes the right one; without one, or with a wrong one, the error holds no password."""
    blob, path = some_blob(tmp_path, 1000, 3)
    with registry(tmp_path / "registry", login=True) as port:
        assert client(port, Login(USER, PASSWORD)).put_blob("secret/all", blob, path)
        for login in (Login(), Login(USER, "wrong-word-2")):
            with pytest.raises(PublishError) as error:
                client(port, login).put_blob("secret/all", blob, path)
            assert "wrong-word-2" not in str(error.value) and "401" in str(error.value)
    assert PASSWORD not in repr(Login(USER, PASSWORD))


def test_a_token_server_is_asked_with_the_scope(tmp_path: Path) -> None:
    """A bearer challenge is answered by a token of its realm; a realm in the clear on another machine gets nothing."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if request.url.path == "/token":
            return httpx2.Response(200, json={"token": "bought"})
        if request.headers.get("Authorization") == "Bearer bought":
            return httpx2.Response(200, headers={"Docker-Content-Digest": "sha256:" + "a" * 64})
        told = f'Bearer realm="{realm}",service="reg",scope="repository:a/b:pull"'
        return httpx2.Response(401, headers={"WWW-Authenticate": told})

    realm = "https://auth.example.org/token"
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    one = Registry("https://registry.example.org", Login("u", "p"), http, NO_PAUSES)
    assert one.digest("a/b", "t") == "sha256:" + "a" * 64
    (token,) = [request for request in asked if request.url.path == "/token"]
    assert dict(token.url.params) == {"service": "reg", "scope": "repository:a/b:pull"}
    assert token.headers["Authorization"].startswith("Basic ")
    realm = "http://auth.example.org/token"
    asked.clear()
    with pytest.raises(PublishError, match="HTTP 401"):
        Registry("https://registry.example.org", Login("u", "p"), http, NO_PAUSES).digest("a/b", "t")
    assert [request.url.host for request in asked] == ["registry.example.org"]


def test_the_place_of_an_upload_elsewhere_gets_no_credentials(tmp_path: Path) -> None:
    """A Location on another host is followed without the token."""
    seen: dict[str, str | None] = {}

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen[f"{request.method} {request.url.host}"] = request.headers.get("Authorization")
        if request.method == "HEAD":
            authorized = "Authorization" in request.headers
            return httpx2.Response(404 if authorized else 401, headers={"WWW-Authenticate": "Basic realm=x"})
        if request.method == "POST":
            return httpx2.Response(202, headers={"Location": "https://storage.example.net/up"})
        there = {"Location": "https://storage.example.net/up", "Range": "0-999"}
        return httpx2.Response(201 if request.method == "PUT" else 202, headers=there)

    blob, path = some_blob(tmp_path, 1000, 4)
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    assert Registry("https://registry.example.org", Login("u", "p"), http, NO_PAUSES).put_blob("a/b", blob, path)
    assert seen["POST registry.example.org"] and seen["PATCH storage.example.net"] is None


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_blob_that_lies_elsewhere_is_there(tmp_path: Path, code: int) -> None:
    """Registries with an object store behind them say where a blob lies; nobody else is asked, nothing is sent."""
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.host}")
        return httpx2.Response(code, headers={"Location": "https://storage.example.net/blob"})

    blob, path = some_blob(tmp_path, 1000, 5)
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    assert not Registry("https://registry.example.org", Login("u", "p"), http, NO_PAUSES).put_blob("a/b", blob, path)
    assert asked == ["HEAD registry.example.org"]


def _answering(ranges: Iterator[str], asked: list[str]) -> httpx2.Client:
    """A registry without the blob that takes every part, and says of each that these bytes have arrived."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.method)
        if request.method == "HEAD":
            return httpx2.Response(404)
        if request.method == "PUT":
            return httpx2.Response(201)
        code = 204 if request.method == "GET" else 202
        told = {} if request.method == "POST" else {"Range": next(ranges)}
        return httpx2.Response(code, headers={"Location": "/up", **told})

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("ranges", [["0-0"], ["0-999", "0-0", "0-0"]])
def test_an_upload_without_progress_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranges: list[str]) -> None:
    """Parts that are taken and do not arrive, or are forgotten again, are tried ATTEMPTS times, with pauses."""
    monkeypatch.setattr(module, "PART", 1000)
    blob, path = some_blob(tmp_path, 3500, 6)
    asked: list[str] = []
    slept: list[float] = []
    one = Registry("https://r.example.org", Login(), _answering(cycle(ranges), asked), Pauses(sleep=slept.append))
    with pytest.raises(PublishError, match=f"after {ATTEMPTS} tries: nothing arrived"):
        one.put_blob("a/b", blob, path)
    assert asked.count("PATCH") <= 2 * ATTEMPTS and len(slept) == ATTEMPTS - 1


def test_one_byte_arrives(tmp_path: Path) -> None:
    """The answer to it is "0-0", which is none where more was sent."""
    asked: list[str] = []
    blob, path = some_blob(tmp_path, 1, 7)
    assert Registry("https://r.example.org", Login(), _answering(cycle(["0-0"]), asked), NO_PAUSES).put_blob(
        "a/b", blob, path
    )
    assert asked == ["HEAD", "POST", "PATCH", "PUT"]


def test_a_busy_registry_is_asked_when_it_says() -> None:
    """No sooner than its Retry-After, and not next year either; without one as soon as after any failure."""
    waited: list[float] = []
    asked = iter([{"Retry-After": "90"}, {"Retry-After": "99999999"}, {}])

    def answer(_request: httpx2.Request) -> httpx2.Response:
        headers = next(asked, None)
        return httpx2.Response(404) if headers is None else httpx2.Response(429, headers=headers)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    pauses = Pauses(first_s=1.0, asked_s=200.0, sleep=waited.append)
    assert Registry("https://r.example.org", Login(), http, pauses).digest("a/b", "one") is None
    assert waited == [90.0, 200.0, 4.0]


def test_a_token_is_bought_where_a_registry_takes_both() -> None:
    """Its challenge for a password comes first, in a header of its own, and is no reason to give up."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "auth.example.org":
            return httpx2.Response(200, json={"token": "bought"})
        if request.headers.get("Authorization") == "Bearer bought":
            return httpx2.Response(404)
        asked = ['Basic realm="r"', "Bearer realm=https://auth.example.org/t, service=r"]
        return httpx2.Response(401, headers=[("WWW-Authenticate", one) for one in asked])

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    for login in (Login(), Login("user", "word")):
        assert Registry("https://r.example.org", login, http, NO_PAUSES).digest("a/b", "one") is None
