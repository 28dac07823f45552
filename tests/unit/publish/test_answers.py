"""Registries that answer what no specification knows: one line that names them, at once; outages are tried again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import httpx2
import pytest

from datasmith.docker.oci import LAYER, Descriptor
from datasmith.errors import PublishError
from datasmith.publish.answers import challenges, wait_asked
from datasmith.publish.images import ImagePublisher, Reference, read_index
from datasmith.publish.registry import ATTEMPTS, Login, Pauses, Registry
from datasmith.settings import Settings

HOST = "registry.example.org"
DEEP = b"[" * 200_000
Answer = Callable[[httpx2.Request], httpx2.Response]


def login(realm: str = "https://auth.example.org/token", **said: bytes | str) -> Answer:
    """Wants a token of this realm, which answers with `token`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "auth.example.org":
            packed = {"Content-Encoding": "gzip"} if "packed" in said else {}
            return httpx2.Response(200, headers=packed, stream=httpx2.ByteStream(bytes(said["token"])))  # type: ignore[arg-type]
        return httpx2.Response(401, headers={"WWW-Authenticate": f'Bearer realm="{realm}",service="x"'})

    return answer


def upload(location: str, reach: str = "0-0") -> Answer:
    """Takes uploads at a strange place, or says strange things of how far one is."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        code = {"HEAD": 404, "GET": 404}.get(request.method, 202)
        return httpx2.Response(code, headers={"Location": location, "Range": reach})

    return answer


def said(code: int, body: bytes, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: httpx2.Response(code, headers=names, stream=httpx2.ByteStream(body))


ODD: dict[str, Answer] = {
    "errors null": said(403, b'{"errors": null}'),
    "errors number": said(403, b'{"errors": 5}'),
    "errors of numbers": said(403, b'{"errors": [5]}'),
    "deep errors": said(403, DEEP),
    "no gzip": said(200, b"plain", Content_Encoding="gzip"),
    "realm no host": login("https://[bad/token"),
    "realm port": login("https://x:999999/token"),
    "realm control": login("https://exa mple/\x01token"),
    "token gzip": login(token=b"plain", packed="yes"),
    "token deep": login(token=DEEP),
    "token list": login(token=b"[]"),
    "token newline": login(token=b'{"token": "a\\nb"}'),
    "token letters": login(token='{"token": "\u2603"}'.encode()),
}


def registry(answer: Answer, asked: list[httpx2.Request]) -> Registry:
    def noted(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return answer(request)

    http = httpx2.Client(transport=httpx2.MockTransport(noted))
    return Registry(f"https://{HOST}", Login("u", "p"), http, Pauses(sleep=lambda _seconds: None))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_one_line_and_asked_for_once(name: str) -> None:
    """Whatever it is: no other error comes out, and it is not taken for an outage."""
    asked: list[httpx2.Request] = []
    with pytest.raises(PublishError, match=rf"^{HOST}: [^\n]*$"):
        registry(ODD[name], asked).manifest("a/b", "t")
    assert len(asked) <= 2


@pytest.mark.parametrize("location", ["http://[bad/x", "https://h:99999999/x", "ftp://h/x"])
def test_an_upload_to_no_place_ends_at_once(tmp_path: Path, location: str) -> None:
    """The place of an upload is a URL, or the registry is named with what it said."""
    asked: list[httpx2.Request] = []
    with pytest.raises(PublishError, match=rf"^{HOST}: .* is no URL$"):
        registry(upload(location), asked).put_blob("a/b", *blob(tmp_path))
    assert len(asked) == 2


def test_a_reach_of_thousands_of_digits_is_none(tmp_path: Path) -> None:
    """The upload begins again, and ends in one line."""
    with pytest.raises(PublishError, match="did not arrive whole"):
        registry(upload("/u", "0-" + "9" * 5000), []).put_blob("a/b", *blob(tmp_path))


def test_a_busy_token_server_is_an_outage() -> None:
    """It is asked again, and the log-in goes on when it answers; broken connections likewise."""
    tries: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "auth.example.org":
            tries.append("token")
            if len(tries) == 1:
                raise httpx2.ReadError("cut")
            return httpx2.Response(503) if len(tries) == 2 else httpx2.Response(200, json={"token": "abc"})
        if request.headers.get("Authorization") == "Bearer abc":
            return httpx2.Response(200, content=b"{}")
        return login()(request)

    assert registry(answer, []).manifest("a/b", "t") == b"{}" and len(tries) == 3
    asked: list[httpx2.Request] = []
    with pytest.raises(PublishError, match=f"no answer after {ATTEMPTS} tries: HTTP 503"):
        registry(said(503, b""), asked).manifest("a/b", "t")
    assert len(asked) == ATTEMPTS


def test_an_index_without_bottom_is_left_as_it_is() -> None:
    """Deep JSON is no index."""
    with pytest.raises(PublishError, match="left as it is"):
        read_index(DEEP, "sha256-0")


@pytest.mark.parametrize(
    ("scheme", "registries", "url"),
    [
        ("https", "http://localhost:5000/a", "https://localhost:5000"),
        ("https", "docker.io/a", "https://localhost:5000"),
        ("http", "https://localhost:5000/a", "http://localhost:5000"),
        ("", "https://localhost:5000/a", "https://localhost:5000"),
        ("", "docker.io/a", "http://localhost:5000"),
    ],
)
def test_a_published_image_is_asked_for_as_it_was_reached(
    scheme: Literal["", "http", "https"], registries: str, url: str
) -> None:
    """Whatever the settings say today; they decide only where nobody noted it."""
    settings = Settings.model_validate({"registries": registries})
    publisher = ImagePublisher(settings, lambda: pytest.fail("no engine is needed"))
    place = publisher._place(Reference(host="localhost:5000", repository="a/all", tag="t", scheme=scheme))
    assert place.url == url


@pytest.mark.parametrize("location", ["http://registry.example.org/up", "http://storage.example.net/up"])
def test_an_upload_does_not_leave_https(tmp_path: Path, location: str) -> None:
    """A Location of http is refused in one line, and nothing is sent there."""
    asked: list[httpx2.Request] = []
    with pytest.raises(PublishError, match="an upload would go on in the clear, at"):
        registry(upload(location), asked).put_blob("a/b", *blob(tmp_path))
    assert [(request.method, request.url.scheme) for request in asked] == [("HEAD", "https"), ("POST", "https")]


def blob(place: Path) -> tuple[Descriptor, Path]:
    (place / "blob").write_bytes(b"hello")
    return Descriptor(LAYER, f"sha256:{hashlib.sha256(b'hello').hexdigest()}", 5), place / "blob"


DAY = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("after", "seconds"),
    [("90", 90.0), ("Wed, 21 Oct 2026 07:29:30 GMT", 90.0), (DAY, 0.0), ("", 0.0), ("-5", 0.0), ("soon", 0.0)],
)
def test_a_registry_says_how_long_it_is_busy(after: str, seconds: float) -> None:
    """In seconds, or until a moment by its own clock; what cannot be read asks for nothing."""
    assert wait_asked(after, DAY) == seconds
    assert wait_asked("Wed, 21 Oct 2026 07:29:30 GMT", "") == 0.0


@pytest.mark.parametrize(
    "text",
    [
        'Bearer realm="https://a.org/t?x=1,2",service="s"',
        "Bearer realm=https://a.org/t?x=1, service=s",
        'Basic realm="x, y", Bearer realm="https://a.org/t?x=1,2", service="s"',
        'bearer  REALM = "https://a.org/t?x=1,2" , Service="s", Basic realm="x"',
    ],
)
def test_every_challenge_is_read(text: str) -> None:
    """In quotes or without, one or several in a header, in letters of any size."""
    found = challenges(text)["bearer"]
    assert found["realm"].startswith("https://a.org/t?x=1") and found["service"] == "s"
    assert challenges("") == {} and challenges('"=,') == {}
