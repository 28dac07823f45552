"""The table of attacks as JSON values and as lines of a page."""

from collections.abc import Iterable, Mapping

from datasmith.evaluation.redteam.session import Ended, Siege

CONTAINED = "contained"
GOT_THROUGH = "GOT THROUGH"
UNDECIDED = "undecided"
_LONGEST = 120


def verdict(ended: Ended) -> str:
    """One or two words."""
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
    """The rows of `as_json` as a table of a page."""
    lines = [
        "| attack | class | what it does | outcome | speed-up | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        speedup = row["speedup"]
        shown = f"{speedup:.3f}" if isinstance(speedup, float) else "·"
        cells = (row["attack"], row["class"], row["does"], row["outcome"], shown, row["verdict"])
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
