"""The table of attacks as JSON values and as lines of a page."""

from collections.abc import Iterable, Mapping

from datasmith.evaluation.redteam.session import Ended, Siege

ALARM = "ALARM"
CONTAINED = "contained"
MEASURED = "measured, as it has to be"
GOT_THROUGH = "GOT THROUGH"
UNDECIDED = "undecided"
NO_CONTROL = "no control: nobody else could hand in the expert's patch in a text that is not trusted unseen"
"""Of a siege that says nothing of how honest work is graded."""


def verdict(ended: Ended) -> str:
    """A few words."""
    if ended.attack.is_control and not ended.undecided:
        return ALARM if ended.is_alarm else MEASURED
    return GOT_THROUGH if ended.got_through else UNDECIDED if ended.undecided else CONTAINED


def as_json(siege: Siege) -> dict[str, object]:
    """Everything that is known of a siege; what was not measured is null.

    `nop` of the siege is that of its first session, of an attack that of the session which its figures are from.
    """
    return {
        "task": siege.task_id,
        "nop": list(siege.nop) if siege.nop else None,
        "wall_s": siege.wall_s,
        "got_through": len(siege.got_through),
        "undecided": len(siege.undecided),
        "alarms": len(siege.alarms),
        "controls": len(siege.controls),
        "attacks": [_row(ended) for ended in siege.ended],
    }


def _row(ended: Ended) -> dict[str, object]:
    return {
        "attack": ended.attack.name,
        "class": ended.attack.kind,
        "does": ended.attack.does,
        "outcome": ended.outcome,
        "reason": ended.reason,
        "speedup": ended.speedup,
        "low": ended.low,
        "high": ended.high,
        "nop": list(ended.nop) if ended.nop else None,
        "advantage": ended.advantage,
        "verdict": verdict(ended),
    }


def markdown(rows: Iterable[Mapping[str, object]]) -> str:
    """The rows of `as_json` as a table of a page, with the intervals of both."""
    lines = [
        "| attack | class | what it does | outcome | speed-up | doing nothing | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        shown, nothing = _interval(row["speedup"], (row["low"], row["high"])), _interval(None, row["nop"])
        cells = (row["attack"], row["class"], row["does"], row["outcome"], shown, nothing, row["verdict"])
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _interval(value: object, ends: object) -> str:
    """A figure and its interval, of which either may be missing; a dot where both are."""
    shown = [f"{value:.3f}"] if isinstance(value, float) else []
    match ends:
        case [float() as low, float() as high]:
            shown.append(f"[{low:.2f}, {high:.2f}]")
    return " ".join(shown) or "·"
