"""Time a submission against base in one sandbox: two states of the tree, in turns, one fresh process per launch."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ARMS = ("base", "patched")
CLOCK_TOLERANCE_S = 0.005
START_ALLOWANCE_S = 10.0
FEWEST_ROUNDS = 2
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def plain_files(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file and link below `root`, git's own left out."""
    found = {}
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(place, name) for name in names):
            facts = path.lstat()
            found[str(path.relative_to(root))] = (facts.st_size, facts.st_mtime_ns)
    return found


class States:
    """Base and submission of one tree; only the files in which they differ are changed to go from one to the other."""

    def __init__(self, work: Path, place: Path) -> None:
        self._work = work
        self._place = place
        self._seen: dict[str, dict[str, tuple[int, int]]] = {}
        self.drop()

    def keep(self, arm: str) -> None:
        """Remember the tree as it is now, with its byte code: `base` whole, `patched` what differs from it.

        All of it is compiled anew: byte code of a file that was changed within a second, to the same size, looks fresh.
        """
        words = [sys.executable, "-I", "-S", "-m", "compileall", "-q", "-f", "-x", r"/\.git/", str(self._work)]
        subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        self._seen[arm] = plain_files(self._work)
        for path in self._seen[arm] if arm == "base" else self._differing():
            self._copy(self._work / path, self._place / arm / path)

    def _differing(self) -> list[str]:
        base, patched = self._seen["base"], self._seen["patched"]
        return sorted(path for path in base.keys() | patched.keys() if base.get(path) != patched.get(path))

    def go(self, arm: str) -> None:
        """Make the tree what it was when `arm` was kept."""
        for path in self._differing():
            self._copy(self._place / arm / path, self._work / path)

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        """Make `target` what `source` is, which may be nothing."""
        if target.is_symlink() or target.exists():
            target.unlink()
        if source.is_symlink() or source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)

    def drop(self) -> None:
        """Delete what was kept."""
        shutil.rmtree(self._place, ignore_errors=True)


class Bench:
    """Launches of one suite."""

    def __init__(self, tests: Path, work: Path, expected: dict[str, object]) -> None:
        self._script = str(tests / "launch.py")
        directory = str(expected["benchmark_dir"]).strip("/")
        self._suite = str(work / directory) if directory not in {"", "."} else str(work)
        self._env = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONHASHSEED": "0", "TZ": "UTC"}
        self._env.update(PYTHONPATH=str(tests / "asv_runner.zip"), PYTHONDONTWRITEBYTECODE="1")

    def ask(self, request: dict[str, object], timeout_s: float) -> dict[str, object]:
        """The reply of one launch, or its reason as `failed`."""
        started = time.monotonic()
        words = [sys.executable, self._script, json.dumps({**request, "suite": self._suite})]
        with tempfile.TemporaryDirectory() as place:
            try:
                done = subprocess.run(
                    words, cwd=place, env=self._env, timeout=timeout_s, check=False, capture_output=True
                )
            except subprocess.TimeoutExpired:
                return {"failed": f"timed out after {timeout_s:g} s"}
        wall_s = time.monotonic() - started
        try:
            reply = json.loads(done.stdout)
        except ValueError:
            return {"failed": f"ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-300:]}"}
        if not isinstance(reply, dict):
            return {"failed": "the reply is no object"}
        return checked(reply, wall_s) if "samples" in reply else reply


def checked(reply: dict[str, object], wall_s: float) -> dict[str, object]:
    """The reply where its samples are times that can have passed."""
    samples, number = reply["samples"], reply.get("number")
    if not isinstance(samples, list) or not samples or not isinstance(number, int) or number < 1:
        return {"failed": "the reply has no usable samples"}
    if not all(isinstance(sample, float) and 0 < sample < math.inf for sample in samples):
        return {"failed": "a sample is no time"}
    if math.fsum(samples) * number > wall_s + CLOCK_TOLERANCE_S:
        return {"failed": "more seconds are claimed than have passed"}
    return reply


class Track:
    """One workload on its way: the times of both arms by round, and why it has none."""

    def __init__(self, workload: str, facts: dict[str, object], default_timeout_s: float) -> None:
        self.workload = workload
        self.facts = facts
        given = facts.get("timeout")
        self.timeout_s = (float(given) if isinstance(given, (int, float)) else default_timeout_s) + START_ALLOWANCE_S
        self.number = 0
        self.times: dict[str, dict[int, float]] = {arm: {} for arm in ARMS}
        self.reasons: dict[str, str] = {}

    def launch(self, bench: Bench, arm: str, round_: int, cache: Path) -> None:
        """Time it once in `arm`, whose state the tree is in; round -1 calibrates or warms up."""
        key = self.facts.get("setup_cache_key")
        request = {"name": self.facts["name"], "index": self.facts["index"], "number": self.number}
        place = str(cache / arm / str(abs(hash(key)))) if key else None
        reply = bench.ask({**request, "what": "run", "cache": place}, self.timeout_s)
        if "samples" not in reply:
            self.reasons[arm] = str(reply.get("failed") or reply.get("skipped"))[:300]
            return
        samples, number = reply["samples"], reply["number"]
        assert isinstance(samples, list) and isinstance(number, int)
        self.number = self.number or number
        if round_ >= 0:
            self.times[arm][round_] = statistics.median(samples)

    def row(self) -> dict[str, object]:
        """What is known of it: the ratio is the exponential of the median of the rounds' ln(base / patched)."""
        base, patched = (self.times[arm] for arm in ARMS)
        logs = [math.log(base[number] / patched[number]) for number in sorted(base.keys() & patched.keys())]
        enough = len(logs) >= FEWEST_ROUNDS and not self.reasons
        return {
            "workload": self.workload,
            "ratio": math.exp(statistics.median(logs)) if enough else None,
            "rounds": len(logs),
            "broken": "patched" in self.reasons and "base" not in self.reasons,
            "reasons": self.reasons,
        }


def measure(tests: Path, work: Path, states: States, expected: dict[str, object]) -> list[dict[str, object]]:
    """One row for each workload that base has, timed in rounds until these, or the seconds for it, are used up."""
    bench = Bench(tests, work, expected)
    rounds, seconds = int(str(expected["rounds"])), float(str(expected["measure_s"]))
    states.go("base")
    found = bench.ask({"what": "list"}, 300.0).get("workloads")
    listed = {str(facts["id"]): facts for facts in found} if isinstance(found, list) else {}
    wanted = expected["workloads"]
    assert isinstance(wanted, list)
    limit = float(str(expected["benchmark_timeout_s"]))
    tracks = [Track(name, listed.get(name, {}), limit) for name in wanted]
    for track in tracks:
        if track.workload not in listed:
            track.reasons["base"] = "not among the workloads that base lists"
    with tempfile.TemporaryDirectory() as cache:
        take_turns(tracks, bench, states, rounds, time.monotonic() + seconds, Path(cache))
    return [track.row() for track in tracks]


def take_turns(tracks: list[Track], bench: Bench, states: States, rounds: int, deadline: float, cache: Path) -> None:
    """A warm-up and the rounds, each over all workloads before the next one begins, until the deadline."""
    rng = random.Random(0)
    for number in range(-1, rounds):
        for track in tracks:
            play(track, bench, states, number, arms_of(number, rng), cache)
            if time.monotonic() > deadline:
                return


def arms_of(number: int, rng: random.Random) -> list[str]:
    """The arms' order in a round; base is the first to be launched of all, and calibrates."""
    return list(ARMS) if number < 0 else rng.sample(ARMS, len(ARMS))


def play(track: Track, bench: Bench, states: States, number: int, order: list[str], cache: Path) -> None:
    """One round of one workload, while both arms still give times."""
    for arm in order:
        if not track.reasons:
            states.go(arm)
            track.launch(bench, arm, number, cache)
