"""One launch inside the sandbox, with asv_runner from its archive: list a suite, or time one workload."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import sys
from pathlib import Path

SCORED = {"TimeBenchmark", "TimerawBenchmark"}
SAMPLES = 5
CALIBRATION_S = 0.05


def listed(suite: str) -> dict[str, object]:
    """The timed workloads of a suite: id, benchmark, index of its parameters, time limit, key of its setup_cache."""
    from asv_runner.discovery import disc_benchmarks, update_sys_path

    update_sys_path(suite)
    found = []
    for benchmark in disc_benchmarks(suite, ignore_import_errors=True):
        if type(benchmark).__name__ not in SCORED:
            continue
        facts = {name: getattr(benchmark, name, None) for name in ("name", "timeout", "setup_cache_key")}
        for index, values in enumerate(itertools.product(*benchmark.params)):
            one = f"{benchmark.name}({', '.join(map(str, values))})" if benchmark.params else benchmark.name
            found.append({**facts, "id": one, "index": index if benchmark.params else None})
    return {"workloads": found}


def timed(request: dict[str, object]) -> dict[str, object]:
    """Set up, time and tear down one workload."""
    from asv_runner.discovery import get_benchmark_from_name

    index = request["index"]
    name = str(request["name"]) if index is None else f"{request['name']}-{index}"
    benchmark = get_benchmark_from_name(str(request["suite"]), name)
    if request["cache"]:
        benchmark.set_cache(cached(benchmark, Path(str(request["cache"]))))
    if benchmark.do_setup():
        return {"skipped": "its setup refuses it"}
    number = int(str(request["number"]))
    if number:
        benchmark.number, benchmark.repeat, benchmark.warmup_time = number, SAMPLES, 0.0
    else:
        benchmark.repeat = (1, SAMPLES, CALIBRATION_S)
    benchmark.min_run_count = 1
    benchmark._setup_isolates_timed_calls = False
    result = benchmark.do_run()
    benchmark.do_teardown()
    return {"samples": result["samples"], "number": result["number"]}


def cached(benchmark: object, place: Path) -> object:
    """What the arm's setup_cache returned, run there once."""
    kept = place / "cache.pickle"
    if not kept.exists():
        place.mkdir(parents=True, exist_ok=True)
        os.chdir(place)
        kept.write_bytes(pickle.dumps(benchmark.do_setup_cache()))  # type: ignore[attr-defined]
    os.chdir(place)
    return pickle.loads(kept.read_bytes())


def main(request: dict[str, object]) -> None:
    """Answer the request on a private copy of standard output; what the suite prints goes to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    del sys.path[0]
    try:
        reply = listed(str(request["suite"])) if request["what"] == "list" else timed(request)
    except NotImplementedError as error:
        reply = {"skipped": str(error)}
    except Exception as error:  # noqa: BLE001  # any failure of the suite is an answer
        reply = {"failed": f"{type(error).__name__}: {error}"[:300]}
    os.write(answer, json.dumps(reply).encode() + b"\n")
    os.close(answer)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
