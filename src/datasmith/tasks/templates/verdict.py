"""Grade a submission in its sandbox and write reward.json: its speed-up where every expected test passes, else 0.0."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_PASSED = {"failure", "error", "skipped"}
GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
GIT_APPLY = (*GIT, "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn")
STEP_TIMEOUT_S = 3600.0
SOME_FAILED = 1
"""pytest's exit code of a run that came to its end, and in which tests failed."""
REFUSED = re.compile(
    r"(^|/)(\.git[^/]*|conftest\.py|(site|user)customize(\.[^/]*)?|[^/]*\.pth|\.?pytest\.(ini|toml)|tox\.ini)(/|$)"
    r"|\.(dist|egg)-info(/|$)|(^|/)\.?asv[^/]*\.jsonc?$",
    re.IGNORECASE,
)
"""Paths that no submission may change; the policy of fc-eval is longer."""


class Problem(Exception):
    """Why there is no verdict but 0."""


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


def told(command: list[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """What a command that has to succeed says; a Problem where it does not."""
    whole = {**os.environ, **env} if env else None
    try:
        done = subprocess.run(command, input=stdin, timeout=STEP_TIMEOUT_S, check=False, capture_output=True, env=whole)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Problem(f"{command[0]}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-500:]
        raise Problem(f"{' '.join(command[:1] + command[-2:])} ended with {done.returncode}: {said}")
    return done.stdout


class Submission:
    """The diff that is judged, taken out of the tree or given, and the tree brought to base."""

    def __init__(self, tests: Path, work: Path, expected: dict[str, object]) -> None:
        self._tests = tests
        self._work = work
        self._expected = expected
        root = told([*GIT, "rev-list", "--max-parents=0", "HEAD"]).split()[-1].decode()
        words = [
            *GIT,
            "diff",
            "--binary",
            "--full-index",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
        ]
        self.diff = told([*words, "--src-prefix=a/", "--dst-prefix=b/", root, "--"])
        if self.diff:
            self._own_tree()
        elif os.environ.get("FC_PATCH"):
            self._given(Path(os.environ["FC_PATCH"]))
        self.paths = self._changed()
        refused = [path for path in self.paths if REFUSED.search(path)]
        if refused:
            raise Problem(f"the submission changes what it may not: {', '.join(refused[:5])}")

    def _own_tree(self) -> None:
        """The submission worked here: take its tracked changes back, so that both states can be made."""
        told([*GIT_APPLY, "-R", "-"], stdin=self.diff)
        if self.builds:
            self.build()

    def _given(self, patch: Path) -> None:
        if not patch.is_file():
            raise Problem("no diff of the submission was collected")
        self.diff = patch.read_bytes()

    def _changed(self) -> list[str]:
        if not self.diff.strip():
            return []
        rows = told([*GIT_APPLY, "--numstat", "-z", *self._left_out(), "-"], stdin=self.diff).split(b"\0")
        return [row.split(b"\t", 2)[2].decode("utf-8", "surrogateescape") for row in rows if row.count(b"\t") >= 2]

    @staticmethod
    def _left_out() -> list[str]:
        """Options that skip what the image's own build left untracked in the tree."""
        names = told([*GIT, "ls-files", "--others", "--exclude-standard", "-z"]).decode("utf-8", "surrogateescape")
        return [f"--exclude={name}" for name in names.split("\0") if name]

    @property
    def builds(self) -> bool:
        """Whether the package has machine code that the submission may have changed."""
        source = re.compile(str(self._expected["compiled_source"]), re.IGNORECASE)
        names = re.findall(rb'^diff --git "?a/(.+?)"? "?b/(.+?)"?$', self.diff, re.MULTILINE)
        changed = [name.decode("utf-8", "surrogateescape") for pair in names for name in pair]
        return bool(self._expected["compiled"]) and any(map(source.search, changed))

    def build(self) -> None:
        """Build the package again as the image did."""
        arguments = self._expected["build_args"]
        env = dict(arguments) if isinstance(arguments, dict) else {}
        places = {"FC_WORKDIR": str(self._work), "FC_ENV": os.environ.get("FC_ENV", "/opt/env")}
        offline = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
        told(["bash", str(self._tests / "rebuild.sh")], env={**env, **places, **offline})

    def apply(self) -> None:
        """Lay the submission into the tree, built where it must be."""
        told([*GIT_APPLY, *self._left_out(), "-"], stdin=self.diff)
        if self.builds:
            self.build()


def lay(tests: Path, work: Path) -> None:
    """Put base's own test and benchmark files back."""
    told(["cp", "-R", "--remove-destination", f"{tests / 'base'}/.", str(work)])


def failed_tests(expected: dict[str, object], out: Path) -> tuple[int, list[str]]:
    """Run the tests; their exit code, and the expected ones that did not pass."""
    report = out / "junit.xml"
    report.unlink(missing_ok=True)
    words, timeout_s = expected["command"], expected["timeout_s"]
    assert isinstance(words, list) and isinstance(timeout_s, float)
    code = run([word.replace("{junit}", str(report)) for word in words], timeout_s)
    passing = expected["passing"]
    assert isinstance(passing, list)
    ended = code in {0, SOME_FAILED}
    return code, sorted(set(passing) - passed_ids(report)) if ended else sorted(passing)


def grade(tests: Path, out: Path, work: Path, details: dict[str, object]) -> dict[str, float]:
    """The rewards of the submission; `details` is filled on the way."""
    import speed  # type: ignore[import-not-found]  # the file beside this one

    expected = json.loads((tests / "expected.json").read_text(encoding="utf-8"))
    submission = Submission(tests, work, expected)
    states = speed.States(work, out.parent / ".fc-states")
    try:
        lay(tests, work)
        if submission.paths:
            states.keep("base")
            submission.apply()
            lay(tests, work)
            states.keep("patched")
        code, failed = failed_tests(expected, out)
        details.update(changed=submission.paths[:1000], exit_code=code, failed=failed[:1000], n_failed=len(failed))
        if failed or not expected["passing"]:
            return {"reward": 0.0, "tests_passed": 0.0}
        if not submission.paths:
            return {"reward": 1.0, "tests_passed": 1.0, "speedup": 1.0}
        suite = tests / "suite.patch"
        if suite.is_file():
            told([*GIT_APPLY, "-"], stdin=suite.read_bytes())
        rows = speed.measure(tests, work, states, expected)
    finally:
        states.drop()
    details["workloads"] = rows
    return {"tests_passed": 1.0, **rewards(rows)}


def rewards(rows: list[dict[str, object]]) -> dict[str, float]:
    """The speed-up as the reward: a geometric mean over what was timed; 0 where nothing was, or a workload broke."""
    ratios = [row["ratio"] for row in rows]
    timed = [ratio for ratio in ratios if isinstance(ratio, float)]
    if not timed or any(row["broken"] for row in rows):
        return {"reward": 0.0, "n_timed": float(len(timed))}
    speedup = math.exp(sum(math.log(ratio) for ratio in timed) / len(timed))
    return {"reward": speedup, "speedup": speedup, "n_timed": float(len(timed)), "n_workloads": float(len(rows))}


def main(tests: Path, out: Path, work: Path) -> int:
    """Grade, write; the exit code is 0 where there is a reward above 0."""
    details: dict[str, object] = {}
    given = {"reward": 0.0, "tests_passed": 0.0}
    try:
        given = grade(tests, out, work, details)
    except (Problem, OSError, ValueError, KeyError, ImportError, shutil.Error) as error:
        details["problem"] = f"{type(error).__name__}: {error}"
    write(out / "details.json", details)
    write(out / "reward.json", dict(given))
    return 0 if given["reward"] else 1


def write(path: Path, value: dict[str, object]) -> None:
    """Replace a JSON file whole."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(json.dumps(value) + "\n", encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
