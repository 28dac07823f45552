"""Imports are timed in a process of their own: what is there afterwards is seen, and what was put off is done."""

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from asv_runner.benchmarks.timeraw import TimerawBenchmark
from pydantic import JsonValue

from datasmith.workloads.captured import Capture, apart, outputs_unlike
from datasmith.workloads.inside import fresh
from datasmith.workloads.inside.capture import capture
from datasmith.workloads.inside.pauses import Pauses
from datasmith.workloads.inside.raw import RawFailed, run
from datasmith.workloads.launch import parse_capture

SLOW_S = 0.05
WORK = f"import time\ntime.sleep({SLOW_S})\n\ndef answer():\n    return 42\n"
EAGER = "from package.work import answer\n__all__ = ['answer']\n"
PACKAGES = {
    "eager": EAGER,
    "more": EAGER + "\ndef another():\n    return 1\n",
    "unlisted": "from package.work import answer\n",
    "lazy": (
        "__all__ = ['answer']\ndef __getattr__(name):\n"
        "    from importlib import import_module\n    return getattr(import_module('package.work'), name)\n"
    ),
    "nothing": "import sys\nif sys.argv != ['-c']:\n    from package.work import answer\n",
    "promised": "import sys\n__all__ = ['answer']\nif sys.argv != ['-c']:\n    from package.work import answer\n",
    "ends": "import os, sys\nif sys.argv == ['-c']:\n    print(1e-6, flush=True)\n    os._exit(0)\n",
}
Made = Callable[..., TimerawBenchmark]


def timeraw_import() -> str:
    """As a suite has it."""
    return "import package"


def timeraw_called() -> tuple[str, str]:
    """The same with code that is not timed."""
    return "\n    answer()\n", "\n    from package import answer\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Writes one of the packages, and gives the benchmark that imports it."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    place = tmp_path / "package"
    place.mkdir()

    def make(name: str, function: Callable[[], object] = timeraw_import) -> TimerawBenchmark:
        place.joinpath("__init__.py").write_text(PACKAGES[name])
        place.joinpath("work.py").write_text(WORK)
        return TimerawBenchmark("raw", function, [function, ModuleType("suite")])

    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return make


def told(benchmark: TimerawBenchmark) -> Capture:
    """As the host reads it."""
    said = capture(benchmark, 1)
    values: JsonValue = said.get("values")  # type: ignore[assignment]
    return Capture(apart(values)[0], str(said.get("failed", "")))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("eager", True),
        ("more", True),
        ("unlisted", True),
        ("lazy", True),
        ("nothing", False),
        ("promised", False),
        ("ends", False),
    ],
)
def test_a_package_offers_what_base_offers_where_its_import_is_timed(made: Made, name: str, *, expected: bool) -> None:
    """Who sees that it is timed, and imports nothing or ends, is seen; where names come from does not matter."""
    base = told(made("eager"))
    assert not base.reason
    assert (outputs_unlike(base, told(made(name))) is None) is expected


def test_values_of_statements_are_seen_too(made: Made) -> None:
    """What the setup's code gave is there, and is not timed."""
    ran = run(made("eager", timeraw_called), 1)
    assert ["line 2", ["int", "42"]] in ran.values[2]  # type: ignore[operator]
    assert ran.setup_s > SLOW_S > 10 * ran.call_s


def test_an_import_that_was_put_off_is_timed_with_the_first_look(made: Made) -> None:
    """A lazy package is as slow as another one, once what it offers is asked for."""
    timed = functools.partial(fresh.time_fresh, pauses=Pauses())
    eager, values = timed(made("eager"), 5, "numbers", 2)
    lazy, others = timed(made("lazy"), 5, "numbers", 2)
    assert min(eager.calls) > SLOW_S > max(lazy.calls)
    assert min(*eager.looked, *lazy.looked) > SLOW_S > max(*eager.again, *lazy.again)
    assert values == others and len(values) == 2


def test_a_process_that_fails_says_why(made: Made) -> None:
    """Its last line; the launch has a reason then, and no values."""
    benchmark = made("nothing", timeraw_called)
    with pytest.raises(RawFailed, match="exit code 1: ImportError: cannot import name 'answer'"):
        run(benchmark, 1)
    assert told(benchmark).reason.startswith("RawFailed: its process ended")
    assert parse_capture(b'{"failed": "RawFailed: x"}').reason == "failed: RawFailed: x"
