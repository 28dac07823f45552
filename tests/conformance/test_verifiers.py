"""Verdicts of the host on every engine: by name and by reference, with limits that act, whatever the image starts."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from datasmith import process
from datasmith.docker import MultiObjVerifier, ProfileVerifier, PytestVerifier, SmokeVerifier
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.engine import Container, ExecResult, ImageRef, Tier
from datasmith.docker.verifiers import Verifier, VerifyResult, _asv_mount
from tests.conformance.engines import LONG, Built, said
from tests.support.base_image import ensure_base_image

EMPTY = "echo '<testsuites></testsuites>' >/tmp/fc-junit.xml"
ONE = 'echo \'<testsuites><testcase classname="a" name="b"/></testsuites>\' >/tmp/fc-junit.xml'
SKIPPED = ONE.replace("/></testsuites>", "><skipped/></testcase></testsuites>")
HANG = ("sh", "-c", "setsid sleep 317 & sleep 317 & exec sleep 317")
SUITE = b'mkdir -p "$FC_WORKDIR/benchmarks"\necho "def time_it(): pass" >"$FC_WORKDIR/benchmarks/bench.py"\n'
ENTRY_POINTS = {
    "bash": 'ENTRYPOINT ["bash"]',
    "script": (
        "RUN printf '#!/bin/sh\\necho entered; exit 9\\n' >/entry.sh && chmod +x /entry.sh\n"
        'ENTRYPOINT ["/entry.sh"]\nCMD ["--forever"]'
    ),
    "nothing": "CMD []",
}


@pytest.fixture
def named(built: Built, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Built:
    """The engine of the suite as that of the settings, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FC_ENGINE", built.engine.name)
    monkeypatch.setenv("FC_CACHE_DIR", str(built.place / "cache"))
    return built


def suite_image(built: Built) -> ImageRef:
    """An image with one benchmark."""
    tier = Tier("pr", "fc-conformance/suite:1", ("s.sh",), {"s.sh": SUITE})
    return built.engine.build(built.env, tier, log=built.log)


def test_a_chain_says_yes_by_name_and_by_reference(named: Built) -> None:
    """All of a chain is asked of one image, given by name, by digest or as a reference; seconds are added up."""
    image = suite_image(named)
    chain = MultiObjVerifier(
        [SmokeVerifier("json"), ProfileVerifier(timeout=LONG), PytestVerifier(command=("sh", "-c", ONE), timeout=LONG)]
    )
    for where in ("fc-conformance/suite:1", image.digest, image):
        result = chain.verify(where)
        assert (result.ok, result.rc, result.stage, result.stdout) == (True, 0, "tests", "1 passed"), result
        assert result.duration_s > 0


def test_the_first_no_ends_the_chain(shared: Container) -> None:
    """What fails is the answer, with its exit code and what it printed; nothing is asked after it."""

    class Never:
        def verify(self, where: Container | str) -> VerifyResult:
            raise AssertionError("asked after a no")

    result = MultiObjVerifier([SmokeVerifier("no_such_module"), Never()]).verify(shared)
    assert (result.ok, result.rc, result.stage) == (False, 1, "smoke")
    assert "ModuleNotFoundError" in result.stderr


@pytest.mark.parametrize(
    ("verifier", "why"),
    [
        (PytestVerifier(command=("sh", "-c", EMPTY), timeout=LONG), "no test was reported"),
        (PytestVerifier(command=("sh", "-c", SKIPPED), timeout=LONG), "no test passed"),
        (PytestVerifier(command=("true",), timeout=LONG), "no test was reported"),
        (ProfileVerifier(timeout=LONG), "no benchmark was found"),
        (SmokeVerifier(), "no module was named"),
        (MultiObjVerifier(), "nothing was verified"),
    ],
    ids=["no-tests", "all-skipped", "no-report", "no-benchmarks", "no-module", "no-verifier"],
)
def test_nothing_shown_is_a_no(named: Built, verifier: Verifier, why: str) -> None:
    """Zero tests, zero benchmarks and no question at all are failures that say why, though every command ended well."""
    result = verifier.verify("fc-conformance/pr:1")
    assert (result.ok, result.rc) == (False, -1) and why in result.stderr


def test_a_limit_acts_on_the_whole_process_tree(built: Built) -> None:
    """A run that does not end is cut off and is no success; neither children nor daemons of it are left."""
    with built.engine.start(built.pr) as container:
        began = time.monotonic()
        result = PytestVerifier(command=HANG, timeout=2).verify(container)
        assert time.monotonic() - began < 30
        assert not result.ok and result.rc != 0 and "limit of 2 s" in result.stderr
        running = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done | grep -c '^sleep 317'"
        assert said(container, f"{running} || true") == "0"


def test_a_suite_that_hangs_is_a_no(built: Built) -> None:
    """The limit of the whole profile holds while the suite is only being imported, too."""
    with built.engine.start(suite_image(built), mounts=_asv_mount()) as container:
        container.write_file("/workspace/repo/benchmarks/bench.py", b"import time\ntime.sleep(300)\n")
        result = ProfileVerifier(timeout=3).verify(container)
    assert not result.ok and result.rc != 0 and "limit of 3 s" in result.stderr


class FromTree:
    """A container whose Python finds modules in the tree, as if they were installed."""

    def __init__(self, inner: Container) -> None:
        self.inner = inner

    def exec(self, argv: Sequence[str], *, timeout: float, stdin: bytes = b"", **_: object) -> ExecResult:
        return self.inner.exec(argv, timeout=timeout, stdin=stdin, env={"PYTHONPATH": "/workspace/repo"}, cwd="/")


def test_an_exit_code_alone_proves_nothing(built: Built) -> None:
    """Modules, suites and benchmarks that end the interpreter with 0 have shown nothing, whatever they printed."""
    claim = 'print(\'{"token": "", "names": ["bench.time_it"]}\', flush=True)'
    with built.engine.start(suite_image(built), mounts=_asv_mount()) as container:
        for end in ("import os; os._exit(0)", "raise SystemExit(0)"):
            module = f"{claim}\n{end}\n".encode()
            container.write_file("/workspace/repo/ending.py", module)
            smoke = SmokeVerifier("ending").verify(cast("Container", FromTree(container)))
            assert not smoke.ok and smoke.rc != 0 and "ended before" in smoke.stderr, smoke
            for suite in (module, f"def time_it():\n    {claim}; {end}\n".encode()):
                container.write_file("/workspace/repo/benchmarks/bench.py", suite)
                profile = ProfileVerifier(timeout=LONG).verify(container)
                assert not profile.ok and (profile.rc != 0 or "benchmarks found" not in profile.stdout), profile
        container.write_file("/workspace/repo/ending.py", b"print('printed')\n")
        assert SmokeVerifier("ending").verify(cast("Container", FromTree(container))).ok


@pytest.fixture
def images(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Images of other makers, by what their entry point is; they know nothing of our directories."""
    base = ensure_base_image(tmp_path_factory.mktemp("base"))
    names = {}
    for kind, text in ENTRY_POINTS.items():
        (tmp_path / "Dockerfile").write_text(f"FROM {base}\n{text}\n")
        names[kind] = f"fc-conformance/entry-{kind}:1"
        done = process.run(["docker", "build", "--network", "none", "--tag", names[kind], tmp_path], timeout=300)
        assert done.ok, done.error_text
    yield names
    process.run(["docker", "rmi", "--force", *names.values()], timeout=60)


@pytest.mark.engine
@pytest.mark.docker
def test_any_entry_point_is_passed_by(images: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An image that starts a shell, a script that fails, or nothing is asked like any other; its limits act."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FC_ENGINE", "docker")
    for kind, name in images.items():
        assert SmokeVerifier("json").verify(name).ok, kind
        missing = SmokeVerifier("no_such_module").verify(name)
        assert (missing.ok, missing.rc) == (False, 1) and "ModuleNotFoundError" in missing.stderr, kind
        assert "entered" not in missing.stdout + missing.stderr
        chain = MultiObjVerifier([SmokeVerifier("json"), PytestVerifier(command=("sleep", "300"), timeout=2)])
        assert not chain.verify(name).ok, kind


@pytest.mark.engine
@pytest.mark.docker
def test_a_container_that_cannot_start_the_command_is_a_no(images: dict[str, str], tmp_path: Path) -> None:
    """An image without our directory of the tree fails its tests, with the reason, and nothing is raised."""
    engine = CliEngine("docker", base_image="fc-test-base:bookworm")
    found = engine.inspect(images["bash"])
    assert found is not None
    with engine.start(found) as container:
        result = PytestVerifier(timeout=LONG).verify(container)
    assert not result.ok and result.rc != 0 and result.stderr
