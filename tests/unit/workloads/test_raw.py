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
from datasmith.workloads.inside.raw import RawFailed, as_pasted, imported, run, time_in_our_way, with_values
from datasmith.workloads.launch import parse_capture
from datasmith.workloads.outputs import difference

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
    "unlisted lazy": (
        "def __getattr__(name):\n    if name != 'answer':\n        raise AttributeError(name)\n"
        "    from package.work import answer\n    return answer\n"
    ),
    "of another class": "from operator import itemgetter\nanswer = itemgetter(0)\n",
    "modules": "from package import work\n",
    "no modules": "import sys\nif sys.path[0]:\n    from package import work\n",
    "nothing": "import sys\nif sys.argv != ['-c']:\n    from package.work import answer\n",
    "promised": "import sys\n__all__ = ['answer']\nif sys.argv != ['-c']:\n    from package.work import answer\n",
    "broken": "__all__ = ['answer']\ndef __getattr__(name):\n    raise ImportError('an extra is missing')\n",
    "looking": (
        "import sys\nmain = sys.modules['__main__']\n"
        "if any(name in vars(main) for name in ('code', 'main', 'Teller')):\n    __all__ = ['answer']\n"
        "else:\n    from package.work import answer\n"
    ),
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
    ("base", "name", "expected"),
    [
        ("eager", "eager", True),
        ("eager", "more", True),
        ("eager", "unlisted", True),
        ("eager", "lazy", True),
        ("eager", "unlisted lazy", True),
        ("eager", "of another class", True),
        ("eager", "nothing", False),
        ("eager", "promised", False),
        ("eager", "ends", False),
        ("eager", "broken", False),
        ("eager", "looking", True),
        ("unlisted", "unlisted lazy", True),
        ("unlisted", "of another class", True),
        ("unlisted", "nothing", False),
        ("modules", "modules", True),
        ("modules", "no modules", False),
        ("modules", "unlisted lazy", True),
    ],
)
def test_a_package_offers_what_base_offers_where_its_import_is_timed(
    made: Made, base: str, name: str, *, expected: bool
) -> None:
    """Who sees that it is timed, and imports nothing or ends, is seen; where names come from does not matter."""
    ours = told(made(base))
    assert not ours.reason
    assert (outputs_unlike(ours, told(made(name))) is None) is expected


def test_values_of_statements_are_seen_too(made: Made) -> None:
    """What the setup's code gave is there, and is not timed."""
    ran = run(made("eager", timeraw_called))
    assert ["value_of_line_2", ["int", "42"]] in ran.values[1]  # type: ignore[operator]
    assert ran.setup_s > SLOW_S > 10 * ran.call_s


def test_an_import_that_was_put_off_is_timed_with_the_first_look(made: Made) -> None:
    """A lazy package is as slow as another one, once what it offers is asked for."""
    timed = functools.partial(fresh.time_fresh, pauses=Pauses())
    eager, values = timed(made("eager"), 5, "numbers", 2)
    lazy, others = timed(made("lazy"), 5, "numbers", 2)
    assert min(eager.calls) > SLOW_S > max(lazy.calls)
    assert min(*eager.looked, *lazy.looked) > SLOW_S > max(*eager.again, *lazy.again)
    assert difference(values, others) is None and len(values) == 2  # type: ignore[arg-type]


def test_asv_times_the_same_processes(made: Made) -> None:
    """Its loop asks our timer; nothing is looked at then, so what is put off stays so, as for whoever imports it."""
    for name, is_slow in (("eager", True), ("lazy", False)):
        benchmark = made(name)
        time_in_our_way(benchmark)
        benchmark.do_setup()
        benchmark.repeat, benchmark.number, benchmark.warmup_time = 2, 1, 0.0
        samples = benchmark.do_run()["samples"]
        assert len(samples) == 2 and (min(samples) > SLOW_S) is is_slow


def test_a_name_that_base_cannot_give_is_not_compared(made: Made) -> None:
    """An extra that is not installed may raise whatever it likes."""
    base = told(made("broken"))
    assert not base.reason and outputs_unlike(base, told(made("eager"))) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import a.b, c\nfrom d.e import f", ["a.b", "c", "d.e", "d.e.f"]),
        ("if True:\n    from . import g\n    import h", ["h"]),
        ("pass", []),
    ],
)
def test_modules_that_code_imports_are_known_by_their_whole_names(code: str, expected: list[str]) -> None:
    """Those are looked into, whatever name they are imported under."""
    assert imported(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (r"s = 'a\\nb'", r"s = 'a\nb'"),
        ('s = """a"""', 's = """a"""'),
        ("s = 'a\u2028b'", "s = 'a\u2028b'"),
        ('s = "a"', 's = "a"'),
    ],
)
def test_code_is_as_asv_pastes_it(code: str, expected: str) -> None:
    """Between three quotes, where a backslash begins what it does in any text."""
    assert as_pasted(code) == expected


def test_what_is_no_code_is_refused_as_asv_does(made: Made) -> None:
    """And not run as the text that it shows."""
    assert told(made("eager", lambda: None)).reason.startswith("TypeError: the code of a timeraw benchmark")


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("[2, 3, 5]", "[2, 3, 5]", True),
        ("[2, 3, 5]", "(2, 3, 5)", True),
        ("[2, 3, 5]", "[0, 0, 0]", False),
        ("{1: 'a', 2: [3.5]}", "{2: [3.5], 1: 'a'}", True),
        ("{1: 'a', 2: [3.5]}", "{1: 'a', 2: [3.6]}", False),
        ("{1, 2}", "{2, 1}", True),
        ("{1, 2}", "{1, 3}", False),
        ("10 ** 5000", "10 ** 5000", True),
        ("10 ** 5000", "10 ** 5001", False),
        ("'\u00e9'", "'e'", False),
    ],
)
def test_values_of_plain_classes_are_compared(made: Made, ours: str, theirs: str, *, expected: bool) -> None:
    """Also within others."""
    left = [told(made("eager", functools.partial(str, f"found = {code}"))) for code in (ours, theirs)]
    assert not left[0].reason
    assert (outputs_unlike(*left) is None) is expected


def test_values_of_expressions_get_names() -> None:
    """Those that begin a line; all else stays as it is."""
    assert with_values("s = 'a\u2028b'\nlen(s)") == "s = 'a\u2028b'\nvalue_of_line_2 = len(s)"
    assert with_values("x = 1\nf(\n    x)\nif x:\n    f(x)\n'text'") == (
        "x = 1\nvalue_of_line_2 = f(\n    x)\nif x:\n    f(x)\nvalue_of_line_6 = 'text'"
    )


def test_a_process_that_fails_says_why(made: Made) -> None:
    """Its last line; the launch has a reason then, and no values."""
    benchmark = made("nothing", timeraw_called)
    with pytest.raises(RawFailed, match="exit code 1: ImportError: cannot import name 'answer'"):
        run(benchmark)
    assert told(benchmark).reason.startswith("RawFailed: its process ended")
    assert parse_capture(b'{"failed": "RawFailed: x"}').reason == "failed: RawFailed: x"
