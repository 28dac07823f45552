"""fc-eval from the outside: what is printed, and with which exit code."""

import json
import os
import sys
from pathlib import Path

import pytest

from datasmith import __version__, process
from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.errors import ConfigError, InvalidTask, MeasurementFailed, StoreUnavailable, TrialError
from datasmith.tasks.folder import write_task
from tests.loopback.hub import loopback_hub
from tests.mounts import small_disk
from tests.sandboxes import embedded_engine
from tests.unit.evaluation.sample_run import sample_run
from tests.unit.tasks.samples import TREE, certificate, sample_task, source_tar


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    code = run_app(app, words)
    out, err = capsys.readouterr()
    return code, out, err


def test_help_is_quick_and_heavy_modules_stay_out() -> None:
    """Asking for help imports no numpy, no polars and no template engine."""
    program = "import sys; from datasmith.cli.eval import app; from datasmith.cli.common import run_app;"
    program += "run_app(app, ['--help']); print(sorted({'numpy', 'polars', 'jinja2', 'unidiff'} & set(sys.modules)))"
    done = process.run([sys.executable, "-c", program], timeout=60)
    assert done.ok, done.error_text
    assert done.text.splitlines()[-1] == "[]"
    assert "regrade" in done.text


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, nothing else."""
    assert said(capsys, "--version") == (0, f"{__version__}\n", "")


@pytest.fixture(autouse=True)
def _no_names_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FC_DATASETS_FILE", str(tmp_path / "mine.json"))
    monkeypatch.setenv("FC_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def agents(tmp_path: Path) -> str:
    path = tmp_path / "agents.json"
    path.write_text('[{"agent": "nop", "model": "none"}]')
    return str(path)


def test_the_published_command_line_is_understood(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, agents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fc-eval run --dataset … --task-id … --config …` as published parses; only the data is missing."""
    monkeypatch.chdir(tmp_path)
    words = ("run", "--dataset", "formulacode", "--task-id", "shapely_shapely_2283", "--config", agents)
    with loopback_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        code, out, err = said(capsys, *words)
    assert (code, out) == (ConfigError.exit_code, "")
    assert err.startswith("error: --dataset: hf://datasets/formulacode/formulacode-all@main at http://127.")
    assert "no such dataset" in err and err.count("\n") == 1


def test_too_few_rounds_for_a_certificate_are_refused_before_anything_is_built(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The task says how many workloads it has; the example is enough for them."""
    names = tuple(f"m.time_{number}" for number in range(58))
    source = source_tar(tmp_path / "source.tar.gz")
    folder = write_task(sample_task(workloads=names), tmp_path / "tasks", source=source, provenance={})
    code, _, err = said(capsys, "certify", str(folder), "--max-rounds", "6")
    assert code == ConfigError.exit_code and err.count("\n") == 1
    assert err.startswith("error: --max-rounds 6: ") and err.endswith("(example: --max-rounds 12)\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-c", "agents.json", "-a", "nop"), "--config and -a, -m exclude each other"),
        (("-c", "agents.json", "-m", "x"), "--config and -a, -m exclude each other"),
        ((), "no agent is given"),
        (("-a", "nop", "-a", "oracle", "-m", "x"), "-m: 1 model for 2 agents"),
        (("-a", "nop", "-a", "terminus"), "-a terminus: agent 'terminus' is not known (known: "),
        (("-a", "no.such:Agent", "-m", "x"), "no.such"),
        (("-a", "nop", "-t", "acme_x*"), "--task-id 'acme_x*' matches no task"),
        (("-a", "nop", "--exclude", "acme_*"), "--exclude: no task of"),
        (("-a", "nop", "--executor", "slurm"), "--executor slurm"),
        (("-a", "nop", "--executor", "ray"), "--executor ray needs FC_RAY_ADDRESS (example: "),
        (("-a", "claude"), "'claude' cannot work with model 'none' (example: -m claude-sonnet-4)"),
        (("-a", "nop", "--engine", "lxc"), "--engine 'lxc'"),
        (("-a", "nop", "--max-cost", "-1"), "--max-cost"),
        (("-a", "nop", "--n-attempts", "20000"), "--n-attempts: must be at most 10000"),
        (("-a", "nop", "--seed", "99999999999999999999"), "--seed: must be at most 1000000000000000"),
        (("-a", "nop", "-d", ""), "--dataset '': is empty"),
    ],
)
def test_what_a_run_is_asked_is_read_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    dataset: Path,
    agents: str,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    says: str,
) -> None:
    """Cases 73 and 75, and their like: one line that names the flag, exit code 2, no run folder."""
    monkeypatch.chdir(Path(agents).parent)
    code, out, err = said(capsys, "run", "-d", str(dataset), *words)
    assert (code, out, err.count("\n")) == (ConfigError.exit_code, "", 1)
    assert says in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[]", "not a non-empty list"),
        ('[{"agent": "nop"}]', "entry 1 of 1: model is missing"),
        ('[{"agent": "nop", "agent_import_path": "a:B", "model": "m"}]', "entry 1 of 1: gives both"),
        ('[{"agent": "nop", "model": "m", "speed": 1}]', "entry 1 of 1: unknown key 'speed'"),
        ('[{"agent_import_path": "no.such.module:Agent", "model": "m"}]', "no.such"),
        ('[{"agent": "command", "model": "m"}]', "either path or command"),
        ('[{"agent": "command", "model": "m", "agent_kwargs": {"path": "gone.sh"}}]', "there is no file"),
        ('[{"agent": "nop", "model": "m", "agent_kwargs": {"x": 1}}]', "unknown x"),
    ],
)
def test_a_wrong_configuration_ends_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, config: str, says: str
) -> None:
    """One line, exit code 2, and no run folder."""
    path = tmp_path / "agents.json"
    path.write_text(config)
    runs = tmp_path / "runs"
    code, _, err = said(capsys, "run", "-d", str(tmp_path), "-c", str(path), "--runs-dir", str(runs))
    assert code == ConfigError.exit_code
    assert says in err
    assert err.count("\n") == 1
    assert not runs.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--dataset", "x"),
        ("run", "--dataset", "x", "--config", "gone.json"),
        ("run", "--dataset", "x", "--config", "gone.json", "--n-attempts", "0"),
        ("run", "--dataset", "x", "--config", "gone.json", "--agents", "nop"),
        ("run", "--dataset", "x", "--agent", "nop", "--seed", "-1"),
        ("report", "no-such-run"),
        ("nonsense",),
    ],
)
def test_wrong_words_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Exit code 2, and nothing on standard output."""
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_an_error_names_the_word_that_was_given(
    capsys: pytest.CaptureFixture[str], dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of arguments that stand for a dataset or a task, not the options of other commands."""
    monkeypatch.chdir(dataset)
    Path("empty").mkdir()
    _, _, err = said(capsys, "export", "empty", "--output", "x", "--harbor")
    assert err == "error: TASK empty: no task folder in it (example: work/dataset/tasks)\n"
    _, _, err = said(capsys, "export", "gone", "--output", "x", "--harbor")
    assert err.startswith("error: TASK gone: not a directory") and err.endswith("(example: work/dataset/tasks)\n")
    _, _, err = said(capsys, "tasks", "check", "empty")
    assert err == "error: TASK empty: no task folder in it (example: work/dataset/tasks)\n"
    _, _, err = said(capsys, "tasks", "show", "gone", "--dataset", ".")
    assert err.startswith("error: ID 'gone' matches no task of . (example: ") and "--" not in err
    _, _, err = said(capsys, "certify", "gone", "--dataset", ".")
    assert err.startswith("error: TASK 'gone' matches no task of . (example: ") and "--" not in err


def test_a_registry_that_is_named_is_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It is not passed over for the names that are built in; the default one need not be there."""
    code, out, err = said(capsys, "tasks", "list", "-d", "formulacode", "--registry", "gone.json")
    assert (code, out) == (2, "")
    assert err == "error: --registry gone.json: no such file (example: --registry datasets.json)\n"
    (tmp_path / "names.json").write_text('{"mine": "gone"}')
    _, _, err = said(capsys, "tasks", "list", "-d", "mine", "--registry", str(tmp_path / "names.json"))
    assert err.startswith("error: --dataset mine: the registry names ") and "which is no directory" in err


def test_a_report_is_printed_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Tables on standard output, the page beside the run; the policy stands on both."""
    sample_run(tmp_path / "runs" / "r")
    code, out, _ = said(capsys, "report", "r", "--runs-dir", str(tmp_path / "runs"), "--policy", "baseline")
    assert code == 0
    for text in ("command-good", "failed_tests", "baseline", "A/A false positives: 0 of 6"):
        assert text in out
    page = (tmp_path / "runs" / "r" / "report.html").read_text()
    assert "policy “baseline”: they count as unchanged code" in page


def test_a_report_is_printed_where_its_page_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As of a run of somebody else's: tables and JSON are there, say that there is no page, and the code tells."""
    sample_run(tmp_path / "r")
    (tmp_path / "r/.report.html.draft").mkdir()
    code, out, err = said(capsys, "report", str(tmp_path / "r"))
    assert code == StoreUnavailable.exit_code and "advantage per level" in out and "; page: none\n" in out
    assert err == (
        f"error: cannot write {tmp_path}/r/report.html: Is a directory "
        f"(example: fc-eval report {tmp_path}/r --to report.html)\n"
    )
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--json")
    assert (code, json.loads(out)["page"]) == (StoreUnavailable.exit_code, None)
    elsewhere = str(tmp_path / "pages/mine.html")
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--json", "--to", elsewhere)
    assert (code, json.loads(out)["page"]) == (0, elsewhere)
    assert "A/A" in Path(elsewhere).read_text() and not (tmp_path / "r/report.html").exists()
    assert said(capsys, "report", str(tmp_path / "r"), "--to", elsewhere)[0] == 0
    (tmp_path / "mine.html").write_text("<!doctype html>\n<p>mine</p>\n")
    (tmp_path / "loop").symlink_to("loop")
    refused = {
        str(tmp_path): "is a directory",
        os.devnull: "is no plain file",
        str(tmp_path / "r/run.json"): "no page of a run",
        str(tmp_path / "r/trials/page.html"): "own folder",
        str(tmp_path / "mine.html"): "no page of a run",
        str(tmp_path / "loop"): "cannot be written",
        str(tmp_path / ("x" * 300)): "cannot be written",
    }
    for where, why in refused.items():
        code, out, err = said(capsys, "report", str(tmp_path / "r"), "--to", where)
        assert (code, out) == (2, "") and f"--to {where}: " in err and why in err, err
    assert (tmp_path / "mine.html").read_text().endswith("mine</p>\n")


def test_a_report_as_json_is_one_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing else is on standard output."""
    sample_run(tmp_path / "r")
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--json")
    found = json.loads(out)
    assert code == 0
    assert [agent["agent"] for agent in found["agents"]] == ["command-good", "command-breaks", "command-nothing"]
    assert found["policy"] == "floor"


def test_the_references_definitions_on_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--compat` adds a table, or a key of the JSON document; without it neither is there."""
    sample_run(tmp_path / "r")
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--compat")
    assert code == 0
    assert "by the reference's definitions" in out
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--compat", "--json")
    assert [row["n"] for row in json.loads(out)["compat"]] == [2, 2, 2]
    code, out, _ = said(capsys, "report", str(tmp_path / "r"), "--json")
    assert "compat" not in json.loads(out)


def test_an_unknown_policy_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With those that exist."""
    sample_run(tmp_path / "r")
    code, _, err = said(capsys, "report", str(tmp_path / "r"), "--policy", "zero")
    assert code == ConfigError.exit_code
    assert "floor, baseline, exclude" in err


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Three task folders; the middle one is broken."""
    source = source_tar(tmp_path / "source.tar.gz")
    for number in (1, 2, 3):
        task = sample_task(task_id=f"acme_calc_{number}", pr_number=number, certificate=None)
        write_task(task, tmp_path / "tasks", source=source, provenance={})
    (tmp_path / "tasks" / "acme_calc_2" / "task.toml").write_text("[")
    return tmp_path / "tasks"


def test_a_broken_folder_hides_no_other(capsys: pytest.CaptureFixture[str], dataset: Path) -> None:
    """The others are listed; the broken one is named with its reason, and its exit code is that of an invalid task."""
    code, out, err = said(capsys, "tasks", "list", "--dataset", str(dataset))
    assert [line.split("\t")[0] for line in out.splitlines()] == ["acme_calc_1", "acme_calc_3"]
    assert (code, err.count("\n")) == (InvalidTask.exit_code, 1)
    assert err.startswith("error: acme_calc_2: task.toml: cannot be read: ")
    code, out, _ = said(capsys, "tasks", "list", "--dataset", str(dataset), "--json")
    assert (code, [row["pr_number"] for row in json.loads(out)]) == (InvalidTask.exit_code, [1, 3])
    assert [(row["n_workloads"], row["certificate"]) for row in json.loads(out)] == [(1, None), (1, None)]


def test_an_experts_patch_that_is_damaged_starts_nothing(
    capsys: pytest.CaptureFixture[str], dataset: Path, agents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in every measurement: so it is looked at before an image is built, or an agent is asked."""
    monkeypatch.setenv("FC_ENGINE", "docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (dataset / "acme_calc_3/solution/expert.patch").write_text("rubbish")
    words = ("run", "-d", str(dataset), "--config", agents, "--runs-dir", str(dataset.parent / "runs"))
    code, _, err = said(capsys, *words, "--task-id", "acme_calc_3")
    assert (code, err.count("\n")) == (InvalidTask.exit_code, 1)
    assert "acme_calc_3: solution/expert.patch is not a git diff" in err
    assert not (dataset.parent / "runs").exists()


@pytest.mark.engine
def test_a_run_that_outages_left_without_any_trial_fails(
    capsys: pytest.CaptureFixture[str], dataset: Path, agents: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk under the cache is the record's reason and the last line, and the report is there nonetheless."""
    words = ("run", "-d", str(dataset), "--config", agents, "--runs-dir", str(tmp_path / "runs"), "--run-id", "full")
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        embedded_engine(disk)
        (disk / "ballast").write_bytes(b"x" * 900_000)
        monkeypatch.setenv("FC_CACHE_DIR", str(disk))
        code, out, err = said(capsys, *words, "--task-id", "acme_calc_1", "--json")
    assert code == TrialError.exit_code
    last = err.splitlines()[-1]
    assert last.startswith("error: no trial is complete: 1 trial ended as infra_error: ContainerError: cannot ")
    assert last.endswith(": No space left on device (example: FC_CACHE_DIR=/large/disk) (the same command tries again)")
    assert [row["outcome"] for row in json.loads(out)["trials"]] == ["infra_error"]


def test_a_broken_folder_that_is_not_asked_for_is_not_told(capsys: pytest.CaptureFixture[str], dataset: Path) -> None:
    """Its neighbours are in order."""
    code, out, err = said(capsys, "tasks", "list", "--dataset", str(dataset), "--task-id", "acme_calc_[13]")
    assert (code, out.count("\n"), err) == (0, 2, "")


@pytest.mark.parametrize("command", ["redteam", "certify"])
def test_what_is_no_task_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    """Not a list of the files that an arbitrary directory does not have; of one with several tasks, how many."""
    code, out, err = said(capsys, command, str(tmp_path))
    assert (code, out) == (ConfigError.exit_code, "")
    example = "example: work/dataset/tasks/shapely_shapely_2283"
    assert err == f"error: TASK {tmp_path}: no task folder is there ({example})\n"
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").touch()
    code, _, err = said(capsys, command, str(tmp_path))
    assert code == ConfigError.exit_code
    assert err == f"error: TASK {tmp_path}: holds 2 tasks, and one is needed (example: {tmp_path}/a)\n"


@pytest.mark.parametrize(
    ("asked", "says"),
    [("conftst", "did you mean 'conftest'?"), ("xx*", "example: --attack sitecustomize")],
)
def test_an_attack_that_is_not_known_is_a_short_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, asked: str, says: str
) -> None:
    """With what may be meant, and how many there are: not with the names of all."""
    tree = {**TREE, "calc/__init__.py": b"slow = 1\n"}
    source = source_tar(tmp_path / "source.tar.gz", tree=tree)
    folder = write_task(sample_task(), tmp_path, source=source, provenance={})
    code, out, err = said(capsys, "redteam", str(folder), "--attack", asked)
    assert (code, out) == (ConfigError.exit_code, "")
    assert says in err and err.count("\n") == 1 and len(err) < 240


def test_the_exit_codes_of_an_attack_are_those_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Where none could tell, nothing was measured."""
    _code, out, _err = said(capsys, "redteam", "--help")
    assert f"{MeasurementFailed.exit_code} where none could tell" in " ".join(out.split())


def test_a_task_shows_what_its_experts_patch_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A workload that it makes slower, too: a task is valid as long as others outweigh it."""
    valid = certificate()
    (fast,) = valid.expert.workloads
    slow = fast.model_copy(update={"workload": "bench.time_import", "ratio": 0.7, "low": 0.6, "high": 0.8})
    same = slow.model_copy(update={"workload": "bench.time_other", "changed": False})
    expert = valid.expert.model_copy(update={"workloads": (fast, slow, same)})
    task = sample_task(certificate=valid.model_copy(update={"expert": expert}))
    source = source_tar(tmp_path / "source.tar.gz")
    folder = write_task(task, tmp_path / "tasks", source=source, provenance={})
    _, out, _ = said(capsys, "tasks", "show", str(folder))
    assert "  bench.time_calc: 2.000× [1.900, 2.100]\n" in out
    assert "  bench.time_import: 0.700× [0.600, 0.800] SLOWER\n" in out and "bench.time_other" not in out
