"""Run the tests of a task in its sandbox and write reward.json: 1.0 where every expected test passes, else 0.0."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

NOT_PASSED = {"failure", "error", "skipped"}


def passed_ids(report: Path) -> set[str]:
    """Ids `classname::name` of a JUnit report's cases, without those that any of its entries says did not pass."""
    try:
        cases = list(ET.parse(report).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return set()
    told = [(f"{case.get('classname', '')}::{case.get('name', '')}", {child.tag for child in case}) for case in cases]
    return {name for name, _ in told} - {name for name, tags in told if tags & NOT_PASSED}


def run(command: list[str], timeout_s: float) -> int:
    """The command's exit code; -1 where it ran out of time or cannot be started."""
    try:
        return subprocess.run(command, timeout=timeout_s, check=False).returncode
    except (OSError, subprocess.TimeoutExpired):
        return -1


def main(expected_file: str, target: str) -> int:
    """Run, compare, write; the exit code is 0 where all expected tests, at least one, passed."""
    expected = json.loads(Path(expected_file).read_text(encoding="utf-8"))
    report = Path(target) / "junit.xml"
    report.unlink(missing_ok=True)
    code = run([word.replace("{junit}", str(report)) for word in expected["command"]], expected["timeout_s"])
    passing = set(expected["passing"])
    failed = sorted(passing - passed_ids(report)) if code >= 0 else sorted(passing)
    reward = 1.0 if passing and not failed else 0.0
    write(Path(target) / "details.json", {"exit_code": code, "failed": failed[:1000], "n_failed": len(failed)})
    write(Path(target) / "reward.json", {"reward": reward, "tests_passed": reward})
    return 0 if reward else 1


def write(path: Path, value: dict[str, object]) -> None:
    """Replace a JSON file whole."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(json.dumps(value) + "\n", encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
