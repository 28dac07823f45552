"""The gateway on real sockets: what passes, what is refused, what is heard."""

import gzip
import http.client
import json
import socket
import ssl
import threading
from pathlib import Path

import pytest

from datasmith import process
from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.gateway import SOCKET, Gateway, Upstream
from datasmith.agents.coding.inside.launch import STOP_PATH
from datasmith.agents.coding.prices import Price
from datasmith.agents.coding.questions import Models
from datasmith.agents.coding.trajectory import outage
from tests.loopback.model_server import Model, Run, playing
from tests.unit.agents.coding.asking import KEY, QUESTION, Over, ask, gateway


def test_a_question_is_asked_with_the_hosts_key() -> None:
    """Below the directory of the address; the sandbox's own key goes nowhere, parameters of the run lie in it."""
    with playing(Run("ls")) as model, gateway(model.url, temperature=0) as to:
        status, said = ask(to, "/v1/responses?key=mine&a=b", Authorization="Bearer mine", Cookie="c=d")
        assert status == 200 and b"response.completed" in said
        (asked,) = model.asked
        assert (asked.path, asked.key, asked.body["temperature"]) == ("/base/v1/responses", KEY, 0)
        (exchange,) = to.ledger.exchanges
        assert exchange.answered and exchange.reply.tokens.input == 11 and exchange.reply.said[0].kind == "tool_call"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/files"), ("POST", "/v1/files"), ("POST", "/v1/%2e%2e/v1/responses"), ("GET", "http://example.org/"),
        ("HEAD", "/"), ("POST", "/v1/responses/compact"), ("POST", "/v1/files#/messages"),
        ("POST", "/v1/files;/messages"), ("GET", "/v1/files#/models"), ("GET", "/v1/files/models"),
        ("POST", "/v1/messages?a#b"), ("GET", "/v1/models?a#b"),
    ],
)  # fmt: skip
def test_nothing_but_the_model_can_be_asked(method: str, path: str) -> None:
    """Neither other services behind the key, nor another host."""
    with playing() as model, gateway(model.url) as to:
        assert ask(to, path, method=method)[0] == 403 and not model.asked


def test_only_the_agreed_model_is_asked() -> None:
    """Another one, one that searches the web, and content that the provider would fetch are refused; nothing leaves."""
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    with playing() as model:
        upstream = Upstream(model.url, "Authorization", KEY, models=Models("gpt"))
        with Gateway(upstream, Ledger(Budget())) as to:
            for name in ("gpt-large", "gpt:online", "", None):
                assert ask(to, body={**QUESTION, "model": name})[0] == 403
            assert ask(to, body={**QUESTION, "input": [{"content": [image]}]})[0] == 403
            assert ask(to, "/v1beta/models/other:generateContent", {"model": "gpt", "contents": []})[0] == 403
            assert not model.asked and not to.ledger.exchanges
            assert ask(to)[0] == 200
            assert ask(to, "/v1beta/models/gpt:generateContent?alt=json", {"contents": []})[0] == 200


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that only itself vouches for, with its key beside it as key.pem."""
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=model"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "model.pem"]
    done = process.run(words, cwd=tmp_path, timeout=60)
    assert done.ok, done.error_text
    return tmp_path / "model.pem"


def test_an_address_with_https_is_asked_over_tls(certificate: Path) -> None:
    """With the authorities of the settings; whom none vouches for is told nothing, the key least of all."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with playing(tls=tls) as model:
        for bundle, status in ((certificate, 200), (None, 502)):
            upstream = Upstream(model.url, "Authorization", KEY, ca_bundle=bundle)
            with Gateway(upstream, Ledger(Budget())) as to:
                found, said = ask(to)
                assert found == status and (status == 200 or b"certificate verify failed" in said), said
        upstream = Upstream(model.url, "Authorization", KEY, ca_bundle=certificate.with_name("gone.pem"))
        with Gateway(upstream, Ledger(Budget())) as to:
            found, said = ask(to)
            assert found == 502 and b"cannot be reached" in said
            assert outage(to.ledger.exchanges), "it is not the agent that failed"
        assert [asked.key for asked in model.asked] == [KEY]


def test_side_questions_pass_and_count_nothing() -> None:
    """Counting tokens is no step."""
    with playing() as model, gateway(model.url, Budget(max_steps=1)) as to:
        assert ask(to, "/v1/messages/count_tokens")[0] == 200 and not to.ledger.exchanges
        assert ask(to)[0] == 200 and ask(to)[0] == 403 and len(model.asked) == 2


def test_a_side_question_holds_nothing_that_would_be_fetched() -> None:
    """Neither an address in its content, under whatever name, nor a tool of the provider's."""
    far = {"type": "file", "file": {"filename": "d.pdf", "file_data": "https://example.org/d.pdf"}}
    with playing() as model, gateway(model.url) as to:
        for path in ("/v1/messages/count_tokens", "/v1beta/models/gpt:countTokens"):
            assert ask(to, path, {"messages": [{"content": [far]}]})[0] == 403
            assert ask(to, path, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]})[0] == 403
        assert ask(to, body={**QUESTION, "input": [{"content": [far]}]})[0] == 403 and not model.asked


FAR = b'{"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]}]'


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(FAR + b"}"), FAR + b', "system": "\xff"}', FAR + b', "x": ' + b"[" * 1500 + b"]" * 1500 + b"}",
        FAR, b"[" + FAR + b"}]", b"{}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages"])
def test_what_is_not_read_is_not_asked(path: str, data: bytes) -> None:
    """Packed, broken or too deep for this side: the provider may still read it, and fetch what it names."""
    with playing() as model, gateway(model.url) as to:
        connection = Over(to.directory / SOCKET)
        connection.request("POST", path, data, {"Content-Encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.status == 403 and b"only a JSON object" in answer.read()
        assert not model.asked and not to.ledger.exchanges


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages"])
def test_what_was_read_is_what_is_asked(path: str) -> None:
    """In our own words: no reader finds more in them, whatever they were called; of headers those that are known."""
    twice = b'{"model": "m", "messages": [], "system": "https://example.org", "system": "\xc3\xa9"}'
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def model() -> None:
        connection, _ = listener.accept()
        with connection:
            while b"}" not in b"".join(heard):
                heard.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    threading.Thread(target=model, daemon=True).start()
    with listener, gateway(f"http://127.0.0.1:{listener.getsockname()[1]}") as to:
        connection = Over(to.directory / SOCKET)
        odd = {"Content-Encoding": "identity", "Content-Type": "text/plain; charset=utf-7", "Anthropic-Beta": "a-1"}
        odd |= {"X-Envoy-Upstream-Rq-Timeout-Ms": "1", "X-Stainless-Retry-Count": "0", "X-Api-Key": "mine"}
        connection.request("POST", path, twice, odd)
        assert connection.getresponse().status == 200
    head, _, body = b"".join(heard).partition(b"\r\n\r\n")
    assert json.loads(body) == {"model": "m", "messages": [], "system": "\xe9"} and b"example.org" not in body
    assert b"content-encoding" not in head.lower() and b"utf-7" not in head
    assert b"\r\nContent-Type: application/json" in head
    assert b"\r\nAnthropic-Beta: a-1" in head and b"\r\nX-Stainless-Retry-Count: 0" in head
    assert b"x-envoy" not in head.lower() and b"x-api-key" not in head.lower(), "a proxy would do as they say"


@pytest.mark.parametrize(
    "request_head",
    [
        b"POST /v1/responses?\x7f HTTP/1.1", b"POST /v1/responses?\xc3\xa9 HTTP/1.1",
        b"POST /v1/responses?\x01 HTTP/1.1", b"POST /v1/responses HTTP/1.1\r\nX-A: a\r\n b",
        b"POST /v1/responses HTTP/1.1\r\nX-A: \x00", b"POST /v1/responses HTTP/1.1\r\nX(A: a",
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_built_is_no_outage(request_head: bytes) -> None:
    """It never leaves this machine: an agent could have its trial thrown away by it."""
    with playing() as model, gateway(model.url) as to:
        assert ask(to)[0] == 200
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
            end.settimeout(20)
            end.connect(str(to.directory / SOCKET))
            end.sendall(request_head + b"\r\nHost: m\r\nContent-Length: 16\r\n\r\n" + b'{"model": "gpt"}')
            assert end.recv(65536).startswith(b"HTTP/1.1 403 ")
        assert len(to.ledger.exchanges) == len(model.asked) == 1 and outage(to.ledger.exchanges) is None


def test_a_refusal_is_short() -> None:
    """However much is wrong; and nothing of it is kept."""
    tools = [{"type": f"{number:0100}"} for number in range(1000)]
    images = [{f"{number:080}_url": "https://example.org"} for number in range(1000)]
    with playing() as model, gateway(model.url) as to:
        for body in ({**QUESTION, "tools": tools}, {**QUESTION, "input": images}):
            status, said = ask(to, body=body)
            assert status == 403 and b" and 995 more" in said and len(said) < 1000


def test_the_launcher_hears_of_the_end_of_a_budget() -> None:
    """Its open question is answered then, and not when the gateway closes."""
    heard: list[bytes] = []

    def wait(to: Gateway) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as end:
            end.settimeout(20)
            end.connect(str(to.directory / SOCKET))
            end.sendall(f"GET {STOP_PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            heard.append(end.recv(1))

    for budget, told in ((Budget(max_steps=1), b"H"), (Budget(), b"")):
        with playing() as model, gateway(model.url, budget) as to:
            waiting = threading.Thread(target=wait, args=(to,))
            waiting.start()
            assert [ask(to)[0] for _ in range(2)] == ([200, 403] if told else [200, 200])
            if told:
                waiting.join()
        waiting.join()
        assert heard.pop() == told


def test_a_stream_of_chat_completions_tells_its_tokens() -> None:
    """Whatever the agent asked for: without them nobody knows what the answer cost."""
    body = {"model": "gpt", "messages": [], "stream": True, "stream_options": {"include_usage": False, "other": 1}}
    with playing() as model, gateway(model.url) as to:
        assert ask(to, "/chat/completions", body)[0] == 200
        assert ask(to, "/chat/completions", {**body, "stream_options": None})[0] == 200
        assert ask(to, "/chat/completions", {"model": "gpt", "messages": []})[0] == 200
        assert ask(to)[0] == 200
    asked = [each.body.get("stream_options") for each in model.asked]
    assert asked == [{"include_usage": True, "other": 1}, {"include_usage": True}, None, None]


def test_every_name_can_be_written() -> None:
    """Of a model, too: half a character, which JSON can say, is in no file."""
    with playing() as model, gateway(model.url) as to:
        ask(to, body={**QUESTION, "model": "gpt-\ud800"})
        assert [each.model for each in to.ledger.exchanges] == ["gpt-?"]


def test_failures_are_passed_on_and_noted() -> None:
    """A status of the model's, and a model that is gone; neither is an answer."""
    with playing(others={"gpt": Model(status=529)}) as model:
        url = model.url
        with gateway(url) as to:
            assert ask(to)[0] == 529 and [each.status for each in to.ledger.exchanges] == [529]
            assert to.upstream.place.trouble() == ""
    with gateway(url) as to:
        assert ask(to)[0] == 502 and to.upstream.place.trouble() == "Connection refused"
        (exchange,) = to.ledger.exchanges
        assert exchange.status is None and "refused" in exchange.trouble


def test_an_answer_that_breaks_off_is_none() -> None:
    """The sandbox sees the connection end, the ledger a step without an answer."""
    listener = socket.create_server(("127.0.0.1", 0))

    def broken() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")

    threading.Thread(target=broken, daemon=True).start()
    budget = Budget(max_steps=2, max_cost_usd=1, fallback=Price(input=0, output=1000))
    with (
        listener,
        gateway(f"http://127.0.0.1:{listener.getsockname()[1]}", budget, max_output_tokens=100) as to,
    ):
        with pytest.raises(http.client.IncompleteRead):
            ask(to)
        assert to.ledger.admit({}) == "", "no more was allowed than what the run's own parameters bind it to"
        assert ask(to)[0] == 403 and to.ledger.stopped_by == "max_steps=2"
        assert "broke off" in to.ledger.exchanges[0].trouble and not to.ledger.exchanges[0].answered


def test_a_question_in_chunks_is_read() -> None:
    """And one that is too long, or has no length, is refused."""
    with playing() as model, gateway(model.url) as to:
        connection = Over(to.directory / SOCKET)
        parts = iter([b'{"model": "gpt", ', b'"input": []}'])
        connection.request("POST", "/v1/responses", parts, {}, encode_chunked=True)
        assert connection.getresponse().status == 200 and model.asked[0].body["model"] == "gpt"
        for size in ("x", "9999999999"):
            connection = Over(to.directory / SOCKET)
            connection.request("POST", "/v1/responses", None, {"Content-Length": size})
            assert connection.getresponse().status == 413
