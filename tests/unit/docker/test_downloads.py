"""What scripts that download share, are told and reach: in real sandboxes, with an index on loopback."""

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from datasmith import process
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.cli_build import template
from datasmith.docker.egress import Destination, index_destinations
from datasmith.docker.engine import ContainerEngine, ImageRef, Tier
from datasmith.docker.origin import runs_only_ours
from datasmith.errors import BuildFailed, ConfigError
from tests.conformance.engines import said
from tests.integration.loopback_index import Release, serving
from tests.sandboxes import embedded_engine

ENV = "docker_build_env.sh"
FETCH = b"""set -eu
uv venv --quiet --no-config --python "$UV_PYTHON" "$FC_ENV"
uv pip install --quiet --no-config --python "$FC_ENV/bin/python" --only-binary :all: helper==1.0
find "$UV_CACHE_DIR" -type f | wc -l >"$FC_ENV/cached"
env >"$FC_ENV/told"
echo poison >"$UV_CACHE_DIR/planted"
"""
ASK = b"""set -eu
mkdir -p "$FC_ENV"
ls -A "$UV_CACHE_DIR" >"$FC_ENV/seen"
/usr/bin/python3 - "%s" >"$FC_ENV/reached" <<'END'
import sys, urllib.request
for proxies in (None, {}):
    handlers = [] if proxies is None else [urllib.request.ProxyHandler(proxies)]
    try:
        print(urllib.request.build_opener(*handlers).open(sys.argv[1], timeout=10).status)
    except OSError as error:
        print(getattr(error, "code", "none"))
END
"""

MEET = """
import os, time
put, until = os.replace, time.monotonic() + 30
def both(draft, kept):
    open(os.urandom(8).hex(), "x").close()
    while len(os.listdir()) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    put(draft, kept)
os.replace = both
"""
"""Two programs that keep a file meet before either gives it its name."""


@dataclass(frozen=True)
class WithStart(Release):
    """A wheel whose code would run at each start of the interpreter that it is installed for."""

    def content(self) -> bytes:
        whole = io.BytesIO(super().content())
        with zipfile.ZipFile(whole, "a") as archive:
            said = "import os; open(os.environ.get('UV_CACHE_DIR', '/tmp') + '/ran', 'w')\n"
            archive.writestr(zipfile.ZipInfo("start.pth"), said)
        return whole.getvalue()


def env_of(engine: ContainerEngine, place: Path, **texts: bytes) -> ImageRef:
    """An env tier of these files, whose one script is docker_build_env.sh."""
    files: dict[str, bytes | Path] = {name.replace("__", "."): data for name, data in texts.items()}
    base = engine.build(None, Tier("base", "b", (), {}), log=place / "log")
    args = {"FC_PYTHON": engine.pythons()[-1]}
    tier = Tier("env", "e", (ENV,), files, args, network="build")
    return engine.build(base, tier, log=place / "log")


@pytest.mark.engine
def test_scripts_of_others_share_nothing_and_reach_only_the_index(tmp_path: Path) -> None:
    """A script that does not ship gets packages; no password, nothing of another build's cache, no other service."""
    embedded_engine(tmp_path / "probe")
    releases = [Release("helper", "1.0", "2023-01-01", modules=("helper",))]
    with serving(releases) as index, serving(releases) as other:
        with_password = index.url.replace("http://", "http://user:hunter2hunter2@")
        engine = BubblewrapEngine(tmp_path / "cache", index_url=with_password)
        fetched = env_of(engine, tmp_path, docker_build_env__sh=FETCH)
        asked = env_of(engine, tmp_path, docker_build_env__sh=ASK.replace(b"%s", other.url.encode()))
        assert other.requests == []
        with engine.start(fetched) as container:
            assert said(container, "python -c 'import helper'; cat /opt/env/cached") != "0"
            assert "hunter2" not in said(container, "cat /opt/env/told")
        with engine.start(asked) as container:
            assert said(container, "cat /opt/env/seen") == ""
            assert said(container, "cat /opt/env/reached").split() == ["403", "none"]
    assert not list((tmp_path / "cache").rglob("planted"))


@pytest.mark.engine
def test_nothing_of_a_package_runs_while_it_is_installed(tmp_path: Path) -> None:
    """Our script, which shares its cache, starts no interpreter that reads a package's *.pth; byte code is there."""
    embedded_engine(tmp_path / "probe")
    wheel = WithStart("helper", "1.0", "2023-01-01", modules=("helper",))
    with serving([wheel]) as index:
        engine = BubblewrapEngine(tmp_path / "cache", index_url=index.url)
        image = env_of(engine, tmp_path, docker_build_env__sh=template(ENV).encode(), lock__txt=_lock(wheel))
        shared = tmp_path / "cache/wheels"
        assert list(shared.rglob("*")) and not list(shared.rglob("ran"))
        with engine.start(image) as container:
            compiled = said(container, "find /opt/env/lib -name 'helper.*.pyc' -exec od -An -tu1 -j4 -N1 {} +")
    assert compiled == "3", "byte code that is checked by its source's hash"


@pytest.mark.engine
def test_byte_code_that_is_not_made_whole_is_no_environment(tmp_path: Path) -> None:
    """Where the program that makes it breaks off, what is there may be half of a file: the build has failed."""
    embedded_engine(tmp_path / "probe")
    wheel = WithStart("helper", "1.0", "2023-01-01", modules=("helper",))
    with serving([wheel]) as index:
        engine = BubblewrapEngine(tmp_path / "cache", index_url=index.url)
        shared = tmp_path / "cache/wheels"
        shared.mkdir(parents=True)
        (shared / "fc-byte-code").write_text("where a directory should be")
        with pytest.raises(BuildFailed, match="fc-byte-code"):
            env_of(engine, tmp_path, docker_build_env__sh=template(ENV).encode(), lock__txt=_lock(wheel))


@pytest.mark.engine
def test_two_environments_that_are_made_at_once_keep_byte_code_in_one_place(tmp_path: Path) -> None:
    """Programs of two sandboxes have the same process id: neither takes the other's draft for its own."""
    embedded_engine(tmp_path / "probe")
    program = MEET + template(ENV).partition("<<'PYTHON')\n")[2].partition("\nPYTHON\n")[0]
    (tmp_path / "module.py").write_text("number = 1\n")
    (tmp_path / "met").mkdir()
    listed, cache = tmp_path / "listed", tmp_path / "cache"
    listed.write_bytes(os.fsencode(tmp_path / "module.py") + b"\0")
    apart = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--proc", "/proc"]
    words = [*apart, sys.executable, "-s", "-S", "-c", program, str(listed), str(cache)]
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda _: process.run(words, cwd=tmp_path / "met", timeout=60), range(2)))
    assert all(done.ok for done in ended), ended
    kept = list((cache / "fc-byte-code").iterdir())
    assert {len(path.name) for path in kept} == {64} and len(kept) == 1


def _lock(wheel: Release) -> bytes:
    return f"helper==1.0 --hash=sha256:{hashlib.sha256(wheel.content()).hexdigest()}\n".encode()


def tier(**files: bytes) -> Tier:
    """An env tier of our script and these files."""
    given: dict[str, bytes | Path] = {name.replace("__", "."): data for name, data in files.items()}
    return Tier("env", "e", (ENV,), {ENV: template(ENV).encode(), "lock.txt": b"", **given}, network="build")


@pytest.mark.parametrize(
    ("ours", "make"),
    [
        (True, tier),
        (True, lambda: tier(fetch_sources__py=template("fetch_sources.py").encode())),
        (False, lambda: tier(docker_build_env__sh=template(ENV).encode() + b"\n")),
        (False, lambda: tier(fetch_sources__py=b"")),
        (False, lambda: tier(socket__py=b"")),
        (False, lambda: Tier("env", "e", (ENV,), {}, dockerfile="FROM x")),
        (False, lambda: Tier("env", "e", ("own.sh",), {"own.sh": b""})),
    ],
)
def test_only_what_ships_word_by_word_is_ours(ours: bool, make: Callable[[], Tier]) -> None:
    """One changed byte, another program beside it, or a Dockerfile of its own makes a tier somebody else's."""
    assert runs_only_ours(make()) is ours


def test_the_index_says_what_may_be_reached() -> None:
    """PyPI's files lie on a host of their own, however PyPI is named; another index is one host and port."""
    pypi = (Destination("pypi.org", 443), Destination("files.pythonhosted.org", 443))
    assert index_destinations("") == index_destinations("https://pypi.org/simple") == pypi
    assert index_destinations("http://u:p@mirror:3141/root") == (Destination("mirror", 3141),)
    with pytest.raises(ConfigError, match="FC_INDEX_URL"):
        index_destinations("nonsense")
