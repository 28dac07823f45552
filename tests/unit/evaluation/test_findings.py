"""Several runs together: the analyses, comparisons, and what is missing from them."""

import io
import json
import math
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from datasmith.cli.findings_tables import print_findings
from datasmith.errors import ConfigError
from datasmith.evaluation.compare import compare_sides
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.findings import Findings, analyse
from datasmith.evaluation.findings_json import comparison_as_json, findings_as_json
from datasmith.evaluation.gather import gather
from datasmith.evaluation.intervals import RoundRatios
from datasmith.evaluation.outside import Cutoffs, read_stars
from datasmith.evaluation.records import RunLock, SelectionRecord, TaskFacts
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.task_difference import task_difference
from datasmith.evaluation.whole_files import write_record
from datasmith.tasks.certificate import Machine
from tests.unit.evaluation.sample_run import MACHINE, NOW, SampleRun

NAMES = ["m.A.time_a", "m.B.time_b", "n.time_c"]
TASKS = [f"acme_fast_{number}" for number in range(1, 7)]
CATEGORIES = ["cache_and_reuse", "cache_and_reuse", "use_better_algorithm", "use_better_algorithm", None, "own_words"]
MONTHS = [1, 3, 6, 8, 10, 12]


def facts_of(number: int) -> TaskFacts:
    return TaskFacts(
        task_id=TASKS[number], benchmark_dir="b", expert_patch_sha256="0", workloads=tuple(NAMES),
        repository=f"acme/repo-{number}", category=CATEGORIES[number], difficulty="easy",
        merged_at=datetime(2025, MONTHS[number], 1, tzinfo=UTC),
    )  # fmt: skip


def run_of(root: Path, agents: dict[str, float], numbers: list[int], cost: float | None = 0.5) -> RunFolder:
    """A run in which each agent (its model's name) is so much faster than base on the chosen tasks."""
    run = SampleRun(root, [TASKS[number] for number in numbers], list(agents))
    run.rng = random.Random(root.name)
    for number in numbers:
        session = run.session(TASKS[number], dict.fromkeys(NAMES, 1.4))
        write_record(run.folder.task_facts(TASKS[number]), facts_of(number))
        for place, (model, speed) in enumerate(agents.items()):
            record = run.trial(session, f"command-{model}", "measured", dict.fromkeys(NAMES, speed))
            paid = record.model_copy(update={"cost_usd": None if cost is None else cost * (1 + place)})
            write_record(run.folder.trial(TrialKey(TASKS[number], record.agent, 1)) / "trial.json", paid)
    return run.folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    """Two agents on four tasks, then the same agents on three, one of which both runs have."""
    place = tmp_path_factory.mktemp("runs")
    agents = {"gpt-5": 1.2, "house-model": 1.6}
    return [run_of(place / "first", agents, [0, 1, 2, 3]), run_of(place / "second", agents, [3, 4, 5])]


@pytest.fixture(scope="module")
def found(runs: list[RunFolder], tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The analyses of both, with stars of five repositories."""
    stars = {f"acme/repo-{number}": 100 * number for number in range(5)}
    path = tmp_path_factory.mktemp("facts") / "stars.json"
    path.write_text(json.dumps(stars))
    return analyse(gather(runs, "floor"), stars=read_stars(path), cutoffs=Cutoffs())


def test_stars_are_those_of_the_task_unless_given(tmp_path: Path) -> None:
    """A file goes before what the task says, by repository as by task."""
    folder = run_of(tmp_path / "r", {"m": 1.2}, [0, 1, 2])
    for number in (0, 1, 2):
        write_record(folder.task_facts(TASKS[number]), facts_of(number).model_copy(update={"stars": 10 + number}))
    gathered = gather([folder], "floor")
    found = [analyse(gathered, stars=stars, cutoffs=Cutoffs()) for stars in ({}, {"acme/repo-0": 7, TASKS[1]: 9})]
    assert [list(each.stars.values()) for each in found] == [[(10, 10), (11, 11), (12, 12)], [(7, 7), (9, 9), (12, 12)]]
    assert [each.missing.stars for each in found] == [0, 0]


def test_the_same_agent_of_two_runs_is_one(found: Findings) -> None:
    """Its tasks are those of both runs; a task that both have has two attempts, and weighs as any other."""
    board = found.board
    assert board.configurations == ("command-gpt-5", "command-house-model")
    assert board.tasks == tuple(TASKS)
    assert [agent.n_scored for agent in board.agents] == [6, 6]
    assert len(board.by_task["command-gpt-5"][TASKS[3]]) == 2
    assert [agent.agent for agent in board.ranked] == ["command-house-model", "command-gpt-5"]
    assert [agent.tie_group for agent in board.ranked] == ["a", "b"]


def test_every_class_has_n_and_an_interval_that_holds_its_mean(found: Findings) -> None:
    """Tags, quintiles and bins: what the records say and nothing else, unknown tags last."""
    assert [(each.name, each.means.advantage.n) for each in found.tags if each.agent == "command-gpt-5"] == [
        ("use_better_algorithm", 2),
        ("cache_and_reuse", 2),
        ("own_words", 1),
    ]
    assert [each.name for each in found.quintiles if each.agent == "command-gpt-5"] == ["Q1", "Q2", "Q3", "Q4", "Q5"]
    assert found.stars["Q1"] == (0, 0)
    assert {each.agent for each in found.bins} == {"command-gpt-5"}
    assert [(each.name, each.means.advantage.n) for each in found.bins] == [("3-6 after", 2), ("6+ after", 4)]
    for each in (*found.tags, *found.quintiles, *found.bins):
        ends, value = each.intervals.at("overall"), each.means.advantage.value
        assert ends is not None
        assert value is not None
        assert ends.holds(value)


def test_what_is_missing_is_told(found: Findings) -> None:
    """One task without a tag, one without stars, one model without a cutoff."""
    missing = found.missing
    assert (missing.category, missing.stars, missing.merged_at) == (1, 1, 0)
    assert missing.cutoffs == ("command-house-model",)


def test_cost_and_worst_workload(found: Findings) -> None:
    """Mean cost per task, attempts averaged; the cheaper and worse and the dearer and better are both on the front."""
    cheap, dear = found.board.agents
    assert [cheap.cost.mean_usd, dear.cost.mean_usd] == pytest.approx([0.5, 1.0])
    assert cheap.cost.n == dear.cost.n == len(found.board.tasks)
    ends = dear.cost.mean_interval
    assert ends is not None and ends.holds(1.0)
    assert (cheap.cost.pareto, dear.cost.pareto) == (True, True)
    assert dear.cost.weighted == pytest.approx(0.2, abs=0.03)
    assert dear.cost.weighted_interval is not None
    assert dear.cost.weighted_interval.holds(dear.cost.weighted or 0.0)
    worst = found.worst[0]
    assert worst.worst.value == pytest.approx(1.6, rel=0.02)
    assert worst.expert_worst.value == pytest.approx(1.4, rel=0.02)
    assert worst.worst_interval is not None
    assert worst.worst_interval.holds(worst.worst.value or 0.0)


def test_findings_are_json(found: Findings) -> None:
    """One document with the seven analyses, the same each time."""
    text = json.dumps(findings_as_json(found))
    parts = {"global", "levels", "strategies", "popularity", "cost", "worst_workload", "temporal"}
    assert parts <= json.loads(text).keys()
    assert json.loads(text)["temporal"]["cutoffs"] == {"command-gpt-5": "2024-09-01"}
    assert text == json.dumps(findings_as_json(found))


def test_old_run_folders_have_no_classes(tmp_path: Path) -> None:
    """A task.json without tag and date is read, and counted as missing."""
    folder = run_of(tmp_path / "old", {"gpt-5": 1.2}, [0], cost=None)
    old = {"task_id": TASKS[0], "benchmark_dir": "b", "expert_patch_sha256": "0", "workloads": NAMES}
    folder.task_facts(TASKS[0]).write_text(json.dumps(old))
    found = analyse(gather([folder], "floor"), stars={}, cutoffs=Cutoffs())
    assert (found.tags, found.quintiles, found.bins) == ((), (), ())
    assert (found.missing.category, found.missing.stars, found.missing.merged_at) == (1, 1, 1)
    assert found.board.agents[0].cost.mean_usd is None


@pytest.mark.parametrize("turn", [1, -1])
def test_what_runs_know_of_a_task_is_put_together(tmp_path: Path, turn: int) -> None:
    """One knows its strategy, another its date: both are known, whichever is named first; of two tags the first is."""
    whole = facts_of(0)
    parts = {"tag": {"merged_at": None}, "date": {"category": None}, "nothing": {"category": None, "merged_at": None}}
    folders = [run_of(tmp_path / name, {"gpt-5": 1.2}, [0]) for name in parts]
    for folder, unknown in zip(folders, parts.values(), strict=True):
        write_record(folder.task_facts(TASKS[0]), whole.model_copy(update=unknown))
    assert gather(folders[::turn], "floor").facts == {TASKS[0]: whole}
    later = run_of(tmp_path / "later", {"gpt-5": 1.2}, [0])
    other = whole.model_copy(update={"merged_at": NOW, "category": "own_words"})
    write_record(later.task_facts(TASKS[0]), other)
    found = gather([folders[0], later], "floor").facts[TASKS[0]]
    assert (found.category, found.merged_at) == (whole.category, NOW)


def test_two_agents_of_a_run_are_compared(runs: list[RunFolder]) -> None:
    """Paired by task: the faster one wins each, and the interval of the mean difference says so."""
    (found,) = compare_sides((runs[0], "command-house-model"), (runs[0], "command-gpt-5"), "floor")
    assert found.advantage.n == 4
    assert found.advantage.value == pytest.approx(0.4, abs=0.02)
    assert found.interval is not None
    assert found.interval.low > 0.3
    assert [found.count(verdict) for verdict in ("win", "tie", "loss")] == [4, 0, 0]
    assert found.said == "command-house-model may be ahead: of fewer than 6 tasks no interval is one of 95 %"
    assert replace(found, tasks=found.tasks * 2).said == "command-house-model is ahead"
    assert found.duplicate is None
    assert comparison_as_json(found)["n_shared"] == 4


def test_two_runs_are_compared_agent_by_agent(runs: list[RunFolder]) -> None:
    """Each agent with itself, on the task that both runs have; what only one has is counted."""
    first, second = compare_sides((runs[0], ""), (runs[1], ""), "floor")
    assert (first.first, first.second) == ("first:command-gpt-5", "second:command-gpt-5")
    assert (first.advantage.n, first.only_first, first.only_second) == (1, 3, 2)
    assert first.said == "cannot be told apart: of fewer than 6 tasks no interval is one of 95 %"
    assert first.count("tie") == second.count("tie") == 1


@pytest.mark.parametrize("first", ["nobody", "command-gpt-5"])
def test_who_is_compared_must_be_another(runs: list[RunFolder], first: str) -> None:
    """Of one run two agents are needed; the message names those that are there."""
    with pytest.raises(ConfigError, match="command-house-model"):
        compare_sides((runs[0], first), (runs[0], "command-gpt-5"), "floor")


def test_a_run_given_twice_is_refused(runs: list[RunFolder]) -> None:
    """Its trials would count double."""
    with pytest.raises(ConfigError, match="first: is given twice"):
        gather([runs[0], runs[0]], "floor")


def test_runs_of_one_id_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """Wherever two were called alike, or one was copied and gone on with."""
    folders = [run_of(tmp_path / place / "mine", {"gpt-5": speed}, [0]) for place, speed in (("a", 1.2), ("b", 1.6))]
    assert gather(folders, "floor").names == (str(tmp_path / "a/mine"), str(tmp_path / "b/mine"))
    (found,) = compare_sides((folders[0], ""), (folders[1], ""), "floor")
    assert (found.first, found.second) == tuple(f"{folder.root}:command-gpt-5" for folder in folders)
    assert found.advantage.value == pytest.approx(-0.4, abs=0.02)


def configured(folder: RunFolder, digests: dict[str, str], **changes: object) -> RunFolder:
    """The run of other task files, started with other settings."""
    run = folder.read_run()
    assert run is not None
    config = RunConfig.model_validate(run.config.model_dump() | changes)
    write_record(folder.root / "run.json", run.model_copy(update={"config": config}))
    write_record(folder.root / "run.lock", RunLock(tasks=dict.fromkeys(run.config.task_ids, "sha256:0") | digests))
    return folder


def test_a_task_whose_files_differ_is_not_one_task(tmp_path: Path) -> None:
    """It is left out of the comparison and of the board, and named; settings that differ are told with their values."""
    first = run_of(tmp_path / "first", {"gpt-5": 1.2}, [0, 1])
    second = run_of(tmp_path / "second", {"gpt-5": 1.6}, [0, 1])
    (same,) = compare_sides((first, ""), (second, ""), "floor")
    assert (same.advantage.n, same.unlike, same.differing) == (2, (), ())
    configured(second, {TASKS[1]: "sha256:other"}, release="2026-03", timeout_s=60.0)
    (found,) = compare_sides((first, ""), (second, ""), "floor")
    told = ('release "local" and "2026-03"', "timeout_s 3600.0 and 60.0")
    assert ([task.task_id for task in found.tasks], found.unlike, found.differing) == ([TASKS[0]], (TASKS[1],), told)
    as_json = comparison_as_json(found)
    assert (as_json["left_out"], as_json["differing"]) == ([TASKS[1]], list(told))
    gathered = gather([first, second], "floor")
    assert (gathered.board.tasks, gathered.unlike, gathered.differing) == ((TASKS[0],), (TASKS[1],), told)


def selected(folder: RunFolder, number: int, names: list[str]) -> None:
    """The session of a task measured these workloads only."""
    session = folder.read_session(TASKS[number], 1)
    assert session is not None
    others = {name: "not selected (not impacted)" for name in NAMES if name not in names}
    chosen = SelectionRecord(selected=dict.fromkeys(names, "touched"), not_selected=others, coverage_s=1.0)
    write_record(folder.session(TASKS[number], 1) / "session.json", session.model_copy(update={"selection": chosen}))


def test_other_workloads_of_a_task_are_not_pooled(tmp_path: Path) -> None:
    """One run measured all of them, another what patches can touch: that is the same of a task only where it is all."""
    first, second, third = (run_of(tmp_path / name, {"gpt-5": 1.2}, [0, 1, 2]) for name in ("one", "two", "three"))
    for folder in (second, third):
        configured(folder, {}, select="impacted")
        selected(folder, 0, NAMES)
        selected(folder, 1, NAMES[:2])
        selected(folder, 2, NAMES[:1])
    selected(third, 2, NAMES[1:])
    told = ('select "all" and "impacted"',)
    gathered = gather([first, second], "floor")
    assert (gathered.board.tasks, gathered.unlike, gathered.differing) == ((TASKS[0],), tuple(TASKS[1:3]), told)
    (found,) = compare_sides((second, ""), (third, ""), "floor")
    assert ([task.task_id for task in found.tasks], found.unlike, found.differing) == (TASKS[:2], (TASKS[2],), ())


def moved(folder: RunFolder, number: int, machine: Machine) -> None:
    """The session of a task was on another machine."""
    session = folder.read_session(TASKS[number], 1)
    assert session is not None
    here = session.model_copy(update={"machine": machine})
    write_record(folder.session(TASKS[number], 1) / "session.json", here)


def test_machines_are_those_of_the_sessions(tmp_path: Path) -> None:
    """Not that on which the run was begun: one run may be measured on several, and agents of one session share one."""
    first, second = (run_of(tmp_path / name, {"gpt-5": 1.2, "x": 1.3}, [0, 1]) for name in ("first", "second"))
    other = MACHINE.model_copy(update={"cpu_model": "Other CPU"})
    assert gather([first, second], "floor").one_machine
    moved(first, 1, other)
    assert not gather([first], "floor").one_machine
    (within,) = compare_sides((first, "command-gpt-5"), (first, "command-x"), "floor")
    (between,) = compare_sides((first, "command-x"), (second, "command-x"), "floor")
    assert (within.one_machine, between.one_machine) == (True, False)
    assert comparison_as_json(between)["one_machine"] is False
    moved(second, 1, other)
    (between,) = compare_sides((first, "command-x"), (second, "command-x"), "floor")
    assert between.one_machine


def test_cutoffs_of_a_file_come_first(tmp_path: Path) -> None:
    """Names with or without a provider, and globs; a longer name is not taken for a shorter one."""
    path = tmp_path / "cutoffs.json"
    path.write_text('{"gpt-5": "2030-01-02", "house-*": "2025-05-05T00:00:00+00:00"}')
    cutoffs = Cutoffs(path)
    assert cutoffs.of("openai/gpt-5") == datetime(2030, 1, 2, tzinfo=UTC)
    assert cutoffs.of("house-model-7") == datetime(2025, 5, 5, tzinfo=UTC)
    assert cutoffs.of("anthropic/claude-sonnet-4") == datetime(2025, 4, 1, tzinfo=UTC)
    assert cutoffs.of("claude-sonnet-4-5") is None
    assert "published" in cutoffs.source


@pytest.mark.parametrize(
    ("text", "model", "year"),
    [
        ('{"openai/gpt-5": "2030-01-01"}', "openai/gpt-5", 2030),
        ('{"openai/gpt-5": "2030-01-01"}', "gpt-5", 2030),
        ('{"GPT-5": "2030-01-01"}', "openai/gpt-5", 2030),
        ('{"gpt-*": "2030-01-01"}', "openai/GPT-5", 2030),
        ('{"openai/*": "2030-01-01"}', "openai/gpt-5", 2030),
        ('{"openai/*": "2030-01-01"}', "gpt-5", 2024),
        ('{"*": "2031-01-01", "gpt-5": "2030-01-01"}', "gpt-5", 2030),
        ('{"gpt-5": "2031-01-01", "openai/gpt-5": "2030-01-01"}', "openai/gpt-5", 2030),
        ('{"gpt-5": "2031-01-01", "openai/gpt-5": "2030-01-01"}', "gpt-5", 2031),
        ('{"gpt-5-mini": "2030-01-01"}', "gpt-5", 2024),
    ],
)
def test_an_entry_of_ones_own_goes_before_what_ships(tmp_path: Path, text: str, model: str, year: int) -> None:
    """Whatever the case, the provider or the glob; nearer names first; and one that means another model does not."""
    path = tmp_path / "cutoffs.json"
    path.write_text(text)
    date = Cutoffs(path).of(model)
    assert date is not None and date.year == year
    assert Cutoffs(path).unmatched({model}) == (tuple(json.loads(text)) if year == 2024 else ())


def test_an_entry_that_means_no_model_is_told(runs: list[RunFolder], tmp_path: Path) -> None:
    """In the document and below the tables."""
    path = tmp_path / "cutoffs.json"
    path.write_text('{"gtp-5": "2030-01-01", "house-*": "2030-01-01"}')
    found = analyse(gather(runs, "floor"), stars={}, cutoffs=Cutoffs(path))
    assert json.loads(json.dumps(findings_as_json(found)))["missing"]["unmatched_cutoffs"] == ["gtp-5"]
    out = io.StringIO()
    print_findings(found, Console(file=out, width=200))
    assert "no model of these runs is meant by these entries of --cutoffs: gtp-5" in out.getvalue()


@pytest.mark.parametrize("text", ["[]", "{", '{"gpt-5": "soon"}', '{"a/b": -1}', '{"a/b": "many"}'])
def test_files_of_facts_are_checked(tmp_path: Path, text: str) -> None:
    """The error names the option, the file, and what its text should look like."""
    path = tmp_path / "facts.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"--stars .*example"):
        read_stars(path)
    if text == "[]":
        with pytest.raises(ConfigError, match="cannot be read: no JSON object"):
            read_stars(path)
    if "a/b" not in text or "many" in text:
        with pytest.raises(ConfigError, match=r"--cutoffs .*example"):
            Cutoffs(path)


def test_a_tasks_difference_redraws_rounds_alone() -> None:
    """Workloads that differ much among themselves do not widen it; common noise cancels; one round says nothing."""
    rng = random.Random(1)
    noise = [[rng.gauss(0.0, 0.02) for _ in range(12)] for _ in range(4)]
    first, second = (
        [RoundRatios(f"w{at}", [at + step + each for each in noise[at]], (0.0,) * 12) for at in range(4)]
        for step in (0.05, 0.0)
    )
    found = task_difference([first], [second], seed=0)
    assert found is not None
    expected = math.exp(1.55) - math.exp(1.5)
    assert found.low == pytest.approx(expected, rel=0.05)
    assert found.high == pytest.approx(expected, rel=0.05)
    short = [RoundRatios("w0", (0.0,), (0.0,))]
    assert task_difference([short], [short], seed=0) is None
    assert task_difference([], [first], seed=0) is None
