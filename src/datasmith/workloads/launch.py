"""One launch from the host's side: ask, run, read the reply as untrusted data, and check it against our clock."""

import json
import math
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import takewhile
from typing import Literal

from pydantic import JsonValue

from datasmith.docker.engine import CACHE_DIR, WORKDIR, Container, ExecResult
from datasmith.printable import printable
from datasmith.tasks.quantities import LONGEST_S, SHORTEST_CALL_S
from datasmith.workloads.base import SCORED_KINDS, Measurement, Workload
from datasmith.workloads.calibrate import LaunchSize, Pace
from datasmith.workloads.captured import Capture, apart
from datasmith.workloads.channel import MARK, new_key, own_lines, when
from datasmith.workloads.guard import disturbance, read_core
from datasmith.workloads.mounts import COMPILED_ENV, COMPILED_HOME, script

START_ALLOWANCE_S = 10.0
"""Added to a benchmark's own time limit: starting the sandbox and the interpreter is not the benchmark's fault."""
CLOCK_TOLERANCE_S = 0.005
"""A launch may claim this much more timed seconds than passed outside: the clocks are read at different moments."""
MOST_OF_A_CORE = 1.05
CORE_TOLERANCE_S = 0.1
"""A launch on one core cannot use more processor time than this share of the wall time, and these seconds."""
MOST_SAMPLES = 5000
MOST_SAID = 32_000_000
"""Bytes of a reply: what ten calls computed is described, in up to 20,000 descriptions each."""
CAPTURE_FACTOR = 2.0
"""A launch that says what a call computes makes that call once more, and looks at what came of it."""
TAMPERED = "tampered_or_unreliable"
"""Every reason that says that inside and outside disagree begins with this."""


Moved = Literal["letters", "texts", "everything", "numbers", "seeds"]
Kind = Literal["looked", "short", "clocked"]


@dataclass(frozen=True, slots=True)
class Fresh:
    """Other inputs than the suite's, drawn by `twist`: see `inside/moves.py` for what is moved.

    inputs: so many of them; 0: as many as a short time allows, which is what base is asked for. kind: "looked": one
    call on each, and what comes of it; "short": the first call on each of them beside a later one, and no look at
    either; "clocked": one on each of many, between two marks. later: whether what is looked at is also called
    afterwards, which base does only where it takes less than a second. late: what the inputs between marks follow from,
    which is told when the first mark has come: before, nobody can know them.
    """

    twist: int
    what: Moved = "texts"
    inputs: int = 0
    kind: Kind = "looked"
    later: bool = True
    late: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """Where and how a launch is made: the suite's directory in the tree, the arm's name, the round, the core.

    call: False leaves the timed calls out. capture: a seed, where the launch is also to say what a call computes.
    fresh: inputs that are timed instead of the suite's own; the launch then always says what it computes of them.
    """

    benchmark_dir: str
    arm: str
    round: int
    cpu: int | None
    call: bool = True
    capture: int | None = None
    fresh: Fresh | None = None

    @property
    def tells(self) -> bool:
        """True where outputs are told after the times."""
        return self.capture is not None or self.fresh is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a launch said. run_s, setup_s: seconds in asv_runner's loop and in one setup; own_*: attributes after it."""

    samples: tuple[float, ...]
    number: int
    run_s: float
    setup_s: float
    own_number: int
    own_repeat: int
    own_warmup_s: float


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch and, where it succeeded, its reply; and what it said of its outputs, where it was asked.

    `marks`: the seconds, by our clock, after which its marks came.
    """

    measurement: Measurement
    reply: Reply | None
    capture: Capture | None = None
    marks: tuple[float, ...] = ()

    @property
    def told(self) -> Capture | None:
        """What it computed, where it said so."""
        return self.capture if self.capture and not self.capture.reason else None

    def pace(self, workload: Workload) -> Pace | None:
        """The speed seen in a successful launch, by its fastest sample (the others were cold); None for any other."""
        if self.reply is None:
            return None
        reply = self.reply
        call_s = min(reply.samples)
        setup_s = reply.setup_s if workload.kind == "time" else reply.run_s / len(reply.samples)
        spent_s = reply.run_s + (self.capture.seconds if self.capture else 0.0)
        overhead_s = max(0.0, self.measurement.wall_s - spent_s)
        return Pace(call_s, setup_s, overhead_s, reply.own_number, reply.own_repeat, reply.own_warmup_s)


def suite_path(benchmark_dir: str) -> str:
    """The suite's directory inside a sandbox."""
    return f"{WORKDIR}/{benchmark_dir}".rstrip("/")


def cache_path(setup_cache_key: str) -> str:
    """Where an arm keeps what the setup_cache with this key left."""
    return f"{CACHE_DIR}/{sha256(setup_cache_key.encode()).hexdigest()[:16]}"


def launch(container: Container, workload: Workload, size: LaunchSize, order: Order) -> Launched:
    """Run one workload once in a fresh process of a prepared arm, timed and watched from outside.

    Raises:
        EngineUnavailable: the engine is gone; says nothing about the workload.
    """
    before = read_core(order.cpu)
    limit_s = (workload.timeout_s + START_ALLOWANCE_S) * (CAPTURE_FACTOR if order.tells else 1.0)
    key = new_key()
    result = container.exec(
        script("launch"),
        stdin=request(workload, size, order, key).encode() + b"\n",
        answer=b"%d\n" % order.fresh.late if order.fresh and order.fresh.kind == "clocked" else b"",
        timeout=limit_s,
        env=COMPILED_ENV,
        cwd=COMPILED_HOME,
        cpus=() if order.cpu is None else (order.cpu,),
        kept_bytes=MOST_SAID,
    )
    disturbed = disturbance(before, read_core(order.cpu), result.wall_s, result.cpu_s)
    marked = _marked(result.stdout) if order.fresh else 0
    reply, capture = _outcome(result, workload, order, limit_s, key, marked)
    if isinstance(reply, Reply) and size.number and (reply.number, len(reply.samples)) != (size.number, size.repeat):
        told = f"{len(reply.samples)} samples of {reply.number} calls"
        reply = f"{TAMPERED}: {size.repeat} samples of {size.number} calls were asked for, {told} are reported"
    measurement = Measurement(
        workload=workload.id,
        arm=order.arm,
        round=order.round,
        samples=reply.samples if isinstance(reply, Reply) else (),
        number=reply.number if isinstance(reply, Reply) else 0,
        wall_s=result.wall_s,
        cpu_s=result.cpu_s,
        cpu_id=order.cpu,
        noisy=disturbed is not None,
        reason=reply if isinstance(reply, str) else None,
    )
    marks = tuple(when(result.stdout, result.arrivals)[:marked]) if marked else ()
    return Launched(measurement, reply if isinstance(reply, Reply) else None, capture, marks)


def request(workload: Workload, size: LaunchSize, order: Order, key: str) -> str:
    """What the script in the sandbox is asked, as a line of JSON; `key` signs its reply."""
    fresh = {name: value for name, value in asdict(order.fresh).items() if name != "late"} if order.fresh else None
    cache = workload.setup_cache_key
    return json.dumps(
        {
            "key": key,
            "suite": suite_path(order.benchmark_dir),
            "name": workload.benchmark,
            "index": workload.index,
            "cache": None if cache is None else cache_path(cache),
            "number": size.number,
            "repeat": size.repeat,
            "warmup": size.warmup_s,
            "call": order.call,
            "capture": order.capture,
            "fresh": fresh,
        }
    )


def _outcome(
    result: ExecResult, workload: Workload, order: Order, limit_s: float, key: str, marked: int
) -> tuple[Reply | str, Capture | None]:
    """The reply, or why there is none; and the outputs, which are told after it: they may fail by themselves.

    `marked`: so many marks come before it.
    """
    ended = _ended(result, limit_s)
    said = own_lines(result.stdout, key, cut_off=bool(ended))
    if said is None:
        return f"{TAMPERED}: what was replied is not the launch's own", None
    said = said[marked * len(MARK + b"\n") :]
    times, told, outputs = said, b"", None
    if order.tells:
        times, told, outputs = said.partition(b"\n")
    if ended and not told:
        return ended, None
    reply = parse_reply(times)
    if isinstance(reply, Reply) and workload.kind in SCORED_KINDS:
        claimed = math.fsum(reply.samples) * reply.number
        if claimed > result.wall_s + CLOCK_TOLERANCE_S:
            reply = f"{TAMPERED}: {claimed:.3f} s are claimed of {result.wall_s:.3f} s that passed outside"
        elif order.cpu is not None and (result.cpu_s or 0.0) > MOST_OF_A_CORE * result.wall_s + CORE_TOLERANCE_S:
            reply = f"{TAMPERED}: it used {result.cpu_s:.3f} s of processor time in {result.wall_s:.3f} s on one core"
    if outputs is None or not isinstance(reply, Reply):
        return reply, None
    return reply, Capture(reason=ended) if ended else parse_capture(outputs)


def _marked(output: bytes) -> int:
    """How many marks an output begins with, which is signed."""
    lines = (line.partition(b" ")[2] for line in output.splitlines())
    return sum(1 for _ in takewhile(MARK.__eq__, lines))


def _ended(result: ExecResult, limit_s: float) -> str:
    """Why a launch ended badly; empty where it did not."""
    if result.timed_out:
        return f"timed out after {limit_s:g} s"
    return "" if result.ok else f"the process ended with exit code {result.rc}: {_last_line(result.error_text)}"


def parse_capture(line: bytes) -> Capture:
    """Read the line in which a launch says what a call computed."""
    said = _object(line)
    if said is None:
        return Capture(reason="the outputs are no line of JSON")
    seconds = _number(said.get("capture_s")) or 0.0
    for kind in ("failed", "skipped"):
        if kind in said:
            return Capture(reason=f"{kind}: {_line(said[kind])}", seconds=seconds)
    times = (_samples(said.get(name)) or () for name in ("calls", "setups", "again", "teardowns"))
    values, parts = apart(said.get("values"))
    return Capture(values, "", seconds, parts, *times)


def _object(text: bytes) -> dict[str, JsonValue] | None:
    try:
        said: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def parse_reply(stdout: bytes) -> Reply | str:
    """Read the one line a launch may say; a string is the reason why there are no samples."""
    said = _object(stdout)
    if said is None:
        return f"{TAMPERED}: the launch did not reply with one line of JSON"
    for kind in ("failed", "skipped"):
        if kind in said:
            return f"{kind}: {_line(said[kind])}"
    samples = _samples(said.get("samples"))
    number, run_s, own = said.get("number"), _number(said.get("run_s")), said.get("own")
    if samples is None or not isinstance(number, int) or number < 1 or run_s is None or not isinstance(own, dict):
        return f"{TAMPERED}: the reply has no usable samples"
    return Reply(
        samples=samples,
        number=number,
        run_s=run_s,
        setup_s=_number(said.get("setup_s")) or 0.0,
        own_number=_count(own.get("number")),
        own_repeat=min(_count(own.get("repeat")), MOST_SAMPLES),
        own_warmup_s=min(_number(own.get("warmup_time")) or 0.0, 60.0),
    )


def _samples(value: object) -> tuple[float, ...] | None:
    """The samples where all are times that a call can take, and neither none nor too many."""
    if not isinstance(value, list) or not 0 < len(value) <= MOST_SAMPLES:
        return None
    numbers = [_number(sample) for sample in value]
    times = tuple(number for number in numbers if number is not None and number >= SHORTEST_CALL_S)
    return times if len(times) == len(numbers) else None


def _number(value: object) -> float | None:
    """A finite number of at least zero as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_S:
        return None
    return float(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10**9 else 0


def _line(value: object) -> str:
    """Text from a sandbox, made one printable line of at most 300 characters."""
    return printable(str(value))[:300].strip()


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _line(lines[-1]) if lines else "(it said nothing)"
