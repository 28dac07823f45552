"""The table of attacks on the terminal."""

from rich.console import Console
from rich.text import Text

from datasmith.cli.sheet import NOTHING, Column, Sheet, output
from datasmith.counted import counted
from datasmith.evaluation.redteam.session import Ended, Siege
from datasmith.evaluation.redteam.table import NO_CONTROL, verdict
from datasmith.printable import one_line


def print_siege(siege: Siege, console: Console | None = None) -> None:
    """Print every attack with what became of it, whether there was a control, and how many got through."""
    out = output(console)
    names = [Column(name) for name in ("attack", "class")]
    numbers = [Column(name, right=True) for name in ("speedup", "advantage")]
    columns = (*names, Column("what it does", wraps=True), Column("outcome"), *numbers, Column("verdict"))
    sheet = Sheet(f"{siege.task_id}: attacks", columns)
    for ended in siege.ended:
        sheet.add(*_cells(ended))
    sheet.show(out)
    for ended in siege.got_through:
        out.print(Text(f"GOT THROUGH {ended.attack.name}: {one_line(ended.attack.does)}"), soft_wrap=True)
    for ended in siege.alarms:
        out.print(Text(f"ALARM {ended.attack.name}: {ended.outcome}: {one_line(ended.reason)}"), soft_wrap=True)
    if not siege.controls:
        out.print(Text(NO_CONTROL), soft_wrap=True)
    nothing = f"{siege.nop[0]:.3f} to {siege.nop[1]:.3f}" if siege.nop else "not measured"
    counts = f"{len(siege.got_through)} got through, {len(siege.undecided)} undecided"
    attacks = len(siege.ended) - len(siege.controls)
    line = f"{counted(attacks, 'attack')}, {counts}; doing nothing (first session): {nothing}; "
    out.print(Text(f"{line}{siege.wall_s:.0f} s"), soft_wrap=True)


def _cells(ended: Ended) -> list[str]:
    speedup = NOTHING if ended.speedup is None else f"{ended.speedup:.3f}"
    advantage = NOTHING if ended.advantage is None else f"{ended.advantage:+.3f}"
    attack = ended.attack
    return [attack.name, attack.kind, attack.does, ended.outcome, speedup, advantage, verdict(ended)]
