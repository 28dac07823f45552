"""Modules of a suite that end the interpreter, or do not let go of it, in a real sandbox."""

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.workloads.discover import discover, read_progress
from datasmith.workloads.mounts import inside_mounts
from tests.integration.eval_task import calc_image
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine
GOOD = b"def time_it(): pass\n"
SUITE = {
    "bench/__init__.py": b"",
    "bench/a_good.py": GOOD,
    "bench/b_ends.py": b"import os\nprint('{}')\nos._exit(0)\n",
    "bench/c_crashes.py": b"import os, sys\nsys.stderr.write('no display')\nsys.stderr.flush()\nos._exit(7)\n",
    "bench/d_broken.py": b"raise SystemExit(0)\n",
    "bench/e_hangs.py": b"import time\ntime.sleep(600)\n",
    "bench/z_good.py": GOOD,
    "whole/__init__.py": b"import os\nos._exit(0)\n",
    "whole/good.py": GOOD,
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("engine"))


def test_a_module_that_ends_the_interpreter_is_left_out_and_named(
    engine: BubblewrapEngine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What ends, crashes or hangs while it is imported is broken with its reason; the others are found.

    Where it is the suite's own package, nothing is left and the reason is told.
    """
    image = calc_image(engine, tmp_path_factory.mktemp("tree"), SUITE)
    with engine.start(image, mounts=inside_mounts()) as container:
        found = discover(container, "bench", timeout=10.0)
        whole = discover(container, "whole", timeout=10.0)
    assert [workload.id for workload in found.workloads] == ["a_good.time_it", "z_good.time_it"]
    reasons = dict(found.broken)
    assert set(reasons) == {"bench.b_ends", "bench.c_crashes", "bench.d_broken", "bench.e_hangs"}
    assert "exit code 0" in reasons["bench.b_ends"] and "longer than 10 s" in reasons["bench.e_hangs"]
    assert "exit code 7" in reasons["bench.c_crashes"] and "no display" in reasons["bench.c_crashes"]
    assert not whole.workloads and [name for name, _ in whole.broken] == ["whole"] and whole.errors


@pytest.mark.parametrize(
    ("stdout", "told"),
    [
        (b"", ("", b"")),
        (b'{"importing":"b"}\n{"importing":"b.a"}\n', ("b.a", b"")),
        (b'{"importing":"b"}\n{"benchmarks":[]}\n', ("b", b'{"benchmarks":[]}\n')),
        (b'{"importing":"--help"}\n', ("", b"")),
        (b'{"importing":[]}\n', ("", b"")),
        (b'{"importing":\n', ("", b"")),
    ],
)
def test_what_a_sandbox_says_of_its_progress_is_checked(stdout: bytes, told: tuple[str, bytes]) -> None:
    """Only what can be a module's name is taken for one."""
    assert read_progress(stdout) == told
