"""All tests, in three runs of pytest: python scripts/run_tests.py [OPTIONS OF PYTEST].

Side by side, a process a core, run those that compute and wait and share nothing. Then, in two processes, those that
build and kill without Docker. After them, one by one, runs all that is left: what measures, what
has an engine or a whole machine to itself. What one run is given, the last one leaves out, so that each test is in
exactly one of them.
"""

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SHARE_NOTHING = {
    "conformance": ("agent", "cache", "forge", "ledger", "loopback_github", "rules", "store", "table"),
    "faults": ("bad_input", "clocks_and_locale", "forge", "hostile_names", "nth_call", "store_hostile_text"),
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
INTERRUPTED, NOTHING_COLLECTED = 2, 5
"""Exit codes of pytest."""
_TOLD = {"failure": "failed", "error": "errors", "skipped": "skipped"}


def runs(options: Sequence[str] = ()) -> list[list[str]]:
    """The three command lines, without the program."""
    side_by_side = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", *TOGETHER]
    in_pairs = ["-n", "2", "--dist", "loadfile", *PAIRED]
    one_by_one = ["-n", "0", "tests", *(f"--ignore={path}" for path in (*TOGETHER, *PAIRED))]
    return [[*words, *options] for words in (side_by_side, in_pairs, one_by_one)]


def counted(report: Path) -> Counter[str]:
    """Tests by how they ended, from a report of pytest's (JUnit's XML)."""
    suite = ET.parse(report).getroot().find("testsuite")
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


def main(options: Sequence[str]) -> int:
    """Run all, even where the first one fails; the exit code is the first one that is not 0."""
    started = time.monotonic()
    ended = Counter[str]()
    codes = []
    with tempfile.TemporaryDirectory(prefix="fc-tests-") as place:
        for number, words in enumerate(runs(options)):
            report = Path(place) / f"{number}.xml"
            command = [sys.executable, "-m", "pytest", *words, f"--junitxml={report}"]
            codes.append(subprocess.run(command, cwd=ROOT, check=False).returncode)
            if report.exists():
                ended += counted(report)
            if codes[-1] == INTERRUPTED:
                break
    sys.stdout.write(f"all runs: {summed_up(ended, time.monotonic() - started)}\n")
    failed = [code for code in codes if code not in {0, NOTHING_COLLECTED}]
    return failed[0] if failed else min(codes)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
