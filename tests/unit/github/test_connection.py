"""Where GitHub is, and by which way it is reached."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasmith.errors import ConfigError
from datasmith.github import GitHubClient
from datasmith.github.connection import checked_url, graphql_url, proxy_for
from datasmith.github.tokens import TokenPool
from datasmith.settings import Settings, load_settings
from tests.loopback.github_server import github_server
from tests.loopback.github_world import LoopbackPull, LoopbackRepository


@pytest.mark.parametrize(
    ("base", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://github.example.org/api/v3", "https://github.example.org/api/graphql"),
        ("https://api.sub.ghe.com", "https://api.sub.ghe.com/graphql"),
    ],
)
def test_graphql_is_beside_the_rest_api(base: str, graphql: str) -> None:
    """On github.com below it, on an Enterprise server at a path of its own."""
    assert graphql_url(base) == graphql


@pytest.mark.parametrize(
    "url", ["github.com", "ftp://h", "https://", "https://u:p@h", "https://h?a=1", "http://h:99999", "http://[", ""]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """The error names the setting and gives an example."""
    with pytest.raises(ConfigError, match=r"^FC_GITHUB_URL.*example: FC_GITHUB_URL=https"):
        checked_url(url)


def test_tokens_do_not_travel_in_the_clear() -> None:
    """Http is for this machine only."""
    with pytest.raises(ConfigError, match="in the clear"):
        checked_url("http://github.example.org/api/v3")
    assert checked_url(" http://127.0.0.1:8000/ ") == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("no_proxy", "used"),
    [
        ("", True),
        ("example.org", False),
        (".example.org", False),
        ("*.example.org:443", False),
        ("localhost, GITHUB.example.org", False),
        ("*", False),
        ("ample.org", True),
        ("other.org", True),
        (",", True),
    ],
)
def test_hosts_without_a_proxy(no_proxy: str, used: bool) -> None:
    """NO_PROXY names hosts and domains; a part of a name is no domain."""
    found = proxy_for("https://github.example.org/api/v3", "http://proxy:3128", no_proxy)
    assert found == ("http://proxy:3128" if used else "")


def test_a_proxy_may_be_named_without_a_scheme() -> None:
    """proxy:3128 means http://proxy:3128; none is none."""
    assert proxy_for("https://h", "proxy:3128", "") == "http://proxy:3128"
    assert proxy_for("https://h", "", "") == ""


def test_settings_name_the_server_and_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Address, tokens, cache directory and time come from the environment at the first call, none before."""
    world = LoopbackRepository("o/r")
    world.add(LoopbackPull(1))
    monkeypatch.chdir(tmp_path)
    with github_server(world) as server:
        client = GitHubClient(TokenPool())
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("FC_GITHUB_URL", server.url)
        monkeypatch.setenv("GH_TOKENS", "token-x,token-y")
        monkeypatch.setenv("FC_GITHUB_CACHE_DIR", str(tmp_path / "replies"))
        assert asyncio.run(client.get_pr("o", "r", 1)) is not None
        assert asyncio.run(GitHubClient().get_pr("o", "r", 1)) is not None
        assert set(server.tokens_seen) <= {"token-x", "token-y"}
        assert dict(server.statuses) == {200: 1, 304: 1}
    assert len(list((tmp_path / "replies").iterdir())) == 1


def test_a_missing_ca_bundle_is_named(tmp_path: Path) -> None:
    """The error names the setting and the file."""
    settings = Settings().model_copy(update={"ca_bundle": tmp_path / "none.pem"})
    client = GitHubClient(TokenPool(["t"]), base_url="https://127.0.0.1:1", settings=settings)
    with pytest.raises(ConfigError, match=r"^FC_CA_BUNDLE.*none\.pem"):
        asyncio.run(client.get_pr("o", "r", 1))


def test_a_ca_bundle_without_certificates_is_named(tmp_path: Path) -> None:
    """A file that is there and holds none is a wrong setting, not a defect."""
    wrong = tmp_path / "notes.pem"
    wrong.write_text("no certificate")
    settings = Settings().model_copy(update={"ca_bundle": wrong})
    client = GitHubClient(TokenPool(["t"]), base_url="https://127.0.0.1:1", settings=settings)
    with pytest.raises(ConfigError, match=r"^FC_CA_BUNDLE: .*notes\.pem holds no certificate.*example"):
        asyncio.run(client.get_pr("o", "r", 1))


@pytest.mark.parametrize(
    "proxy", ["socks5://me:hidden@127.0.0.1:1", "ftp://h", "proxy:3128:hidden", "http://me:hidden@:1", "http://[hidden"]
)
def test_a_proxy_that_cannot_be_used_is_a_wrong_setting(proxy: str) -> None:
    """The error names the setting and not the value, which may hold a password."""
    with pytest.raises(ConfigError, match=r"^HTTPS_PROXY .*example: HTTPS_PROXY=") as caught:
        proxy_for("https://h", proxy, "")
    assert "hidden" not in str(caught.value)


def test_calls_go_through_the_proxy() -> None:
    """With HTTPS_PROXY a call asks the proxy for a tunnel to GitHub, and for nothing in the clear."""
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        address = SecretStr(f"http://127.0.0.1:{proxy.server_port}")
        settings = Settings().model_copy(update={"https_proxy": address, "no_proxy": ""})

        async def work() -> None:
            client = GitHubClient(TokenPool(["t"]), base_url="https://api.github.test", settings=settings)
            async with client:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.get_pr("o", "r", 1), 1.0)

        asyncio.run(work())
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
    assert asked and set(asked) == {"api.github.test:443"}


def test_secrets_of_the_settings_are_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tokens and the proxy's password are in no representation of the settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GH_TOKENS", "ghp_secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hidden@proxy:1")
    settings = load_settings()
    assert settings.gh_tokens.get_secret_value() == "ghp_secret"
    assert settings.https_proxy.get_secret_value() == "http://me:hidden@proxy:1"
    assert "ghp_secret" not in repr(settings) and "hidden" not in repr(settings)
