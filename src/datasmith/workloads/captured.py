"""What one launch said of its outputs, and of what set-up made; and whether that is what base's said."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from datasmith.workloads.inside.capture import SET_UP
from datasmith.workloads.outputs import Difference, difference


@dataclass(frozen=True, slots=True)
class Capture:
    """What one launch said of its outputs: values, or a reason why there are none; seconds it took to say that.

    `set_up`: by name, what was there before the calls. On fresh inputs, seconds of each call alone (`calls`), of
    setting it up (`setups`) and of looking at what it computed a second time (`again`); the launch's samples are with
    the first looks. Between marks, seconds of tearing each down (`teardowns`).
    """

    values: JsonValue = None
    reason: str = ""
    seconds: float = 0.0
    set_up: Mapping[str, JsonValue] = field(default_factory=dict)
    calls: tuple[float, ...] = ()
    setups: tuple[float, ...] = ()
    again: tuple[float, ...] = ()
    teardowns: tuple[float, ...] = ()


NOT_LAUNCHED = Capture(reason="it was not launched")


def apart(said: JsonValue) -> tuple[JsonValue, dict[str, JsonValue]]:
    """Records that a launch told, which nobody has looked at: of its outputs, and by name of what set-up made."""
    if not isinstance(said, list):
        return said, {}
    values: list[JsonValue] = []
    set_up: dict[str, JsonValue] = {}
    for record in said:
        match record:
            case [str(label), node] if label.startswith(SET_UP):
                set_up[label] = node
            case _:
                values.append(record)
    return values, set_up


def unlike(expected: Capture, found: Capture, witnesses: Iterable[Capture] = ()) -> Difference | None:
    """Where a capture is not as expected; what not all witnesses say as well is held against nobody.

    Outputs come first; where there are other ones, or none, that is what a witness has to contradict as a whole. Of
    what set-up made each part is compared by itself: a directory may have another name each time.
    """
    others = list(witnesses)
    if all(_same_outputs(expected, other) for other in others):
        differs = outputs_unlike(expected, found)
        if differs or found.reason:
            return differs
    return None if found.reason else set_up_unlike(expected, found, others)


def outputs_unlike(expected: Capture, found: Capture) -> Difference | None:
    """The first difference between outputs; to have told none is one."""
    if found.reason:
        return Difference("", "values", found.reason)
    return difference(expected.values, found.values)


def _same_outputs(expected: Capture, other: Capture) -> bool:
    return outputs_unlike(expected, other) is None


def set_up_unlike(expected: Capture, found: Capture, witnesses: Iterable[Capture] = ()) -> Difference | None:
    """The first part of what set-up made that all witnesses have, and this capture has not: it may be a smaller one.

    Who told nothing contradicts nothing here.
    """
    others = [other.set_up for other in witnesses if not other.reason]
    for label in expected.set_up:
        is_steady = all(_part_unlike(label, expected.set_up, other) is None for other in others)
        differs = _part_unlike(label, expected.set_up, found.set_up)
        if is_steady and differs:
            return differs
    return None


def _part_unlike(label: str, ours: Mapping[str, JsonValue], theirs: Mapping[str, JsonValue]) -> Difference | None:
    return difference(_records(label, ours), _records(label, theirs))


def _records(label: str, told: Mapping[str, JsonValue]) -> JsonValue:
    return [[label, told[label]]] if label in told else []
