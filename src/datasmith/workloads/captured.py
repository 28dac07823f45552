"""What one launch said of its outputs, and of what stands beside them; and whether base's said the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from datasmith.workloads.inside.labels import FURTHER, SET_UP
from datasmith.workloads.outputs import Difference, difference
from datasmith.workloads.set_up import part_unlike


@dataclass(frozen=True, slots=True)
class Capture:
    """What one launch said of its outputs: values, or a reason why there are none; seconds it took to say that.

    `parts`: by name, what was there before the calls, and what takes long to see. On fresh inputs, seconds of each call
    alone (`calls`), of setting it up (`setups`) and of looking at what it computed a second time (`again`); the
    launch's samples are with the first looks. Between marks, seconds of tearing each down (`teardowns`).
    """

    values: JsonValue = None
    reason: str = ""
    seconds: float = 0.0
    parts: Mapping[str, JsonValue] = field(default_factory=dict)
    calls: tuple[float, ...] = ()
    setups: tuple[float, ...] = ()
    again: tuple[float, ...] = ()
    teardowns: tuple[float, ...] = ()


NOT_LAUNCHED = Capture(reason="it was not launched")


def apart(said: JsonValue) -> tuple[JsonValue, dict[str, JsonValue]]:
    """Records that a launch told, which nobody has looked at: its outputs, and by name what is compared by itself.

    That is what set-up made, and what was seen further in.
    """
    if not isinstance(said, list):
        return said, {}
    values: list[JsonValue] = []
    parts: dict[str, JsonValue] = {}
    for record in said:
        match record:
            case [str(label), node] if label.startswith((SET_UP, FURTHER)):
                parts[label] = node
            case _:
                values.append(record)
    return values, parts


@dataclass(frozen=True, slots=True)
class Merged:
    """What merged code said beside base: base itself once more, each time, and the expert's patch, if it was asked."""

    again: tuple[Capture, ...] = ()
    expert: Capture | None = None

    def repeats(self, base: Capture) -> bool:
        """True where all of them computed what base did."""
        others = self.again if self.expert is None else (*self.again, self.expert)
        return all(outputs_unlike(base, other) is None for other in others)

    def allows(self, base: Capture, found: Capture, name: str) -> bool:
        """True where a part is nothing to hold against anybody, though it is not base's.

        That is so where base itself made another one, and where the expert's is another one, too, and this is like it.
        Where the expert told nothing, nothing is known.
        """
        ours, theirs = base.parts[name], found.parts.get(name)
        if any(name not in one.parts or part_unlike(name, ours, one.parts[name]) for one in self.again):
            return True
        if self.expert is None:
            return False
        merged = self.expert.parts.get(name)
        return self.expert.reason != "" or (
            part_unlike(name, ours, merged) is not None and part_unlike(name, merged, theirs) is None
        )


def unlike(base: Capture, found: Capture, merged: Merged) -> Difference | None:
    """Where a capture is not as base's; what merged code does not repeat is held against nobody.

    Outputs are one whole, and to have told none is another one; each part stands by itself.
    """
    if merged.repeats(base):
        differs = outputs_unlike(base, found)
        if differs:
            return differs
    return parts_unlike(base, found, merged)


def outputs_unlike(expected: Capture, found: Capture) -> Difference | None:
    """The first difference between outputs; to have told none is one."""
    if found.reason:
        return Difference("", "values", found.reason)
    return difference(expected.values, found.values)


def parts_unlike(base: Capture, found: Capture, merged: Merged) -> Difference | None:
    """The first part that is not as base's, see `part_unlike`; of who told nothing, none."""
    if found.reason:
        return None
    for name, node in base.parts.items():
        differs = part_unlike(name, node, found.parts.get(name))
        if differs and not merged.allows(base, found, name):
            return differs
    return None
