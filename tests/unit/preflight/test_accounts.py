"""Accounts elsewhere: asked for real, on loopback."""

import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasmith.errors import ConfigError
from datasmith.preflight import accounts
from datasmith.preflight.base import Answer, Facts
from datasmith.preflight.web import MOST_BYTES, ask
from datasmith.settings import Settings
from tests.unit.preflight.loopback import serving

SETTINGS = Settings.model_construct()
CORE = {"resources": {"core": {"remaining": 4998}}}


def facts(**settings: object) -> Facts:
    """Facts with these settings and nothing else of this machine."""
    return Facts(Settings.model_construct(**settings), {})  # type: ignore[arg-type]


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_no_account_is_needed_to_start() -> None:
    """Without any setting nothing fails, nothing is asked, and each line says what could be set."""
    checks = (accounts.github_tokens, accounts.model, accounts.docker_hub, accounts.registries, accounts.hugging_face)
    answers = [check(facts()) for check in checks]
    assert {answer.state for answer in answers} == {"SKIP"} and all(answer.todo for answer in answers)
    assert accounts.github_calls(facts()) == Answer("SKIP", "no token")


def test_every_registry_needs_a_login(tmp_path: Path) -> None:
    """Docker's file or the settings give it; a registry without one is named, and nothing is asked."""
    hub = facts(
        registries="docker.io/a", docker_config=tmp_path, dockerhub_username="me", dockerhub_token=SecretStr("t")
    )
    assert accounts.registries(hub) == Answer("OK", "docker.io/a")
    both = facts(registries="docker.io/a,ghcr.io/b", docker_config=tmp_path)
    answer = accounts.registries(both)
    assert answer.state == "FAIL" and answer.detail.endswith("no login for docker.io, ghcr.io")
    with pytest.raises(ConfigError, match="FC_REGISTRIES"):
        accounts.registries(facts(registries="nonsense"))


def test_tokens_are_counted_and_each_is_tried() -> None:
    """One call a token, with the token in its header; the calls that are left are added up."""
    with serving(lambda path, _: (200, CORE) if path == "/rate_limit" else (404, {})) as server:
        asked = facts(gh_tokens=SecretStr("a1, b2,,a1"), github_url=f"{server.url}/")
        assert accounts.github_tokens(asked) == Answer("OK", "2 token(s)")
        assert accounts.github_calls(asked) == Answer("OK", "remaining=9996")
    assert [token for _, _, token, _ in server.seen] == ["Bearer a1", "Bearer b2"]


def test_no_token_is_sent_in_the_clear() -> None:
    """The same addresses are refused that the client refuses, before anything is asked."""
    with pytest.raises(ConfigError, match="FC_GITHUB_URL: http would send the tokens in the clear"):
        accounts.github_calls(facts(gh_tokens=SecretStr("a"), github_url="http://github.example.org/api/v3"))


def test_publishing_tokens_are_not_sent_in_the_clear_either() -> None:
    """A mirror of the services is named by https; nothing is asked otherwise."""
    hub = facts(dockerhub_username="me", dockerhub_token=SecretStr("t"), dockerhub_url="http://hub.example.org")
    face = facts(hf_token=SecretStr("t"), hf_endpoint="http://hf.example.org")
    for found in (accounts.docker_hub(hub), accounts.hugging_face(face)):
        assert found.state == "FAIL" and "in the clear" in found.detail


def test_a_forge_that_needs_a_token_says_so() -> None:
    """Mining clones needs none, the API does."""
    found = accounts.github_tokens(replace(facts(), forge="github"))
    assert found.state == "FAIL" and "GH_TOKENS=" in found.todo and "--forge github" in found.detail
    assert accounts.github_tokens(replace(facts(), forge="offline")).state == "SKIP"


@pytest.mark.parametrize(
    ("status", "body", "says", "todo"),
    [
        (401, {"message": "Bad credentials"}, "token 2 of 2: refused with HTTP 401", "remove it from GH_TOKENS"),
        (403, {}, "refused with HTTP 403", "new one"),
        (500, b"<html>", "unexpected answer, HTTP 500", "FC_GITHUB_URL"),
        (200, b"<html>captive portal", "unexpected answer, HTTP 200", "FC_GITHUB_URL"),
        (200, {"resources": {"core": {"remaining": "many"}}}, "unexpected answer", "FC_GITHUB_URL"),
        (200, [], "unexpected answer", "FC_GITHUB_URL"),
        (302, "http://127.0.0.1:9/", "unexpected answer, HTTP 302", "FC_GITHUB_URL"),
    ],
)
def test_a_token_that_is_not_accepted_is_named_by_its_number(status: int, body: object, says: str, todo: str) -> None:
    """Never by its value; a redirect is not followed, so that no token goes where it is not meant for."""
    with serving(lambda _, token: (200, CORE) if token == "Bearer first" else (status, body)) as server:
        found = accounts.github_calls(facts(gh_tokens=SecretStr("first,second"), github_url=server.url))
    assert found.state == "FAIL" and says in found.detail and todo in found.todo
    assert "second" not in found.detail + found.todo


def test_no_calls_left_is_a_failure() -> None:
    """A run would wait at once."""
    with serving(lambda *_: (200, {"resources": {"core": {"remaining": 0}}})) as server:
        found = accounts.github_calls(facts(gh_tokens=SecretStr("a"), github_url=server.url))
    assert (found.state, found.detail) == ("FAIL", "remaining=0")


def test_nobody_there_is_told_from_not_let_in() -> None:
    """The line names what to set."""
    found = accounts.github_calls(facts(gh_tokens=SecretStr("a"), github_url=closed_port()))
    assert found.state == "FAIL" and "not reachable" in found.detail and "FC_GITHUB_URL" in found.todo


def test_the_model_must_be_offered() -> None:
    """The address answers, takes the key, and has the model; a list without names proves nothing against it."""
    offered = {"data": [{"id": "gpt-oss-120b"}, "odd"]}
    with serving(
        lambda path, token: (200, offered) if (path, token) == ("/v1/models", "Bearer k") else (401, {})
    ) as server:
        base = {"dspy_api_base": f"{server.url}/v1/", "dspy_api_key": SecretStr("k")}
        good = accounts.model(facts(dspy_model="openai/gpt-oss-120b", **base))
        assert (good.state, good.detail) == ("OK", f"openai/gpt-oss-120b at {server.url}/v1/")
        assert accounts.model(facts(dspy_model="gpt-oss-120b", **base)).state == "OK"
        other = accounts.model(facts(dspy_model="openai/other", **base))
        assert other.state == "FAIL" and "gpt-oss-120b" in other.todo
        refused = accounts.model(facts(dspy_model="openai/other", dspy_api_base=f"{server.url}/v1"))
        assert refused.state == "FAIL" and "DSPY_API_KEY" in refused.todo
    with serving(lambda *_: (200, {"data": []})) as server:
        assert accounts.model(facts(dspy_model="x", dspy_api_base=server.url)).state == "OK"
    assert "DSPY_API_BASE" in accounts.model(facts(dspy_model="x")).detail
    assert accounts.model(facts(dspy_model="x", dspy_api_base="localhost:1/v1")).state == "FAIL"


def test_docker_hub_wants_name_and_token() -> None:
    """They are sent as a log-in, once; half of it is a failure that names the other half."""
    with serving(lambda path, _: (200, {"access_token": "x"}) if path == "/v2/auth/token" else (404, {})) as server:
        both = {"dockerhub_username": "robot", "dockerhub_token": SecretStr("t0"), "dockerhub_url": server.url}
        assert accounts.docker_hub(facts(**both)) == Answer("OK", "robot can log in")
    assert server.seen == [("POST", "/v2/auth/token", "", b'{"identifier": "robot", "secret": "t0"}')]
    with serving(lambda *_: (401, {})) as server:
        assert accounts.docker_hub(facts(**{**both, "dockerhub_url": server.url})).state == "FAIL"
    for name, missing in (("dockerhub_username", "DOCKERHUB_TOKEN"), ("dockerhub_token", "DOCKERHUB_USERNAME")):
        found = accounts.docker_hub(facts(**{name: both[name]}))
        assert found.state == "FAIL" and missing in found.detail


def test_a_hugging_face_token_or_the_file_of_one(tmp_path: Path) -> None:
    """HF_TOKEN goes before HF_TOKEN_PATH; the account's name is shown."""
    path = tmp_path / "token"
    path.write_text("filed\n")
    with serving(lambda _, token: (200, {"name": "robot"}) if token != "Bearer bad" else (401, {})) as server:
        endpoint = {"hf_endpoint": server.url}
        assert accounts.hugging_face(facts(hf_token_path=path, **endpoint)) == Answer("OK", f"{path}, as robot")
        both = facts(hf_token=SecretStr("set"), hf_token_path=path, **endpoint)
        assert accounts.hugging_face(both) == Answer("OK", "HF_TOKEN, as robot")
        assert accounts.hugging_face(facts(hf_token=SecretStr("bad"), **endpoint)).state == "FAIL"
    assert [(where, token) for _, where, token, _ in server.seen][:2] == [
        ("/api/whoami-v2", "Bearer filed"),
        ("/api/whoami-v2", "Bearer set"),
    ]
    (tmp_path / "two").write_text("a\nb")
    for wrong in (tmp_path / "missing", tmp_path / "two"):
        with pytest.raises(ConfigError, match=r"HF_TOKEN_PATH .*example"):
            accounts.hugging_face(facts(hf_token_path=wrong))


def test_a_service_that_answers_forever_or_never_ends_the_check() -> None:
    """At most so many bytes, at most so many seconds; what is no HTTP is a value, too."""
    with serving(lambda *_: (200, b"[" * (2 * MOST_BYTES))) as server:
        assert ask(server.url, SETTINGS).body is None
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reply = ask(f"http://127.0.0.1:{silent.getsockname()[1]}/", SETTINGS, timeout=0.2)
    assert (reply.status, reply.ok) == (0, False) and "no whole answer within 0.2 s" in reply.problem
    assert ask("file:///etc/passwd", SETTINGS).problem == "the address must begin with https:// or http://"
    for wrong in ("http://[broken", "https://[broken", "http://127.0.0.1:9/ x", "http://127.0.0.1:99999/", "http://"):
        reply = ask(wrong, SETTINGS)
        assert reply.status == 0 and reply.problem, wrong


def test_an_answer_that_drips_ends_the_check() -> None:
    """The seconds are those of the whole answer: a byte now and then does not make more of them."""
    stopped = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            while not stopped.wait(0.05):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            reply = ask(f"http://127.0.0.1:{listener.getsockname()[1]}/", SETTINGS, timeout=0.5)
        finally:
            stopped.set()
            thread.join()
    assert reply.status == 0 and "no whole answer" in reply.problem


@pytest.mark.parametrize("token", ["tok\ten123", "tok\u2026en123", "tok\x00en123"])
def test_a_token_that_no_header_holds_is_not_shown(token: str, tmp_path: Path) -> None:
    """Whatever the library would say about it, it would repeat it."""
    path = tmp_path / "token"
    path.write_bytes(token.encode())
    found = accounts.hugging_face(facts(hf_token_path=path, hf_endpoint=closed_port()))
    assert found.state == "FAIL" and "no token has" in found.detail
    assert "en123" not in found.detail + found.todo


def test_services_are_reached_as_the_forge_is() -> None:
    """Proxy and certificates come from the settings, not from variables that only a library reads."""
    proxied = SETTINGS.model_copy(update={"https_proxy": SecretStr(closed_port()), "no_proxy": "huggingface.test"})
    with serving(lambda *_: (502, {})) as proxy:
        used = proxied.model_copy(update={"https_proxy": SecretStr(proxy.url)})
        assert "502" in ask("https://hub.test/v2/auth/token", used).problem
        assert ask(proxy.url, proxied).status == 502  # plain http goes straight
    missing = SETTINGS.model_copy(update={"ca_bundle": Path("/nonexistent.pem")})
    with pytest.raises(ConfigError, match="FC_CA_BUNDLE"):
        ask("https://hub.test/", missing)


def test_a_redirect_gets_no_token() -> None:
    """Not even to another port of this machine."""
    with serving(lambda *_: (200, {})) as other, serving(lambda *_: (302, f"{other.url}/")) as first:
        assert ask(first.url, SETTINGS, token="t").status == 302
    assert other.seen == [] and len(first.seen) == 1
