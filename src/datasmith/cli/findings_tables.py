"""Tables of fc-eval findings and compare on the terminal."""

from rich.console import Console
from rich.text import Text

from datasmith.cli.sheet import Column, Sheet, output
from datasmith.evaluation.published import Published, name_of


def print_published(found: Published, console: Console | None = None) -> None:
    """Each figure beside the published one, and the ranks that are not held against each other."""
    out = output(console)
    numbers = [Column(name, right=True) for name in ("ours", "published", "difference")]
    sheet = Sheet("published figures (speedups: failed tasks at 1.0)", (Column("figure"), *numbers, Column("note")))
    for figure in found.figures:
        difference = "" if figure.difference is None else f"{figure.difference:.1e}"
        note = figure.note if figure.agrees else f"DIFFERS {figure.note}"
        sheet.add(figure.name, _shown(figure.ours), _shown(figure.published), difference, note)
    sheet.show(out)
    ranks = Sheet(
        "Ranked Pairs over these rows (not compared)",
        (Column("configuration"), Column("ours", right=True), Column("published", right=True)),
    )
    for code, (ours, published) in sorted(found.ranks.items(), key=lambda item: item[1]):
        ranks.add(f"{code} {name_of(code)}", str(ours), str(published))
    ranks.show(out)
    agree = len(found.figures) - len(found.wrong)
    out.print(Text(f"{agree} of {len(found.figures)} figures agree to 1e-12"))


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"
