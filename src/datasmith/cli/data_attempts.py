"""fc-data attempts: which recipe got how many environments built, what it cost, and what was never solved."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from datasmith.cli.document import document
from datasmith.cli.options import Json, ResultsDir, results_in

if TYPE_CHECKING:
    from rich.console import Console

    from datasmith.storage.base import Value


def attempts(data_dir: ResultsDir = None, as_json: Json = False) -> None:
    """Print how environments were built, from every attempt in the store; changes nothing."""
    from datasmith.storage import open_store

    with open_store(results_in(data_dir), create=False) as store:
        rows = store.select("build_attempts", order=("id",))
    if as_json:
        print(document(_found(rows)))
    else:
        print_attempts(rows)


def _found(rows: "Sequence[Mapping[str, Value]]") -> dict[str, object]:
    from datasmith.agents.attempts import by_tier, fixed_by_recipe, unsolved

    return {
        "attempts": len(rows),
        "tiers": [asdict(line) for line in by_tier(rows)],
        "recipes": [asdict(line) for line in fixed_by_recipe(rows)],
        "unsolved": dict(unsolved(rows)),
    }


def print_attempts(rows: "Sequence[Mapping[str, Value]]", console: "Console | None" = None) -> None:
    """The tables; whatever comes from the store is printed as text, never as markup."""
    from rich.text import Text

    from datasmith.agents.attempts import by_tier, fixed_by_recipe, unsolved
    from datasmith.cli.sheet import NOTHING, Column, Sheet, output

    out = output(console)
    if not rows:
        out.print(Text("nothing has been built yet (right --data-dir?)"))
        return
    numbers = [Column(name, right=True) for name in ("attempts", "worked", "minutes", "dollars")]
    tiers = Sheet("attempts by what proposed them", (Column("tier"), *numbers))
    for line in by_tier(rows):
        cost = NOTHING if line.cost_usd is None else f"{line.cost_usd:.2f}"
        tiers.add(line.tier, str(line.attempts), str(line.worked), f"{line.seconds / 60:.1f}", cost)
    tiers.show(out)
    counts = [Column(name, right=True) for name in ("commits", "built")]
    recipes = Sheet("recipes", (Column("recipe", wraps=True), *counts))
    for recipe in fixed_by_recipe(rows):
        recipes.add(recipe.recipe, str(recipe.tried), str(recipe.built))
    recipes.show(out)
    left = Sheet("never built, by the last sign", (Column("sign", wraps=True), Column("commits", right=True)))
    for sign, count in unsolved(rows):
        left.add(sign, str(count))
    left.show(out)
