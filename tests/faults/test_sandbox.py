"""Hostile code in a sandbox: what it tries against the machine, on every engine; all of it is contained."""

import io
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.docker.engine import WORKDIR, Container, Tier
from datasmith.errors import ContainerError
from tests.conformance.engines import Built, build_all, every_engine

pytestmark = pytest.mark.figure("attempts against the sandbox")

LONG = 60.0


@pytest.fixture(scope="module", params=every_engine)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An engine with small images."""
    return build_all(str(request.param), tmp_path_factory.mktemp(str(request.param)))


@pytest.fixture(scope="module")
def container(built: Built) -> Iterator[Container]:
    """A running container."""
    with built.engine.start(built.pr) as running:
        yield running


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("echo h >/proc/sysrq-trigger", id="sysrq"),
        pytest.param('f=/proc/sys/kernel/core_pattern; old=$(cat $f) && echo "$old" >$f', id="sysctl"),
        pytest.param("mount -t tmpfs none /tmp", id="mount"),
        pytest.param("mount -o remount,rw /", id="remount"),
        pytest.param("umount /proc", id="umount"),
        pytest.param("unshare -Ur true", id="user-namespace"),
        pytest.param("mknod /tmp/disk b 8 0", id="device"),
        pytest.param("chown 0 /workspace/repo", id="chown"),
        pytest.param("python -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'", id="raw-socket"),
        pytest.param("python -c 'import socket; socket.socket(2, socket.SOCK_RAW, 1)'", id="icmp-socket"),
        pytest.param("python -c 'import os; os.setuid(0)'", id="setuid"),
        pytest.param("ls -d ~root/.??* | grep -v pyenv | grep .", id="home-of-root"),
        pytest.param("cat /etc/shadow", id="shadow"),
        pytest.param("test -S /var/run/docker.sock -o -S /run/docker.sock", id="docker-socket"),
        pytest.param("kill -9 1 && sleep 0.2 && ! kill -0 1", id="kill-init"),
        pytest.param("echo 0 >/sys/fs/cgroup/memory/memory.limit_in_bytes", id="cgroup"),
        pytest.param("cat /dev/kmsg /dev/mem", id="kernel-memory"),
        pytest.param('date -s "$(date)"', id="clock"),
    ],
)
def test_an_attempt_fails(container: Container, attempt: str) -> None:
    """The attempt ends with an error, and the sandbox goes on working."""
    done = container.exec(["bash", "-c", attempt], timeout=LONG)
    assert done.rc != 0 and not done.timed_out, done
    assert container.exec(["true"], timeout=LONG).ok


def test_no_switch_of_the_kernel_can_be_written(container: Container) -> None:
    """Not one file of /proc that acts on the machine is writable, whoever started the engine."""
    places = "/proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs"
    listed = container.exec(["bash", "-c", f"find {places} -type f -writable 2>/dev/null; true"], timeout=LONG)
    assert (listed.rc, listed.text) == (0, "")


def test_files_of_the_host_are_not_seen(container: Container, tmp_path: Path) -> None:
    """A secret in a directory of the host, and the homes of the host, are not found inside."""
    name = f"secret-{uuid.uuid4().hex}"
    (tmp_path / name).write_text("s3cret")
    listed = container.exec(["bash", "-c", f"find / -name {name} 2>/dev/null | head; ls /home"], timeout=LONG)
    assert listed.text.split() == ["agent"]
    assert not container.exec(["cat", str(tmp_path / name)], timeout=LONG, cwd="/").ok


def test_no_process_of_the_host_is_seen(container: Container) -> None:
    """The sandbox sees its own few processes only."""
    done = container.exec(["bash", "-c", "ls -d /proc/[0-9]* | wc -l"], timeout=LONG)
    assert int(done.text) < 10


def test_sealed_images_run_nothing_set_uid(container: Container) -> None:
    """A set-uid program gives no other user: su and mount stay who they are."""
    done = container.exec(
        ["bash", "-c", "cp /bin/bash /tmp/b && chmod u+s /tmp/b && /tmp/b -p -c 'id -u'"], timeout=LONG
    )
    assert done.text.strip() == "1000"
    assert not container.exec(["su", "-c", "id"], timeout=LONG).ok


def hostile_tar(place: Path, *members: tuple[str, bytes, str]) -> Path:
    """A tar of (name, type, link target or content)."""
    path = place / f"{uuid.uuid4().hex}.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, value in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            data = value.encode() if kind == tarfile.REGTYPE else b""
            member.linkname = "" if data else value
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def test_links_out_of_the_tree_lead_into_the_sandbox(built: Built, tmp_path: Path) -> None:
    """A link to a file of the host is a link inside, where there is no such file; devices are left out."""
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    source = hostile_tar(
        tmp_path,
        ("link", tarfile.SYMTYPE, str(secret)),
        ("up", tarfile.SYMTYPE, "../../../../../../etc/shadow"),
        ("disk", tarfile.BLKTYPE, ""),
        ("pipe", tarfile.FIFOTYPE, ""),
        ("plain.txt", tarfile.REGTYPE, "plain"),
    )
    script = b'cd "$FC_WORKDIR"; ! cat link && ! cat up && test ! -e disk && test ! -e pipe && cat plain.txt'
    tier = Tier("pr", "fc-faults/links:1", ("look.sh",), {"look.sh": script, "repo.tar": source})
    image = built.engine.build(built.env, tier, log=tmp_path / "log")
    with built.engine.start(image) as container:
        for name in ("link", "up"):
            with pytest.raises(FileNotFoundError):
                container.read_file(f"{WORKDIR}/{name}")
    target = tmp_path / "exported.tar"
    built.engine.export(image, WORKDIR, target)
    assert b"s3cret" not in target.read_bytes()


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "a/../../escaped", "out/escaped"])
def test_members_that_lead_out_are_refused(built: Built, tmp_path: Path, name: str) -> None:
    """An absolute name, a name with .., and a file below a link stop the build before a script runs."""
    source = hostile_tar(tmp_path, ("out", tarfile.SYMTYPE, str(tmp_path)), (name, tarfile.REGTYPE, "escaped"))
    tier = Tier("pr", "fc-faults/out:1", ("ran.sh",), {"ran.sh": b"echo it ran", "repo.tar": source})
    log = tmp_path / "log"
    with pytest.raises(ContainerError, match="leads out"):
        built.engine.build(built.env, tier, log=log)
    assert not (tmp_path / "escaped").exists() and not Path("/escaped").exists()
    assert not log.exists() or b"it ran" not in log.read_bytes()
