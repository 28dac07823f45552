"""What tables and JSON say beside each mean: its tasks, its interval, the policy and the order."""

import io
import json
import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from pydantic import JsonValue
from rich.console import Console

from datasmith.cli.findings_tables import print_comparison, print_findings
from datasmith.cli.sheet import Column, Sheet
from datasmith.cli.tables import print_reference, print_report
from datasmith.evaluation.compare import compare_sides
from datasmith.evaluation.findings import Findings, analyse
from datasmith.evaluation.findings_json import comparison_as_json, findings_as_json
from datasmith.evaluation.gather import gather
from datasmith.evaluation.html import interval, ratio
from datasmith.evaluation.outside import Cutoffs
from datasmith.evaluation.report import Report, build_report
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.summary import as_json
from tests.unit.evaluation.sample_run import sample_run
from tests.unit.evaluation.test_findings import run_of

ORDERS = ("agents by Ranked Pairs", "by task, agent and attempt", "ties last, then by the difference", "as configured")
MEANS = {
    "speedup": "speedup_interval",
    "expert_speedup": "expert_speedup_interval",
    "advantage": "advantage_interval",
    "log_advantage": "log_advantage_interval",
    "mean_cost_usd": "mean_cost_usd_interval",
    "mean_usd": "mean_usd_interval",
    "cost_weighted": "cost_weighted_interval",
    "expert_worst": "expert_worst_interval",
    "value": "interval",
}
"""What is a mean in JSON, and the key of its interval."""
COUNTS = {"n", "n_scored", "n_shared"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    """Two runs of two agents on six tasks: two attempts each, all paid for."""
    place = tmp_path_factory.mktemp("runs")
    agents = {"gpt-5": 1.2, "claude-sonnet-4": 1.6}
    return [run_of(place / name, agents, list(range(6))) for name in ("one", "two")]


@pytest.fixture(scope="module")
def found(folders: list[RunFolder]) -> Findings:
    """The analyses of both, with stars of all repositories."""
    stars = {f"acme/repo-{number}": number for number in range(6)}
    return analyse(gather(folders, "baseline"), stars=stars, cutoffs=Cutoffs())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A run in which a trial failed."""
    folder = sample_run(tmp_path_factory.mktemp("report") / "r").folder
    run = folder.read_run()
    assert run is not None
    return build_report(folder, run, "baseline")


def shown(show: Callable[[Console], None], width: int = 400) -> str:
    """What is printed on a terminal so wide."""
    target = io.StringIO()
    show(Console(file=target, width=width, force_terminal=True, color_system=None, highlight=False))
    return target.getvalue()


def titles(text: str) -> list[str]:
    """What stands above each table, in one line each."""
    return [" ".join(title.split()) for title in re.findall(r"(?:\A|└.*\n)([^└┏│]+)┏", text)]


def test_every_table_names_its_policy_and_its_order(found: Findings, folders: list[RunFolder], report: Report) -> None:
    """Findings, a comparison and a report; the table of one row alone has no order."""
    (comparison,) = compare_sides((folders[0], "command-gpt-5"), (folders[0], "command-claude-sonnet-4"), "baseline")
    shows = (partial(print_findings, found), partial(print_report, report, None), partial(print_comparison, comparison))
    above = [title for show in shows for title in titles(shown(show))]
    assert len(above) == 9 + 4 + 2
    assert [title for title in above if "failed trials: baseline" not in title] == []
    unordered = [title for title in above if not any(order in title for order in ORDERS)]
    assert unordered == ["command-gpt-5 less command-claude-sonnet-4 (failed trials: baseline)"]
    assert "(failed trials: at 1.0; agents as configured): none" in shown(partial(print_reference, ()))


def dictionaries(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """All of a document."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dictionaries(each)


def means(document: JsonValue) -> Iterator[tuple[str, float, float, float, set[str]]]:
    """The name of each mean, its value, the ends of its interval, and the counts beside it."""
    for each in dictionaries(document):
        for name in MEANS.keys() & each.keys():
            value, ends = each[name], each.get("interval", each.get(MEANS[name]))
            if isinstance(value, float):  # else the ranks by the rule of this name
                assert isinstance(ends, list), name
                low, high = (end for end in ends if isinstance(end, float))
                yield name, value, low, high, COUNTS & each.keys()


def test_every_mean_in_json_has_n_and_an_interval_that_holds_it(found: Findings, folders: list[RunFolder]) -> None:
    """Wherever in the documents of findings and of a comparison; both name the policy."""
    (comparison,) = compare_sides((folders[0], "command-gpt-5"), (folders[0], "command-claude-sonnet-4"), "baseline")
    documents = findings_as_json(found), comparison_as_json(comparison)
    assert [document["policy"] for document in documents] == ["baseline"] * 2
    told = [each for document in documents for each in means(document)]
    assert {name for name, *_ in told} == MEANS.keys()
    assert [name for name, value, low, high, _ in told if not low <= value <= high] == []
    assert [name for name, *_, counts in told if not counts] == []
    (best, _) = json.loads(json.dumps(findings_as_json(found)))["global"]
    assert (best["mean_cost_usd_n"], best["pass_at"]["2"]["n"]) == (6, 6)
    assert {level["n"] for level in best["by_level"].values()} == {6}


def test_every_mean_in_a_table_has_n_and_an_interval(found: Findings) -> None:
    """The expert's, levels' and pass@k's too."""
    text = shown(partial(print_findings, found))
    for agent in found.board.agents:
        expert = f"{ratio(agent.means.expert_speedup.value)} {interval(agent.intervals.expert_speedup)}"
        assert text.count(expert) >= 2 * len(found.board.agents)
    assert re.search(r"┃ agent +┃ +module ┃ +class ┃ +function ┃ n ┃", text)
    assert re.search(r"│ command-gpt-5 +│ 100\.0 % \[100\.0 %, 100\.0 %\] │ 6 │", text)


def test_a_trial_has_the_interval_of_its_speedup(report: Report) -> None:
    """In the table what JSON has; a trial that stands at what the policy says has none."""
    text = shown(partial(print_report, report, None))
    trials = as_json(report, None)["trials"]
    assert isinstance(trials, list)
    for row, told in zip(report.trials, trials, strict=True):
        assert isinstance(told, dict)
        ends = row.speedup_interval
        assert told["speedup_interval"] == ([ends.low, ends.high] if ends else None)
        assert (ends is None) == (row.record.outcome == "failed_tests")
        assert row.score is not None
        assert f" {ratio(row.score.speedup)} {interval(ends)}".rstrip() + " │" in text


@pytest.mark.parametrize(("width", "lines"), [(60, 1), (36, 2), (20, 0)])
def test_intervals_stand_below_where_a_table_is_too_wide(width: int, lines: int) -> None:
    """A table of 41 columns: as it is, with two lines a row, and as an entry."""
    sheet = Sheet("a title", (Column("agent"), Column("speedup", right=True), Column("n", right=True)))
    sheet.add("one [not]", "1.500× [1.400, 1.600]", "4")
    text = shown(sheet.show, width)
    rows = [line for line in text.splitlines() if line.startswith("│")]
    assert len(rows) == lines
    assert not rows or "one [not]" in rows[0]
    assert " ".join(text.replace("│", " ").split()).count("[1.400, 1.600]") == 1
