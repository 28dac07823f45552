"""All tests, in nine runs of pytest: python scripts/run_tests.py [OPTIONS OF PYTEST].

Side by side, a process a core, run those that compute and wait and share nothing, and after them, in two processes,
those that build and kill without Docker. At the same time, one by one, run those that have the Docker engine to
themselves, and beside these, one by one, those that have a cluster or another engine to themselves: both mostly wait.
After all of them, with nothing beside it, runs what needs all cores. When its cluster is gone, too, runs what measures,
one by one on a core of its own: on one what shares the demo, and what is left; on another what measures large effects,
and then the siege, which holds the scores of attacks against doing nothing. What one run is given, the last one leaves
out, so that each test is in exactly one of them.
"""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
_SHARE_NOTHING = {
    "conformance": ("agent", "cache", "forge", "ledger", "loopback_github", "rules", "store", "table"),
    "faults": ("bad_input", "clocks_and_locale", "forge", "hostile_names", "nth_call", "store_hostile_text"),
    "integration": ("scripts",),
}
TOGETHER = (
    "tests/faults/test_ledger_model.py",
    *(f"tests/{room}/test_{name}.py" for room, names in _SHARE_NOTHING.items() for name in names),
    "tests/house",
    "tests/unit",
)
"""The longest first: a process that has nothing left takes tests from another."""
_TWO_AT_ONCE = {
    "faults": (
        "hostile_repository", "ledger_interrupt", "ledger_kills", "ledger_leases", "stage_kills", "store_crowds",
    ),
    "integration": ("resolution", "resolution_sources", "supabase", "synthesizer"),
}  # fmt: skip
PAIRED = tuple(f"tests/{room}/test_{name}.py" for room, names in _TWO_AT_ONCE.items() for name in names)
"""No clock is read in them, and none needs Docker, which others' mounts and load disturb."""
_ENGINES = {
    "conformance": (
        "container_engine", "container_limits", "docker_base", "executor", "executor_ray", "image_manager",
        "metadata_hook", "moved_pins", "seal_commit", "seal_leaks", "sources_built", "verifiers",
    ),
    "faults": (
        "bubblewrap_kills", "docker_gone", "docker_kills", "ledger_disk_full", "ray_kills", "sandbox", "secrets",
        "trial_kills",
    ),
    "integration": (
        "cli_agents", "coding_agents", "former_setuptools", "push_docker", "thin_wheel", "verify_legacy",
    ),
    "snippets": ("seed_synthesis",),
}  # fmt: skip
ENGINES = tuple(f"tests/{room}/test_{name}.py" for room, names in _ENGINES.items() for name in names)
"""What uses an engine or a cluster of Ray, or takes long, and decides nothing by a clock."""
WITH_DEMO = ("tests/integration/test_demo.py", "tests/snippets/test_snippets.py")
"""What looks at the demo, which is made once."""
_MEASURED = {
    "integration": (
        "eval_published", "eval_tasks", "hung_agent", "impacted", "measure", "pipeline", "rebuild",
        "samplelib", "screening", "suite_from",
    ),
    "redteam": ("policy",),
    "snippets": ("seed_text",),
}  # fmt: skip
MEASURED = tuple(f"tests/{room}/test_{name}.py" for room, names in _MEASURED.items() for name in names)
"""What else measures, or builds what is measured, on one core."""
SIEGE = ("tests/redteam/test_siege.py",)
"""What takes longest of all that measures."""
ALL_CORES = ("tests/integration/test_eval_run.py", "tests/integration/test_ray_pipeline.py")
"""What works on several cores at once."""
INTERRUPTED, NOTHING_COLLECTED = 2, 5
"""Exit codes of pytest."""
SHOWN = 25
_TOLD = {"failure": "failed", "error": "errors", "skipped": "skipped"}


@dataclass
class Run:
    """One run of pytest with these words."""

    words: list[str]
    core: int | None = None
    """The core that it keeps to, and all that it starts; None: any."""
    code: int = field(default=INTERRUPTED, init=False)

    def carry_out(self, report: Path, printed: IO[bytes] | None) -> None:
        """Run to the end; what it prints goes to `printed` (None: where ours goes)."""
        kept = [] if self.core is None else ["taskset", "--cpu-list", str(self.core)]
        command = [*kept, sys.executable, "-m", "pytest", *self.words, f"--junitxml={report}"]
        # Runs and what they start import the same modules a thousand times: what was compiled is kept.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.code = subprocess.run(command, cwd=ROOT, env=env, stdout=printed, check=False).returncode


Lane = list[Run]
"""Runs one after another, beside those of other lanes."""


def steps(options: Sequence[str] = ()) -> list[list[Lane]]:
    """The steps, one after another; the lanes of a step at the same time."""

    def lane(*runs: Run) -> Lane:
        return [replace(run, words=[*run.words, *options]) for run in runs]

    side_by_side = Run(["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", *TOGETHER])
    in_pairs = Run(["-n", "2", "--dist", "loadfile", *PAIRED])
    with_docker, without = (Run(["-n", "0", "-m", marked, *ENGINES]) for marked in ("docker", "not docker"))
    cores = sorted(os.sched_getaffinity(0))
    spread = Run(["-n", "0", *ALL_CORES])
    given = (*TOGETHER, *PAIRED, *ENGINES, *ALL_CORES, *WITH_DEMO, *MEASURED, *SIEGE)
    left = ["tests", *(f"--ignore={path}" for path in given)]
    with_demo, last = (Run(["-n", "0", *words], cores[-1]) for words in (WITH_DEMO, left))
    measured, siege = (Run(["-n", "0", *words], cores[0]) for words in (MEASURED, SIEGE))
    both = [[with_demo, last], [measured, siege]]
    on_cores = [lane(*runs) for runs in both] if len(cores) > 1 else [lane(*both[0], *both[1])]
    return [[lane(side_by_side, in_pairs), lane(with_docker), lane(without)], [lane(spread)], on_cores]


def counted(report: ET.Element) -> Counter[str]:
    """Tests by how they ended, from a report of pytest's (JUnit's XML)."""
    suite = report.find("testsuite")
    if suite is None:
        return Counter()
    found = Counter({word: int(suite.attrib[f"{word}s" if word != "skipped" else word]) for word in _TOLD})
    found["passed"] = int(suite.attrib["tests"]) - found.total()
    return found


def summed_up(ended: Counter[str], seconds: float) -> str:
    """One line about all runs, as pytest writes it."""
    words = {**_TOLD, "passed": "passed"}
    told = [f"{ended[name]} {words[name]}" for name in ("failure", "passed", "skipped", "error") if ended[name]]
    return f"{', '.join(told) or 'no tests ran'} in {seconds:.2f}s"


def spent(reports: Sequence[ET.Element]) -> dict[str, float]:
    """Seconds by test module, what its fixtures took with it, from reports of pytest's; the longest first."""
    found = defaultdict[str, float](float)
    for report in reports:
        for case in report.iter("testcase"):
            found[case.attrib["classname"].partition(".Test")[0]] += float(case.attrib["time"])
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def carried_out(step: Sequence[Lane], place: Path) -> list[ET.Element]:
    """Run all lanes of a step at the same time; the first one prints as it goes, the others when all have ended.

    Gives their reports, which are written to `place`, a new directory. Ctrl-C ends the runs, too, and no lane begins
    another.
    """
    place.mkdir()

    def travelled(number: int) -> bytes:
        with tempfile.TemporaryFile() as printed:
            for at, run in enumerate(step[number]):
                run.carry_out(place / f"{number}-{at}.xml", printed if number else None)
                if run.code == INTERRUPTED:
                    break
            printed.seek(0)
            return printed.read()

    with ThreadPoolExecutor(len(step)) as pool:
        for text in list(pool.map(travelled, range(len(step)))):
            sys.stdout.buffer.write(text)
    sys.stdout.flush()
    return [ET.parse(report).getroot() for report in sorted(place.iterdir())]


def main(options: Sequence[str]) -> int:
    """Run all, even where the first one fails; the exit code is the first one that is not 0."""
    started = time.monotonic()
    codes, reports = [], list[ET.Element]()
    with tempfile.TemporaryDirectory(prefix="fc-tests-") as place:
        for number, step in enumerate(steps(options)):
            reports += carried_out(step, Path(place, str(number)))
            codes += [run.code for lane in step for run in lane]
            if INTERRUPTED in codes:
                break
        ended = sum(map(counted, reports), Counter[str]())
        longest = list(spent(reports).items())[:SHOWN]
    sys.stdout.write("".join(f"{seconds:7.0f} s  {module}\n" for module, seconds in longest))
    sys.stdout.write(f"all runs: {summed_up(ended, time.monotonic() - started)}\n")
    failed = [code for code in codes if code not in {0, NOTHING_COLLECTED}]
    return failed[0] if failed else min(codes)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
