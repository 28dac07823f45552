"""One launch: a fresh process that times one workload: `python -m inside.launch` prints one line of JSON.

It is asked on standard input, which is read before any code of the arm is there: no command line tells of it. Request:
key (that the reply is signed with), suite, name, index (or null), cache (directory or null); number, repeat, warmup as
asv_runner's attributes (number 0: calibrate); call (false: everything but the timed call, so that the host sees what
set-up costs); capture (null, or a seed: then a second line says what one more call computes); fresh (null, or twist and
what to move: then other inputs than the suite's are timed instead, and the second line says what came of them; inputs:
so many, 0: as many as there is time for; later: whether there are calls afterwards that nobody times; kind:
"looked"; "short": nothing is looked at before a call is over; "clocked": many of them between two lines that are marks,
by which the host sees how long that takes; what they follow from is answered to the first; what came of some of them is
said afterwards).
Reply: samples, number, run_s, setup_s, own (the benchmark's attributes after setup); or skipped, or failed: a reason.

Setup runs before every sample, and a sample is `number` calls: what asv has always done, and what suites are written
for. asv_runner 0.3 by itself would run it before every call; the same protocol has to hold for every version.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from time import perf_counter

from . import OWN
from .report import TYPE_CHECKING, Report, failure, hide, leave_script_path
from .suite import Benchmark, SetupCacheFailed, cached, enter_directory, is_raw, loaded

if TYPE_CHECKING:
    from collections.abc import Callable

__builtins__ = OWN

CALIBRATION_S = 0.05
"""A calibrating launch goes on taking samples for this long."""


def empty_call(benchmark: Benchmark) -> None:
    """Replace the function that is timed by one that does nothing; of timeraw code only the statement goes."""
    original = benchmark.func

    def nothing(*params: object) -> object:
        if not is_raw(benchmark):
            return None
        code = original(*params)
        return ("pass", code[1]) if isinstance(code, tuple) else "pass"

    benchmark.func = nothing  # type: ignore[method-assign]


def set_up(benchmark: Benchmark) -> str | None:
    """Run setup; the reason where the suite says that this workload does not apply."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        refused = benchmark.do_setup()
    sys.stdout.write(said.getvalue())
    if not refused:
        return None
    told = [line for line in said.getvalue().splitlines() if line.startswith("asv: skipped: ")]
    return told[-1][len("asv: skipped: ") :].strip()[:300] if told else "skip_params"


def attributes(benchmark: Benchmark) -> dict[str, object]:
    """number, repeat and warmup_time as the benchmark wants them; setup may have changed them. 0 means "choose"."""
    repeat = getattr(benchmark, "repeat", 0)
    return {
        "number": getattr(benchmark, "number", 0),
        "repeat": repeat if isinstance(repeat, int) else 0,
        "warmup_time": getattr(benchmark, "warmup_time", -1.0),
    }


def run(benchmark: Benchmark, request: dict[str, object]) -> dict[str, object]:
    """Time the workload with the host's numbers, or calibrate where the host gives none."""
    own = attributes(benchmark)
    calibrate = not request["number"]
    if not calibrate:
        benchmark.number = int(str(request["number"]))
    benchmark.repeat = (1, 1000, CALIBRATION_S) if calibrate else int(str(request["repeat"]))
    benchmark.warmup_time = float(str(request["warmup"]))
    benchmark.min_run_count = 1  # type: ignore[attr-defined]
    benchmark._setup_isolates_timed_calls = False  # type: ignore[attr-defined]
    if not request["call"]:
        empty_call(benchmark)
    started = perf_counter()
    result = benchmark.do_run()
    elapsed = perf_counter() - started
    if isinstance(result, dict):
        return {"samples": result["samples"], "number": result["number"], "run_s": elapsed, "own": own}
    return {"samples": [float(str(result))], "number": 1, "run_s": elapsed, "own": own}


def outputs(
    benchmark: Benchmark, seed: int, capture: Callable[[Benchmark, int], dict[str, object]]
) -> dict[str, object]:
    """What one more call computes, and the seconds that it took to find out."""
    started = perf_counter()
    found = capture(benchmark, seed)
    return dict(found, capture_s=perf_counter() - started)


class Checks:
    """What only some launches need; it is imported before the suite is, so that the suite cannot change it."""

    def __init__(self, request: dict[str, object]) -> None:
        from .raw import time_in_our_way

        self.time_raw = time_in_our_way
        fresh = request["fresh"]
        if fresh:
            from .clocked import time_clocked
            from .fresh import time_fresh
            from .pauses import Pauses
            from .short import time_short

            assert isinstance(fresh, dict)
            if fresh["kind"] == "looked":  # no other launch is held up by looks
                self.pauses = Pauses()
            self.time_clocked, self.time_fresh, self.time_short = time_clocked, time_fresh, time_short
        if request["capture"] is not None:
            from .capture import capture

            self.capture = capture


def on_fresh_inputs(benchmark: Benchmark, wanted: object, report: Report, checks: Checks) -> dict[str, object]:
    """Time the benchmark on inputs that nobody knew beforehand, and say what it computes of them."""
    assert isinstance(wanted, dict)
    asked = benchmark, int(wanted["twist"]), str(wanted["what"]), int(wanted["inputs"])
    values: object
    if wanted["kind"] == "clocked":
        seconds, teardowns, values = checks.time_clocked(*asked, ask=report.ask, mark=report.mark)
        report.say({"samples": seconds, "number": 1, "run_s": sum(seconds), "setup_s": 0.0, "own": {}})
        return {"values": values, "teardowns": teardowns}
    if wanted["kind"] == "short":
        times, values = checks.time_short(*asked)
    else:
        times, values = checks.time_fresh(*asked, later=bool(wanted["later"]), pauses=checks.pauses)
    report.say({"samples": times.looked, "number": 1, "run_s": sum(times.looked), "setup_s": 0.0, "own": {}})
    return {"values": values, "calls": times.calls, "setups": times.setups, "again": times.again}


def launch(request: dict[str, object], report: Report, checks: Checks) -> dict[str, object]:
    """Load, set up, run and tear down one workload; where outputs are wanted, the times are told before them."""
    cache = request["cache"]
    enter_directory(str(cache) if cache else None)
    benchmark = cached(loaded(str(request["suite"]), request), request)
    if is_raw(benchmark):
        checks.time_raw(benchmark)
    if request["fresh"]:
        return on_fresh_inputs(benchmark, request["fresh"], report, checks)
    started = perf_counter()
    skipped = set_up(benchmark)
    setup_s = perf_counter() - started
    try:
        if skipped is not None:
            return {"skipped": skipped}
        said = dict(run(benchmark, request), setup_s=setup_s)
        if request["capture"] is None:
            return said
        report.say(said)
        return outputs(benchmark, int(str(request["capture"])), checks.capture)
    finally:
        benchmark.do_teardown()


if __name__ == "__main__":
    report = Report()
    asked = json.loads(sys.stdin.buffer.readline())
    report.sign(asked.pop("key"))
    if asked["fresh"] and asked["fresh"]["kind"] == "clocked":
        report.take_answers()
    checks = Checks(asked)
    leave_script_path()
    hide()
    try:
        reply = launch(asked, report, checks)
    except SetupCacheFailed as error:
        reply = {"failed": f"setup_cache failed: {error}"}
    except NotImplementedError as error:
        reply = {"skipped": failure(error)}
    except BaseException as error:
        import traceback

        traceback.print_exc()
        reply = {"failed": failure(error)}
    report.send(reply)
