"""What a dry run says of a stage beside its number of items: states, repositories, and what it would work with."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from datasmith.runners.agenda import is_of, is_work, repository_of
from datasmith.runners.request import Request
from datasmith.settings import Settings
from datasmith.storage.base import StageItem

SHOWN = 3
"""So many repositories are named."""


def details(
    stage: int, rows: Iterable[StageItem], names: Collection[str] | None, settings: Settings, request: Request
) -> tuple[str, ...]:
    """Facts that the ledger's rows and the settings hold already; nothing is asked and nothing is opened.

    `names` ("owner/repo") are the repositories of the run, None for any.
    """
    ours = [row for row in rows if is_work(stage, row) and is_of(row.item, names)]
    states = Counter(row.state for row in ours)
    known = [f"now {', '.join(f'{count} {state}' for state, count in sorted(states.items()))}"] if ours else []
    held = [f"of {_named(sorted({repository_of(row.item) for row in ours}))}"] if ours else []
    return (*known, *held, *_tools(stage, settings, request))


def _tools(stage: int, settings: Settings, request: Request) -> Sequence[str]:
    model = f"model {settings.dspy_model}" if settings.dspy_model else "no model"
    engine = f"engine {settings.engine}"
    agent = f"agent {request.agent or settings.agent}"
    return {3: (f"rules and {model}",), 4: (engine,), 5: (engine, agent, model)}.get(stage, ())


def _named(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
