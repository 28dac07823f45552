"""fc-eval findings and compare from the outside: tables that fit, JSON, and what is refused."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.cli.findings_tables import print_comparison, print_findings, print_published
from datasmith.errors import ConfigError, TrialError
from datasmith.evaluation.compare import compare_sides
from datasmith.evaluation.findings import analyse
from datasmith.evaluation.gather import gather
from datasmith.evaluation.outside import Cutoffs
from datasmith.evaluation.published import Figure, Published
from datasmith.evaluation.run_folder import RunFolder
from datasmith.evaluation.whole_files import write_record
from tests.unit.evaluation.sample_run import MACHINE, SampleRun, sample_run
from tests.unit.evaluation.test_findings import configured, moved, run_of


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    code = run_app(app, words)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of two runs."""
    place = tmp_path_factory.mktemp("runs")
    sample_run(place / "r")
    run_of(place / "s", {"gpt-5": 1.2, "claude-sonnet-4": 1.6}, [0, 1, 2])
    return place


def test_tables_fit_a_terminal_of_120_columns(runs: Path) -> None:
    """All seven analyses as tables, a comparison, and the published figures: no line is wider, no title is lost."""
    target = io.StringIO()
    console = Console(file=target, width=120, force_terminal=True, color_system=None, highlight=False)
    folders = [RunFolder(runs / "r"), RunFolder(runs / "s")]
    print_findings(analyse(gather(folders, "floor"), stars={"acme/repo-1": 5}, cutoffs=Cutoffs()), console)
    sides = [(folders[1], "command-gpt-5"), (folders[1], "command-claude-sonnet-4")]
    print_comparison(compare_sides(sides[0], sides[1], "floor")[0], console)
    figures = (Figure("a", 1 / 3, 1 / 3), Figure("b", "x", "y", "why"), Figure("c", None, 0.5, "no cost"))
    print_published(Published(figures, {"OC": (1, 2)}), console)
    lines = target.getvalue().splitlines()
    assert max(map(len, lines)) <= 120
    text = target.getvalue()
    for title in (
        "agents by Ranked Pairs", "ranks under 5 rules", "advantage per level", "by the expert's strategy",
        "by popularity", "advantage per USD", "worst workload", "months between",
        "command-claude-sonnet-4 may be ahead",
        "Q1 (5 to 5 stars)", "DIFFERS why", "DIFFERS no cost", "1 of 3 figures agree", "3-6 after",
    ):  # fmt: skip
        assert title in text, title
    assert text.count("┏") >= 10


def test_an_empty_table_of_months_says_why(tmp_path: Path) -> None:
    """A model without a known cutoff asks for --cutoffs; where no configuration has a model, nobody can give one."""
    told = {}
    for name, model in (("of-models", "gpt-x"), ("of-none", "none")):
        folder = run_of(tmp_path / name, {model: 1.2}, [0])
        target = io.StringIO()
        print_findings(analyse(gather([folder], "floor"), stars={}, cutoffs=Cutoffs()), Console(file=target, width=200))
        told[name] = target.getvalue()
    assert "no knowledge cutoff known (give --cutoffs FILE)" in told["of-models"]
    assert "there are no months to count" in told["of-none"]


def test_findings_of_runs(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    """As tables, and as one JSON document; runs are named by id or by folder."""
    code, out, _ = said(capsys, "findings", "r", str(runs / "s"), "--runs-dir", str(runs), "--policy", "baseline")
    assert code == 0
    assert "r, s: agents by Ranked Pairs (failed trials: baseline" in out
    code, out, _ = said(capsys, "findings", "s", "--runs-dir", str(runs), "--json")
    assert (code, json.loads(out)["runs"]) == (0, ["s"])


def test_what_is_over_part_of_a_suite_is_told_beside_every_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By run, in tables and in JSON, of findings and of comparisons; whole suites have no label."""
    run = sample_run(tmp_path / "part")
    for task in run.config.task_ids:
        session = run.folder.sessions(task)[1].model_copy(update={"screened_out": 12})
        write_record(run.folder.session(task, 1) / "session.json", session)
    label = "2 tasks leave out 24 workloads of their suites; not comparable with full runs"
    sides = [f"{tmp_path / 'part'}:command-{name}" for name in ("good", "nothing")]
    for words in (("findings", str(tmp_path / "part")), ("compare", *sides)):
        code, out, err = said(capsys, *words)
        assert code == 0 and f"note: part: {label}" in " ".join(out.split()), err
        found = json.loads(said(capsys, *words, "--json")[1])
        assert [each["scopes"] for each in (found if isinstance(found, list) else [found])] == [{"part": label}]


def test_costs_that_nobody_knows_are_told(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    """The fifth analysis is there, with an n of 0: what is missing is not left out without a word."""
    code, out, _ = said(capsys, "findings", "r", "--runs-dir", str(runs))
    assert code == 0 and "USD per task" in out and "unknown" in out


def test_tasks_without_a_trial_are_tasks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As in the report of a run that has just begun: of two tasks none is scored, and not of none."""
    SampleRun(tmp_path / "new", ["acme_fast_1", "acme_fast_2"], ["good"])
    code, out, _ = said(capsys, "findings", str(tmp_path / "new"))
    assert code == 0 and "0 of 2" in out
    found = json.loads(said(capsys, "findings", str(tmp_path / "new"), "--json")[1])
    assert (found["n_tasks"], found["n_tried"]) == (2, 0)


def test_stars_of_nobody_are_named(capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path) -> None:
    """Case counts in the name of a repository."""
    (tmp_path / "stars.json").write_text('{"Acme/Repo-1": 5, "nobody/x": 1}')
    words = ("findings", "s", "--runs-dir", str(runs), "--stars", str(tmp_path / "stars.json"))
    assert "by these entries of --stars: Acme/Repo-1, nobody/x" in " ".join(said(capsys, *words)[1].split())
    assert json.loads(said(capsys, *words, "--json")[1])["missing"]["unmatched_stars"] == ["Acme/Repo-1", "nobody/x"]


def test_what_cannot_be_compared_is_an_error(capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path) -> None:
    """No shared task is no table of dashes; an agent that is not there is told with one that is."""
    code, out, err = said(capsys, "compare", "r:nobody", "s", "--runs-dir", str(runs))
    assert (code, out) == (ConfigError.exit_code, "")
    assert (
        err.startswith("error: compare: r has no agent 'nobody'; it has ") and f"(example: {runs / 'r'}:command-" in err
    )
    code, out, err = said(capsys, "compare", "r:", "s", "--runs-dir", str(runs))
    assert (code, out, err.strip()) == (2, "", "error: 'r:' names no agent (example: r:oracle)")
    for name, tasks in (("none", []), ("other", [5])):
        run_of(tmp_path / name, {"gpt-5": 1.2}, tasks)
        code, out, err = said(capsys, "compare", str(runs / "s:command-gpt-5"), str(tmp_path / f"{name}:command-gpt-5"))
        assert (code, out) == (TrialError.exit_code, "")
        assert "no task that both were scored at" in err and "fc-eval runs status" in err


def test_a_run_compared_with_itself_sets_each_agent_against_each_other(
    capsys: pytest.CaptureFixture[str], runs: Path
) -> None:
    """Once each; one that is named against all others; one alone with itself is told with the run as it was typed."""
    run = str(runs / "s")
    for words, pairs in (
        ((run, run), [("command-gpt-5", "command-claude-sonnet-4")]),
        ((f"{run}:command-claude-sonnet-4", run), [("command-claude-sonnet-4", "command-gpt-5")]),
    ):
        code, out, _ = said(capsys, "compare", *words, "--json")
        assert code == 0
        assert [(each["first"], each["second"]) for each in json.loads(out)] == pairs
    code, _, err = said(capsys, "compare", f"{run}:command-gpt-5", f"{run}:command-gpt-5")
    assert code == ConfigError.exit_code
    assert err == (
        f"error: compare: {run}:command-gpt-5 is given twice, and nobody differs from oneself: name another agent of "
        f"it, command-claude-sonnet-4 (example: {run}:command-gpt-5 {run}:command-claude-sonnet-4)\n"
    )


def test_the_only_agent_of_a_run_is_compared_with_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is given twice; the line says that another run is needed."""
    run_of(tmp_path / "one", {"gpt-5": 1.2}, [1])
    run = str(tmp_path / "one")
    monkeypatch.chdir(run)
    for words in ((run, run), (f"{run}:command-gpt-5", run), (f"{run}:command-gpt-5", f"{run}:command-gpt-5")):
        code, out, err = said(capsys, "compare", *words)
        assert (code, out, err.count("\n")) == (ConfigError.exit_code, "", 1)
        assert f"{run} has no agent but command-gpt-5" in err and f"(example: {run} {tmp_path}/another-run)" in err
    code, _, err = said(capsys, "compare", ".", ".")
    assert code == ConfigError.exit_code and "(example: . another-run)" in err


def test_what_the_runs_do_not_share_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Other task files, settings and machines: below both commands' tables, and where nothing is left to compare."""
    names = [str(run_of(tmp_path / name, {"gpt-5": 1.2}, [0, 1]).root) for name in ("one", "two")]
    two = RunFolder(tmp_path / "two")
    configured(two, {"acme_fast_2": "sha256:other"}, timeout_s=60.0)
    moved(two, 0, MACHINE.model_copy(update={"cores": 3}))
    for command, machines in (
        ("compare", "the two were not measured on the same machines"),
        ("findings", "not all was measured on one machine"),
    ):
        code, out, _ = said(capsys, command, *names)
        assert code == 0
        assert f"warning: {machines}\n" in out
        assert "left out: 1 tasks whose files or measured workloads are not the same in all runs: acme_fast_2\n" in out
        assert "warning: the runs are configured differently: timeout_s 3600.0 and 60.0\n" in out
    configured(two, {"acme_fast_1": "sha256:other", "acme_fast_2": "sha256:other"})
    code, _, err = said(capsys, "compare", *names)
    assert code == TrialError.exit_code
    assert (
        "no task that both were scored at, and 2 whose files or measured workloads are not the same in both: nothing"
        in err
    )


def test_a_run_that_does_not_say_its_tasks_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """They may be other tasks of that name; alone, a run is compared with nothing that could differ."""
    one, two = (run_of(tmp_path / name, {"gpt-5": 1.2}, [0, 1]).root for name in ("one", "two"))
    (two / "run.lock").unlink()
    told = f"warning: {two}: run.lock does not say which tasks these were: acme_fast_1, acme_fast_2; "
    for command in ("compare", "findings"):
        code, _, err = said(capsys, command, str(one), str(two))
        assert (code, err.count("run.lock")) == (0, 1)
        assert told in err
    code, _, err = said(capsys, "findings", str(two))
    assert (code, "run.lock" in err) == (0, False)


def test_a_comparison(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    """Two agents of a run, as a table and as JSON."""
    sides = ("r:command-good", "r:command-nothing", "--runs-dir", str(runs))
    code, out, _ = said(capsys, "compare", *sides)
    assert code == 0
    assert "command-good less command-nothing" in out
    code, out, _ = said(capsys, "compare", *sides, "--json")
    (found,) = json.loads(out)
    assert (code, found["n_shared"], found["win"]) == (0, 2, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("findings",),
        ("findings", "r", "--published", "x"),
        ("findings", "--published", "no-such-directory"),
        ("findings", "no-such-run"),
        ("findings", "r", "--stars", "no-such-file"),
        ("compare", "r:nobody", "r:command-good"),
        ("compare", "r"),
    ],
)
def test_what_is_wrong_is_one_line(capsys: pytest.CaptureFixture[str], runs: Path, words: tuple[str, ...]) -> None:
    """Exit code 2, an example, and nothing on standard output."""
    code, out, err = said(capsys, *words, *(() if words == ("compare", "r") else ("--runs-dir", str(runs))))
    assert (code, out, err.count("\n")) == (ConfigError.exit_code, "", 1)


@pytest.mark.parametrize("option", ["--policy", "--runs-dir", "--stars", "--cutoffs"])
def test_published_figures_take_no_option_of_runs(capsys: pytest.CaptureFixture[str], option: str) -> None:
    """One line names the option and gives an example, even where what it says is the default."""
    code, out, err = said(capsys, "findings", "--published", "published", option, "floor")
    assert (code, out, err.count("\n")) == (ConfigError.exit_code, "", 1)
    assert err.startswith(f"error: {option} ")
    assert "(example: fc-eval findings --published published)" in err


def test_published_figures_that_differ_are_a_failure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The table is printed, the exit code is that of an error, and the line names them."""
    (tmp_path / "f6_tradeoff_per_task_1.tsv").write_text("EX\ta/b#1\t1.5\t1.0\n")
    (tmp_path / "published_findings_1.json").write_text(
        '{"f1": [["Human Expert", "", 0, 0, 0, 1.4]], "f5": [], "f6agg": []}'
    )
    (tmp_path / "stars_1.txt").write_text("1")
    code, out, err = said(capsys, "findings", "--published", str(tmp_path))
    assert code == TrialError.exit_code
    assert "DIFFERS mean of 1 rows" in out
    assert "expert speedup" in err
    code, out, _ = said(capsys, "findings", "--published", str(tmp_path), "--json")
    assert code == TrialError.exit_code
    assert json.loads(out)["figures"][0]["difference"] == pytest.approx(0.1)
