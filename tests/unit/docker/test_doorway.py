"""Who gets to the sockets of this machine that sandboxes are shown: real files, another user where we may be one."""

import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from stat import S_IMODE

import pytest

from datasmith import process
from datasmith.agents.coding import gateway
from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.gateway import Gateway, Upstream
from datasmith.agents.coding.work import CodingCli, Workplace
from datasmith.docker import egress
from datasmith.docker.doorway import MOST_PATH, doorway
from datasmith.docker.egress import Destination, Egress
from datasmith.errors import ConfigError
from tests.loopback.model_server import playing

AS_NOBODY = """
import os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("reached")
    except OSError as error:
        print(error.strerror)
"""
Door = Egress | Gateway
DOORS: list[tuple[Callable[[], AbstractContextManager[Door]], str]] = [
    (lambda: Egress([]), egress.SOCKET),
    (lambda: Gateway(Upstream("http://127.0.0.1:9", "Authorization", "key"), Ledger(Budget())), gateway.SOCKET),
]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files that all users of this machine may enter, as /tmp is; its path is short."""
    with tempfile.TemporaryDirectory(dir="/tmp") as found:
        Path(found).chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", found)
        yield Path(found)


@pytest.mark.parametrize(("door", "name"), DOORS)
def test_only_a_sandbox_gets_in(door: Callable[[], AbstractContextManager[Door]], name: str, place: Path) -> None:
    """What is mounted lets every user of a sandbox in; on this machine nobody else comes as far as that."""
    with door() as opened, socket.socket(socket.AF_UNIX) as beside:
        (around,) = place.iterdir()
        shown = opened.directory
        assert shown.parent == around
        assert [S_IMODE(path.stat().st_mode) for path in (around, shown, shown / name)] == [0o700, 0o711, 0o666]
        beside.bind(str(place / "beside"))
        beside.listen()
        (place / "beside").chmod(0o666)
        if os.geteuid() == 0:
            said = process.run([sys.executable, "-c", AS_NOBODY, place / "beside", shown / name], timeout=60)
            assert said.text.splitlines() == ["reached", "Permission denied"], said.error_text
        with socket.socket(socket.AF_UNIX) as ours:
            ours.connect(str(shown / name))
    assert [path.name for path in place.iterdir()] == ["beside"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_path_that_no_socket_can_have_is_told(more: int, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the setting, with an example; nothing stays behind. One that just fits is taken."""
    with doorway("x", "s") as path:
        missing = MOST_PATH - len(str(path)) - 1
    deep = place / ("d" * (missing + more))
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    if more:
        with pytest.raises(ConfigError, match=r"TMPDIR=.*dd is too long.*example: TMPDIR="), doorway("x", "s"):
            pass
    else:
        with doorway("x", "s") as path, socket.socket(socket.AF_UNIX) as ours:
            ours.bind(str(path))
    assert not list(deep.iterdir())


@pytest.mark.parametrize("door", [door for door, _ in DOORS])
def test_a_door_that_cannot_open_leaves_nothing(
    door: Callable[[], AbstractContextManager[Door]], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor an error that names no setting."""
    deep = place / ("d" * MOST_PATH)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(ConfigError, match="TMPDIR"), door():
        pass
    assert not list(deep.iterdir())


def test_a_workplace_that_opens_in_part_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the way to the model still fits, and the one to the index does not."""
    with doorway("model", gateway.SOCKET) as path:
        missing = MOST_PATH - len(str(path)) - 1
    deep = place / ("d" * missing)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with playing() as model:
        cli = CodingCli("c", "m", ("c",), {}, Upstream(model.url, "Authorization", "key"), ())
        with Workplace(cli, Budget()):
            assert len(list(deep.iterdir())) == 1
        with pytest.raises(ConfigError, match="TMPDIR"), Workplace(cli, Budget(), index=(Destination("127.0.0.1", 9),)):
            pass
    assert not list(deep.iterdir())
