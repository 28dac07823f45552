"""An arm's package is built again exactly where its patch changes what is compiled."""

from collections.abc import Sequence

import pytest

from datasmith.docker.engine import ExecResult, ImageRef, Limits, Mount
from datasmith.errors import MeasurementFailed
from datasmith.workloads.arms import start_arm

from .simulated import IMAGE
from .test_arms import DONE, Preparing, diff

SCRIPT = "uv pip install --no-build-isolation ."
FAILED = ExecResult(2, b"", b"error: no compiler", 0.1, 0.1, timed_out=False)


class Building(Preparing):
    """Ends the build as told; git and the rest succeed."""

    stopped = False

    def exec(self, argv: object, **_: object) -> ExecResult:
        """See Container."""
        assert isinstance(argv, list)
        self.commands.append(argv)
        return self.ends if argv[-1] == SCRIPT else DONE

    def stop(self) -> None:
        """See Container."""
        self.stopped = True

    @property
    def built(self) -> bool:
        """True where the build script ran."""
        return any(words[-1] == SCRIPT for words in self.commands)


class Starting:
    """An engine that starts one container."""

    name = "simulated"

    def __init__(self, ends: ExecResult = DONE) -> None:
        self.container = Building(ends)
        self.writable: bool | None = None

    def start(self, image: ImageRef, *, limits: Limits | None, mounts: Sequence[Mount], writable_env: bool) -> Building:
        """See ContainerEngine."""
        self.writable = writable_env
        return self.container


def started(engine: Starting, patch: str, script: str | None = SCRIPT) -> None:
    start_arm(
        engine,  # type: ignore[arg-type]
        IMAGE,
        patch=patch,
        rebuild_script=script,
        build_args={},
        limits=None,
        timeout=60.0,
    )


@pytest.mark.parametrize(
    ("patch", "script", "builds"),
    [
        (diff("src/_native.c"), SCRIPT, True),
        (diff("setup.py"), SCRIPT, True),
        (diff("src/a.py"), SCRIPT, False),
        (diff("src/a.py") + diff("src/_native.c"), SCRIPT, True),
        (diff("src/_native.c"), None, False),
        ("", SCRIPT, False),
    ],
)
def test_it_is_built_where_compiled_sources_change(patch: str, script: str | None, builds: bool) -> None:
    """And only then can it write to its environment; a package without a build script needs no building."""
    engine = Starting()
    started(engine, patch, script)
    assert (engine.container.built, engine.writable) == (builds, builds)
    assert not engine.container.stopped


def test_what_does_not_build_is_no_arm() -> None:
    """Its container is gone."""
    engine = Starting(FAILED)
    with pytest.raises(MeasurementFailed, match=r"does not build.*no compiler"):
        started(engine, diff("src/_native.c"))
    assert engine.container.stopped
