"""What every engine promises about images and about the commands that run in them."""

import re
import tarfile
import time

import pytest

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, Mount, Tier
from datasmith.errors import BuildFailed, ContainerError, DiskFull, PublishError
from tests.conformance.engines import LONG, Built, pr_tier, said


def test_the_images_hold_what_their_tiers_made(shared: Container) -> None:
    """The tree of repo.tar, the files that scripts wrote with their arguments, and the environment are there."""
    assert said(shared, "cat tracked.txt built.txt") == 'tracked\nit\'s $HOME, "quoted"'
    assert said(shared, f"cat {ENV_PREFIX}/marker") == "original"
    assert said(shared, "python -c 'print(6 * 7)'") == "42"


def test_code_of_the_repository_is_not_built_as_root(shared: Container) -> None:
    """Scripts of the pr tier run as the sandbox's user."""
    assert said(shared, "cat builder.txt") == "1000"


def test_the_same_tier_is_built_once(built: Built) -> None:
    """Building a tier again gives the same digest, and runs nothing."""
    before = built.log.stat().st_size
    again = built.engine.build(built.env, pr_tier(built.place), log=built.log)
    assert (again.digest, built.log.stat().st_size) == (built.pr.digest, before)


def test_a_changed_tier_is_another_image(built: Built) -> None:
    """A different script gives a different digest under a name of its own, and both are found by name and digest."""
    tier = Tier("pr", "fc-conformance/pr:2", ("b.sh",), {"b.sh": b"echo other >$FC_WORKDIR/other.txt"})
    other = built.engine.build(built.env, tier, log=built.log)
    assert other.digest != built.pr.digest
    for reference in (other.name, other.digest):
        found = built.engine.inspect(reference)
        assert found and found.digest == other.digest
    assert built.engine.inspect("fc-conformance/nosuch:1") is None


def test_equal_content_bears_the_name_that_is_asked_for(built: Built) -> None:
    """Two tiers of the same content are one image with two names, each of which is told where it was asked for."""
    content = {"b.sh": b"echo equal >$FC_WORKDIR/equal.txt"}
    names = ("fc-conformance/pr:3", "fc-conformance/pr:4")
    made = [built.engine.build(built.env, Tier("pr", name, ("b.sh",), content), log=built.log) for name in names]
    assert [image.name for image in made] == list(names) and made[0].digest == made[1].digest
    found = [built.engine.inspect(name) for name in names]
    assert found == made


def test_every_tier_names_what_it_stands_on(built: Built) -> None:
    """By digest, and the same for all tiers of an image."""
    base = built.engine.base_of(built.env)
    assert re.fullmatch(r"[^@]+@sha256:[0-9a-f]{64}", base)
    assert built.engine.base_of(built.pr) == base


def test_neither_broken_builds_nor_frozen_containers_are_taken_for_images(built: Built) -> None:
    """After a build on an image has failed, and while a frozen container of it runs, the image is found as it was."""
    half = Tier("pr", "fc-conformance/half:1", ("bad.sh",), {"bad.sh": b"echo >$FC_WORKDIR/half.txt; exit 7"})
    with pytest.raises(BuildFailed):
        built.engine.build(built.pr, half, log=built.log)
    container = built.engine.start(built.pr)
    container.write_file(f"{WORKDIR}/late.txt", b"late")
    with container.freeze():
        again = built.engine.build(built.env, pr_tier(built.place), log=built.log)
    assert again.digest == built.pr.digest
    with built.engine.start(again) as fresh:
        assert set(said(fresh, "ls").split()) == {"built.txt", "builder.txt", "tracked.txt"}


def test_a_failing_script_is_named(built: Built) -> None:
    """The second of two scripts fails: the error carries its name, its exit code or the builder's, and its output."""
    files = {"good.sh": b"echo fine", "bad.sh": b"echo this went wrong >&2; exit 7"}
    with pytest.raises(BuildFailed) as caught:
        built.engine.build(built.env, Tier("pr", "fc-conformance/bad:1", ("good.sh", "bad.sh"), files), log=built.log)
    assert caught.value.stage == "bad.sh" and caught.value.rc != 0
    assert "this went wrong" in caught.value.log_tail
    assert built.engine.inspect("fc-conformance/bad:1") is None
    assert b"this went wrong" in built.log.read_bytes()


def test_a_full_disk_is_no_failed_build(built: Built) -> None:
    """What the system says to a script that writes to one is told as that, and nothing is kept of the build."""
    files = {"good.sh": b"echo fine", "fills.sh": b"echo much >/dev/full"}
    tier = Tier("pr", "fc-conformance/full:1", ("good.sh", "fills.sh"), files)
    with pytest.raises(DiskFull, match=r"the disk was full in build stage 'fills.sh'"):
        built.engine.build(built.env, tier, log=built.log)
    assert built.engine.inspect("fc-conformance/full:1") is None


def test_a_script_that_hangs_is_a_failure(built: Built) -> None:
    """The tier's time limit acts, and the error says so."""
    tier = Tier("pr", "fc-conformance/slow:1", ("slow.sh",), {"slow.sh": b"sleep 300"}, timeout_s=6)
    started = time.monotonic()
    with pytest.raises(BuildFailed) as caught:
        built.engine.build(built.env, tier, log=built.log)
    assert time.monotonic() - started < 30
    assert caught.value.stage == "slow.sh" and "limit of 6 s" in caught.value.log_tail


def test_tiers_without_network_have_none(built: Built) -> None:
    """A script of such a tier sees no interface but loopback."""
    script = b'test "$(ls /sys/class/net 2>/dev/null || echo lo)" = lo\ngrep -c : /proc/net/dev | grep -qx 1'
    tier = Tier("pr", "fc-conformance/net:1", ("n.sh",), {"n.sh": script})
    assert built.engine.build(built.env, tier, log=built.log).digest


def test_the_environment_is_the_fixed_one(shared: Container) -> None:
    """Commands see the clean environment and what the call adds, and nothing of the host's."""
    done = shared.exec(["env"], timeout=LONG, env={"EXTRA": "a b"})
    seen = dict(line.split("=", 1) for line in done.text.splitlines())
    assert seen["PATH"].startswith(f"{ENV_PREFIX}/bin:")
    assert (seen["TZ"], seen["LANG"], seen["PYTHONHASHSEED"], seen["EXTRA"]) == ("UTC", "C.UTF-8", "0", "a b")
    assert {seen[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"1"}
    assert not set(seen) & {"HOSTNAME", "USER", "LOGNAME", "SSL_CERT_FILE", "PYTEST_CURRENT_TEST"}


def test_streams_codes_and_input_come_back_apart(shared: Container) -> None:
    """Exit code, both streams and standard input arrive as they are, bytes included."""
    data = bytes(range(256)) * 300
    done = shared.exec(["bash", "-c", "cat; echo problem >&2; exit 5"], timeout=LONG, stdin=data)
    assert (done.rc, done.stdout, done.stderr, done.timed_out, done.ok) == (5, data, b"problem\n", False, False)
    assert shared.exec(["bash", "-c", "kill -9 $$"], timeout=LONG).rc == 137
    assert shared.exec(["pwd"], timeout=LONG, cwd="/tmp").text == "/tmp\n"


def test_an_answer_comes_behind_the_first_line(shared: Container) -> None:
    """What is read before it is what was fed; without one there is nothing behind that."""
    script = ["bash", "-c", "read -r fed; read -r -t 0.3 early; echo got $fed $early; read -r late; echo $late"]
    assert shared.exec(script, timeout=LONG, stdin=b"a\n", answer=b"b\n").text == "got a\nb\n"
    assert shared.exec(script, timeout=LONG, stdin=b"a\n").text == "got a\n\n"


def test_it_is_known_when_a_commands_output_came(shared: Container) -> None:
    """Every engine tells, by our clock, when the bytes of standard output had come: before the command ended."""
    done = shared.exec(["bash", "-c", "echo first; sleep 0.3; echo second"], timeout=LONG)
    came = dict(done.arrivals)
    assert max(came) == len(done.stdout)
    assert came[len("first\n")] + 0.25 < came[len(done.stdout)] < done.wall_s


def test_a_missing_program_is_a_value(shared: Container) -> None:
    """What cannot be found ends with 127, like in a shell."""
    assert shared.exec(["no-such-program"], timeout=LONG).rc == 127


@pytest.mark.parametrize("message", ["bwrap: cannot", "Cannot connect to the Docker daemon", "taskset: failed"])
def test_a_command_cannot_pass_its_failure_off_as_the_engines(shared: Container, message: str) -> None:
    """What a command prints decides nothing: its exit code is a value."""
    done = shared.exec(["bash", "-c", f"echo '{message}' >&2; exit 1"], timeout=LONG)
    assert done.rc == 1 and message in done.error_text


def test_git_and_the_user_are_known(shared: Container) -> None:
    """Programs such as git work in the tree, and the user has a name."""
    assert said(shared, "git init -q . && git status --porcelain | head -1 && rm -rf .git")
    assert said(shared, "python -c 'import getpass; print(getpass.getuser())'") == "agent"


def test_files_are_written_and_read(built: Built) -> None:
    """Parents are made, modes are set, content is exact, and the sandbox's user owns what was written."""
    with built.engine.start(built.pr) as container:
        path = f"{WORKDIR}/new/dir/data.bin"
        container.write_file(path, b"\0\xff" * 50_000, mode=0o755)
        assert container.read_file(path) == b"\0\xff" * 50_000
        container.write_file(path, b"short")
        assert container.read_file(path) == b"short"
        assert said(container, f"stat -c '%u %a' {path}; echo more >>{path}; rm {path}").endswith("1000 644")
        with pytest.raises(FileNotFoundError):
            container.read_file(path)


def test_a_file_that_is_too_large_is_refused(shared: Container) -> None:
    """More than the allowance is an error, not a cut-off file."""
    with pytest.raises(ContainerError, match="larger than 3 bytes"):
        shared.read_file(f"{WORKDIR}/tracked.txt", max_bytes=3)
    assert shared.read_file(f"{WORKDIR}/tracked.txt", max_bytes=8) == b"tracked\n"


def test_links_and_odd_files_are_not_followed(built: Built) -> None:
    """Links, directories, pipes and relative paths are no regular files, and nothing is written through a link."""
    with built.engine.start(built.pr) as container:
        said(container, "ln -s /etc/passwd a; ln -s /etc d; mkfifo p; ln -s /tmp w; ln -s tracked.txt t")
        for name in ("a", "d/passwd", "p", ".", "../repo/a", "t", "missing", "tracked.txt/x"):
            with pytest.raises(FileNotFoundError):
                container.read_file(f"{WORKDIR}/{name}")
        for name in ("a", "w/x", "t", "../../opt/x", "tracked.txt/x"):
            with pytest.raises(ContainerError):
                container.write_file(f"{WORKDIR}/{name}", b"changed")
        assert container.read_file(f"{WORKDIR}/tracked.txt") == b"tracked\n"


def test_containers_do_not_see_each_other(built: Built) -> None:
    """What one container writes is neither in another one nor in the image."""
    with built.engine.start(built.pr) as one, built.engine.start(built.pr) as two:
        one.write_file(f"{WORKDIR}/tracked.txt", b"changed")
        assert two.read_file(f"{WORKDIR}/tracked.txt") == b"tracked\n"
    with built.engine.start(built.pr) as three:
        assert three.read_file(f"{WORKDIR}/tracked.txt") == b"tracked\n"


def test_the_environment_is_writable_only_where_asked(built: Built) -> None:
    """Without `writable_env` ENV_PREFIX cannot be changed; with it a change stays in this container, also frozen."""
    change = f"echo changed >{ENV_PREFIX}/marker && echo new >{ENV_PREFIX}/extra && rm {ENV_PREFIX}/extra"
    with built.engine.start(built.pr) as container:
        assert not container.exec(["bash", "-c", change], timeout=LONG).ok
    container = built.engine.start(built.pr, writable_env=True)
    said(container, change)
    with container.freeze() as cold:
        assert said(cold, f"cat {ENV_PREFIX}/marker") == "changed"
    with built.engine.start(built.pr) as container:
        assert said(container, f"cat {ENV_PREFIX}/marker") == "original"


def test_a_frozen_container_keeps_its_state_and_takes_no_more(frozen: Container) -> None:
    """The state from before is there; the tree, the cache, the environment and the system cannot be written."""
    assert frozen.frozen
    assert frozen.read_file(f"{WORKDIR}/kept.txt") == b"kept"
    for place in (WORKDIR, "/workspace/cache", ENV_PREFIX, "/usr", "/etc", "/opt"):
        assert not frozen.exec(["touch", f"{place}/new"], timeout=LONG).ok, place
    with pytest.raises(ContainerError):
        frozen.write_file(f"{WORKDIR}/new", b"")


def test_scratch_places_of_a_frozen_container_start_empty(frozen: Container) -> None:
    """/tmp, HOME and shared memory can be written, and nothing in them is there for the next command."""
    write = "for d in /tmp ~ /dev/shm; do mkdir -p $d/x/y && echo 1 >$d/x/y/f && chmod 000 $d/x && echo 1 >$d/.h; done"
    said(frozen, write)
    assert said(frozen, "find /tmp ~ /dev/shm -mindepth 1") == ""


def test_nothing_else_can_be_written(frozen: Container) -> None:
    """No directory but the scratch places takes a file, so nothing is carried from one command to the next."""
    find = "find / -xdev -type d -writable ! -path '/proc/*' 2>/dev/null; find /dev -type d -writable 2>/dev/null; true"
    left = set(said(frozen, find).split()) - {"/tmp", "/home/agent", "/dev/shm", "/dev/mqueue"}
    writable = [place for place in sorted(left) if frozen.exec(["touch", f"{place}/x"], timeout=LONG).ok]
    assert all(place.startswith("/dev") for place in writable)
    for place in writable:
        assert not frozen.exec(["test", "-e", f"{place}/x"], timeout=LONG).ok


def test_mounts_are_read_only(built: Built) -> None:
    """A mounted directory of the host is seen and cannot be changed."""
    shown = built.place / "shown, with comma"
    shown.mkdir(exist_ok=True)
    (shown / "file").write_text("from the host")
    shown.chmod(0o777)
    with built.engine.start(built.pr, mounts=[Mount(shown, "/opt/fc/shown")]) as container:
        assert said(container, "cat /opt/fc/shown/file") == "from the host"
        assert not container.exec(["touch", "/opt/fc/shown/new"], timeout=LONG).ok
        with container.freeze() as cold:
            assert said(cold, "cat /opt/fc/shown/file") == "from the host"


def test_export_gives_the_tree_as_a_tar(built: Built) -> None:
    """The directory's files are in the tar, by paths relative to it."""
    target = built.place / "exported.tar"
    built.engine.export(built.pr, WORKDIR, target)
    with tarfile.open(target) as archive:
        names = {name.removeprefix("./") for name in archive.getnames()}
        assert {"tracked.txt", "built.txt"} <= names
    with pytest.raises(ContainerError):
        built.engine.export(built.pr, "/workspace/nosuch", target)


def test_pushing_nowhere_is_an_error(built: Built) -> None:
    """Nothing is called published that did not arrive."""
    with pytest.raises(PublishError):
        built.engine.push(built.pr, "127.0.0.1:9/nobody/nothing:1")


def test_stopping_twice_does_nothing(built: Built) -> None:
    """A stopped container stays stopped, and runs nothing."""
    container = built.engine.start(built.pr)
    container.stop()
    container.stop()
    with pytest.raises(ContainerError):
        container.exec(["true"], timeout=LONG)
