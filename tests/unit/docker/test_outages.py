"""A script that ends badly has failed, unless it is ours and nobody answered it."""

from dataclasses import replace

import pytest

from datasmith.docker.cli_build import template
from datasmith.docker.engine import Network, Tier
from datasmith.docker.outages import failed
from datasmith.errors import BuildFailed, DiskFull, IndexUnavailable

SCRIPT = "docker_build_env.sh"
ENV = Tier("env", "n/n:1", (SCRIPT,), {SCRIPT: template(SCRIPT).encode(), "lock.txt": b""}, network="build")
REFUSED = "error: Failed to fetch: `http://127.0.0.1:9/simple/six/`\n  Caused by: tcp connect error\n"


@pytest.mark.parametrize(
    "log",
    [
        REFUSED,
        "  Caused by: HTTP status server error (503 Service Unavailable) for url (http://x/simple/six/)",
        "E: Failed to fetch http://deb.debian.org/x.deb  Temporary failure resolving 'deb.debian.org'",
        "W: Failed to fetch http://deb.debian.org/debian/InRelease  Could not connect to deb.debian.org:80",
        "error: client error (Connect)\n  Caused by: invalid peer certificate: UnknownIssuer",
        "fc-no-answer: <urlopen error [Errno -3] Temporary failure in name resolution>",
    ],
)
def test_who_does_not_answer_says_nothing(log: str) -> None:
    """Neither of the environment nor of the commit."""
    error = failed(ENV, SCRIPT, 2, log, timed_out=False)
    assert isinstance(error, IndexUnavailable) and error.args[0].startswith(f"{SCRIPT}: ")


@pytest.mark.parametrize(
    "log",
    [
        "  x Because six was not found in the package registry",
        "E: Unable to locate package libnothing-dev\nE: apt-get install gcc ca-certificates libnothing-dev failed",
        "Setting up ca-certificates (20230311)\nE: Sub-process /usr/bin/dpkg returned an error code (1)",
        "E: Failed to fetch http://deb.debian.org/x.deb  404  Not Found [IP: 127.0.0.1 80]",
        "error: Failed to fetch: `http://x/six.whl`\n  Caused by: HTTP status client error (404 Not Found)",
        "hash mismatch for six",
    ],
)
def test_an_answer_is_a_failure(log: str) -> None:
    """What the index or the mirror does not have another day either."""
    assert isinstance(failed(ENV, SCRIPT, 2, log, timed_out=False), BuildFailed)


@pytest.mark.parametrize(
    "log",
    [
        "src/x.c:9:1: fatal error: error writing to /tmp/ccq1.s: No space left on device\ncompilation terminated.",
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "error: Failed to write to `/x/six.py`\n  Caused by: No space left on device (os error 28)",
        "tar: ./big: Wrote only 4096 of 10240 bytes\ncp: error writing 'b': Disk quota exceeded",
        "Error processing tar file(exit status 1): write /opt/env/lib/libx.so: no space left on device",
    ],
)
@pytest.mark.parametrize("network", ["none", "build"])
def test_a_full_disk_says_nothing(log: str, network: Network) -> None:
    """Whoever says so, compilers, installers or the builder: the line names the script and is no failed build."""
    error = failed(replace(ENV, network=network), SCRIPT, 1, log, timed_out=False)
    assert isinstance(error, DiskFull) and not isinstance(error, BuildFailed)
    assert f"the disk was full in build stage '{SCRIPT}', which says nothing about the commit: " in str(error)
    assert isinstance(failed(ENV, SCRIPT, 124, log, timed_out=True), BuildFailed)


def test_only_our_own_scripts_are_believed() -> None:
    """Another one could say so to be tried for ever; so could one that had no network, or took too long."""
    strange = replace(ENV, files={**ENV.files, SCRIPT: b"echo connection refused; exit 1\n"})
    for tier in (strange, replace(ENV, network="none"), replace(ENV, dockerfile="FROM x\n")):
        assert isinstance(failed(tier, SCRIPT, 1, REFUSED, timed_out=False), BuildFailed)
    late = failed(ENV, SCRIPT, 124, REFUSED, timed_out=True)
    assert isinstance(late, BuildFailed) and late.timed_out and late.log_tail.startswith("ran into its limit of 3600 s")
