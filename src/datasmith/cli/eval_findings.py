"""fc-eval findings: the analyses of a board from run folders, or the published figures computed again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasmith.cli.eval_options import RUNS, JsonOption, PolicyOption, RunsOption, policy_of
from datasmith.errors import ConfigError, TrialError

if TYPE_CHECKING:
    from datasmith.evaluation.published import Published


def findings(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Run folders, or ids of runs.")] = None,
    *,
    policy: PolicyOption = "floor",
    runs_dir: RunsOption = RUNS,
    published: Annotated[
        Path | None, typer.Option(help="Directory of the published files: compute their figures again.")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Print the seven analyses of one or more runs; with --published, the published figures beside ours."""
    chosen = policy_of(policy)
    if (published is None) == (not runs):
        raise ConfigError("findings: give run folders or --published DIR (example: fc-eval findings runs/my-run)")
    if published is not None:
        _show_published(published, json_output)
        return
    print(chosen, runs_dir)


def _show_published(directory: Path, json_output: bool) -> None:
    import json

    from datasmith.cli.findings_tables import print_published
    from datasmith.evaluation.published import read_published

    found = read_published(directory)
    if json_output:
        print(json.dumps(_published_json(found), indent=1))
    else:
        print_published(found)
    if found.wrong:
        names = ", ".join(figure.name for figure in found.wrong)
        raise TrialError(f"{len(found.wrong)} of {len(found.figures)} published figures do not agree: {names}")


def _published_json(found: "Published") -> dict[str, object]:
    figures = [
        {
            "name": figure.name,
            "ours": figure.ours,
            "published": figure.published,
            "difference": figure.difference,
            "agrees": figure.agrees,
            "note": figure.note,
        }
        for figure in found.figures
    ]
    ranks = {code: {"ours": ours, "published": published} for code, (ours, published) in found.ranks.items()}
    return {"figures": figures, "ranks_not_compared": ranks}
