"""Names of benchmarks, and the named levels at which their workloads are put into groups."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Level = Literal["param", "function", "class", "module", "overall"]
LEVELS: tuple[Level, ...] = ("param", "function", "class", "module", "overall")
"""From the finest to the coarsest."""


@dataclass(frozen=True, slots=True)
class BenchmarkName:
    """The parts of a benchmark's name; None where the name has no such part."""

    module: str | None
    cls: str | None
    function: str | None


@lru_cache(maxsize=4096)
def split_name(workload: str) -> BenchmarkName:
    """Take a workload id apart: `a.b.C.time_f(1)` is module `a.b`, class `C`, function `time_f`.

    The penultimate part is a class where it is capitalised and a module stands before it: `Mod.time_f` is a module.
    """
    parts = workload.split("(", 1)[0].strip().split(".")
    *parents, function = parts
    if not function:
        return BenchmarkName(".".join(parents) or None, None, None)
    if len(parents) >= 2 and parents[-1][:1].isupper():
        return BenchmarkName(".".join(parents[:-1]), parents[-1], function)
    return BenchmarkName(".".join(parents) or None, None, function)


def group_keys(workload: str) -> dict[Level, tuple[str | None, ...]]:
    """At each level, what two workloads must share to be in one group."""
    name = split_name(workload)
    return {
        "param": (workload,),
        "function": (name.module, name.cls, name.function),
        "class": (name.module, name.cls),
        "module": (name.module,),
        "overall": (),
    }


def group_key(workload: str, level: Level) -> tuple[str | None, ...]:
    """What two workloads must share to be in one group at `level`."""
    return group_keys(workload)[level]
