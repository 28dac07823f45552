"""A container that says how long calls took instead of making them: for the host's decisions, without waiting."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import TracebackType
from typing import Self

from datasmith.docker.engine import ExecResult, ImageRef
from datasmith.workloads.channel import MARK, signed
from datasmith.workloads.inside.labels import SET_UP
from datasmith.workloads.launch import MOST_SAID

CLOCKED_INPUTS = 200
BETWEEN_S = 0.005
"""Inputs that a launch calls a benchmark on between two marks, and what is done between these calls."""
IMAGE = ImageRef("simulated", "x", "sha256:0")
Request = Mapping[str, object]


@dataclass
class SimulatedContainer:
    """Container whose launches take `seconds(request)` per call, claim `claims` of that, and 0.15 s of set-up."""

    seconds: Callable[[Request], float]
    claims: float = 1.0
    reply: Callable[[Request], ExecResult | None] = lambda _request: None
    computes: Callable[[], object] = lambda: 1.0
    made: Callable[[], object] = lambda: 1.0
    tells_s: float = 1e-4
    puts_off_s: float = 0.0
    does_it_again: bool = False
    sets_up_s: float = 1e-4
    prepares_s: float = 0.0
    cold_s: float = 3e-5
    hidden_s: float = 0.0
    unstopped_s: float = 0.0
    tears_down_s: float = 1e-6
    marks: int = 2
    clocked: Callable[[], object] = lambda: 1.0
    fresh: Callable[[Request], ExecResult | float | None] = lambda _request: None
    later: bool = False
    slower: Callable[[], float] = lambda: 1.0
    requests: list[Request] = field(default_factory=list)
    image: ImageRef = IMAGE
    frozen: bool = True

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        answer: bytes = b"",
        cpus: Sequence[int] = (),
        kept_bytes: int = 0,
    ) -> ExecResult:
        """See Container."""
        request: Request = json.loads(stdin)
        is_clocked = isinstance(request["fresh"], dict) and request["fresh"]["kind"] == "clocked"
        assert kept_bytes == MOST_SAID
        assert bool(answer) == is_clocked and not (answer and answer.strip() in stdin)
        self.requests.append(request)
        said = self._at(self.slower())._said(request)
        output = signed(said.stdout, str(request["key"]))
        sizes = list(accumulate(map(len, output.splitlines(keepends=True))))
        arrivals = tuple((sizes[line], seconds) for line, seconds in said.arrivals)
        return replace(said, stdout=output, arrivals=arrivals)

    def _at(self, slower: float) -> "SimulatedContainer":
        """On a core that is so many times as slow."""

        def fresh(request: Request) -> ExecResult | float | None:
            given = self.fresh(request)
            return given * slower if isinstance(given, float) else given

        spent = (
            "tells_s",
            "puts_off_s",
            "sets_up_s",
            "prepares_s",
            "cold_s",
            "hidden_s",
            "unstopped_s",
            "tears_down_s",
        )
        seconds = {name: getattr(self, name) * slower for name in spent}
        return replace(self, seconds=lambda request: self.seconds(request) * slower, fresh=fresh, **seconds)

    def _said(self, request: Request) -> ExecResult:
        special = self.reply(request)
        if special is not None:
            return special
        if request["fresh"]:
            return self._on_fresh_inputs(request)
        number, repeat = int(str(request["number"])) or 10, int(str(request["repeat"])) or 3
        seconds = self.seconds(request) if request["call"] else 1e-8
        own = {"number": 0, "repeat": 0, "warmup_time": -1}
        took = seconds * number * repeat
        samples = [seconds * self.claims] * repeat
        times = {"samples": samples, "number": number, "run_s": took, "setup_s": 0.0, "own": own}
        lines: list[dict[str, object]] = [times]
        if request["capture"] is not None:
            values = [["line 1", ["float", repr(self.computes())]], self._set_up()]
            lines.append({"values": values, "capture_s": 0.01})
        return ExecResult(0, "\n".join(map(json.dumps, lines)).encode(), b"", 0.15 + took, 0.14 + took, timed_out=False)

    def _on_fresh_inputs(self, request: Request) -> ExecResult:
        """Seconds per call there are those that `fresh` gives, else the usual ones; or it gives the whole reply."""
        given = self.fresh(request)
        if isinstance(given, ExecResult):
            return given
        asked = request["fresh"]
        assert isinstance(asked, dict)
        if asked["kind"] == "clocked":
            return self._clocked(request, int(asked["inputs"]) or CLOCKED_INPUTS, given)
        seconds = self.seconds(request) if given is None else given
        said: dict[str, object] = {"number": 1, "run_s": seconds, "setup_s": 0.0, "own": {}}
        call_s = seconds - self.puts_off_s - self.prepares_s
        said["samples"] = [seconds + self.tells_s - self.prepares_s]
        values = [["input 1", ["float", repr(self.computes())]], self._set_up("input 1 ")]
        values += [["alike 0", ["none"]]] if self.later and asked["later"] else []
        told: dict[str, object] = {"values": values, "calls": [call_s]}
        told["setups"] = [self.sets_up_s + self.prepares_s]
        told["again"] = [self.tells_s + (self.puts_off_s if self.does_it_again else 0.0)]
        if asked["kind"] == "short":
            said["samples"], told = [seconds + self.cold_s], {"values": [], "calls": [self.seconds(request)]}
            told |= {"setups": [self.sets_up_s], "again": [1e-9]}
        text = "\n".join(map(json.dumps, (said, told)))
        return ExecResult(0, text.encode(), b"", 0.15 + seconds, 0.14, timed_out=False)

    def _set_up(self, label: str = "") -> list[object]:
        """What set-up made, as a launch tells it."""
        return [f"{SET_UP}{label}self.data", ["float", repr(self.made())]]

    def _clocked(self, request: Request, inputs: int, given: float | None) -> ExecResult:
        """Two marks come first, and between them passes what calls take and what is `hidden_s` of each."""
        claimed_s = self.sets_up_s + (self.seconds(request) if given is None else given) + self.unstopped_s
        said = {"samples": [claimed_s] * inputs, "number": 1, "run_s": claimed_s, "setup_s": 0.0, "own": {}}
        values = [["call 1", ["float", repr(self.clocked())]], self._set_up("call 1 ")]
        told = {"values": values, "teardowns": [self.tears_down_s] * inputs}
        lines = [*[MARK.decode()] * self.marks, *map(json.dumps, (said, told))]
        passed_s = inputs * (claimed_s + self.hidden_s + self.tears_down_s) + BETWEEN_S
        arrivals = ((0, 0.1), (1, 0.1 + passed_s))[: self.marks]
        took_s = 0.15 + passed_s
        return ExecResult(0, "\n".join(lines).encode(), b"", took_s, took_s, timed_out=False, arrivals=arrivals)

    def read_file(self, path: str, *, max_bytes: int = 1) -> bytes:
        """Nothing is there."""
        raise FileNotFoundError(path)

    def write_file(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Nothing is kept."""

    def freeze(self) -> "SimulatedContainer":
        """It is frozen."""
        return self

    def stop(self) -> None:
        """Nothing runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
