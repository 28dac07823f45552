"""Our task folders in the real Harbor and the real terminal-bench, and as an environment to learn in."""

import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ExecResult, ImageRef
from datasmith.errors import ConfigError, TrialError
from datasmith.settings import Settings
from datasmith.tasks.folder import read_task
from datasmith.tasks.terminal_bench import FormulaCodeAdapter
from tests.integration.eval_task import FAST, WRONG, calc_image, calc_task
from tests.redteam.samplelib_task import samplelib
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]
HARNESSES = ROOT / ".harnesses"
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"}
READS = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from harbor.models.task.config import TaskConfig
from harbor.verifier.verifier import Verifier
root, texts, config = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
verifier = Verifier.__new__(Verifier)
paths = SimpleNamespace(reward_text_path=root / "reward.txt", reward_json_path=root / "reward.json")
verifier.trial_paths = paths
found = []
for text in texts:
    paths.reward_json_path.write_text(text)
    try:
        found.append(verifier._parse_reward_json())
    except Exception as error:
        found.append(type(error).__name__)
paths.reward_text_path.write_text("1.5")
environment = TaskConfig.model_validate_toml(config).environment
print(json.dumps([*found, verifier._parse_reward_text(), environment.memory_mb, environment.storage_mb]))
"""
LOADS = """
import json, sys
from pathlib import Path
from terminal_bench.dataset.dataset import Dataset
from terminal_bench.handlers.trial_handler import TrialHandler
from terminal_bench.harness.harness import Harness
found = []
for path in Dataset(path=Path(sys.argv[1])):
    handler = TrialHandler(trial_name="trial", input_path=path)
    paths = handler.task_paths
    files = [paths.solution_path, paths.run_tests_path, paths.docker_compose_path]
    resolved = [Harness._is_resolved(None, handler.parser.parse(said)) for said in json.loads(sys.argv[2])]
    found.append([handler.task_id, handler.instruction, all(file.is_file() for file in files), resolved])
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Place:
    """A dataset with one task, and the cache that holds its image."""

    root: Path
    engine: BubblewrapEngine
    image: ImageRef

    @property
    def folder(self) -> Path:
        """The task's folder."""
        return self.root / "tasks/acme_calc_1"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The task, whose own scripts time it in three rounds."""
    root = tmp_path_factory.mktemp("harnesses")
    engine = embedded_engine(root / "cache")
    image = calc_image(engine, root)
    calc_task(image, root / "tasks", root / "repo.tar.gz")
    expected = root / "tasks/acme_calc_1/tests/expected.json"
    expected.write_text(json.dumps({**json.loads(expected.read_text()), "rounds": 3}))
    return Place(root, engine, image)


def program(harness: str, name: str) -> Path:
    """A program of a harness, as scripts/install-harnesses.sh puts it there."""
    if not (HARNESSES / "installed").is_file():
        reason = HARNESSES / "missing"
        why = reason.read_text() if reason.is_file() else "not installed (scripts/install-harnesses.sh)"
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return HARNESSES / harness / "bin" / name


def said(words: list[str | Path], **environment: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **QUIET, **environment}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=1000)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


SANDBOX = {"import_path": "datasmith.evaluation.harbor:SandboxEnvironment"}


@dataclass(frozen=True)
class HarborTrial:
    """What Harbor says of a trial: whose and in which folder it is, its rewards, or the error that it ended with."""

    agent: str
    task: str
    rewards: Mapping[str, float] | None
    error: str | None
    message: str | None

    @classmethod
    def read(cls, path: Path) -> Self:
        """The trial of a result.json."""
        found = json.loads(path.read_text())
        error = found["exception_info"] or {}
        rewards = (found["verifier_result"] or {}).get("rewards")
        task = Path(found["task_id"]["path"]).name
        return cls(
            found["agent_info"]["name"], task, rewards, error.get("exception_type"), error.get("exception_message")
        )


def harbor_job(
    place: Place, tasks: Path, where: Path, *agents: str, environment: Mapping[str, str] = SANDBOX, path: str = ""
) -> list[HarborTrial]:
    """Run these agents on all tasks of a directory, in one job; `path` comes before that of PATH."""
    job = {
        "agents": [{"name": name} for name in agents],
        "datasets": [{"path": str(tasks)}],
        "n_concurrent_trials": 1,
        "environment": environment,
    }
    (where / "job.json").write_text(json.dumps(job))
    _, trials = harbor_run(place, where, "-c", where / "job.json", "-q", path=path)
    return trials


def harbor_run(place: Place, where: Path, *words: str | Path, path: str = "") -> tuple[str, list[HarborTrial]]:
    """What the real `harbor run` says to these words, and its trials."""
    given = {"FC_ENGINE": "bubblewrap", "FC_CACHE_DIR": str(place.root / "cache"), "PYTHONPATH": str(ROOT / "src")}
    given["PATH"] = f"{path}{os.environ['PATH']}"
    out = said([program("harbor", "harbor"), "run", *words, "-o", where, "--job-name", "job", "-y"], **given)
    return out, [HarborTrial.read(path) for path in sorted((where / "job").glob("*/result.json"))]


def test_harbor_runs_our_folders(place: Place, tmp_path: Path) -> None:
    """`harbor lint` finds nothing; in one job the oracle's reward is above nop's, and all rewards are read."""
    linted = said([program("harbor", "harbor"), "lint", "--select", "ALL", "--json", place.folder])
    assert json.loads(linted) == []
    trials = harbor_job(place, place.root / "tasks", tmp_path, "nop", "oracle")
    rewards = {trial.agent: trial.rewards or {} for trial in trials}
    assert rewards["nop"] == {"reward": 1.0, "speedup": 1.0, "tests_passed": 1.0}
    assert rewards["oracle"]["reward"] > 2 and rewards["oracle"]["tests_passed"] == 1.0


def test_harbor_builds_machine_code_again(place: Place, tmp_path: Path) -> None:
    """By the command of the documentation. The oracle's patch is one of C: it is worth nothing before it is built."""
    _, _, folder = samplelib(tmp_path, place.engine).task(15)
    expected = folder / "tests/expected.json"
    expected.write_text(json.dumps({**json.loads(expected.read_text()), "rounds": 3}))
    words = ("-p", folder.parent, "-a", "oracle", "--env", SANDBOX["import_path"])
    out, (trial,) = harbor_run(place, tmp_path, *words)
    assert trial.rewards is not None and trial.rewards["tests_passed"] == 1.0, trial
    assert f"{trial.rewards['reward']:.3f}" in out, out
    assert trial.rewards["reward"] > 1.2, trial


REWARDS: dict[str, object] = {
    '{"agent_advantage": 0.25, "speedup": 1.25, "tests_passed": true}': {
        "agent_advantage": 0.25, "speedup": 1.25, "tests_passed": 1.0,
    },
    '{"speedup": 1.2, "per_benchmark_speedups": {"a": 1.0}}': "VerifierOutputParseError",
    '{"tests_passed": null}': "VerifierOutputParseError",
    '{"reward": NaN}': "VerifierOutputParseError",
}  # fmt: skip
"""What may stand in reward.json, and what Harbor makes of it."""


def test_what_harbor_takes_for_a_reward(place: Place, tmp_path: Path) -> None:
    """Cases 80 to 84 and 88: its own reader wants a flat object of finite numbers, and takes sizes as texts."""
    python = program("harbor", "python")
    config = (place.folder / "task.toml").read_text().replace("memory_mb = 4096", 'memory = "4G"\nstorage = "10G"')
    found = said([python, "-c", READS, tmp_path, json.dumps([*REWARDS]), f"more = 1\n{config}"])
    assert json.loads(found.splitlines()[-1]) == [*REWARDS.values(), {"reward": 1.5}, 4096, 10240]


SCRIPTS = [
    """if [ -s "$FC_PATCH" ]
then say '{"agent_advantage": 0.25, "speedup": 1.25, "tests_passed": true}'
else say '{"agent_advantage": 0.25, "speedup": 0, "tests_passed": true}'
fi
echo -1 >reward.txt""",
    *(f"say '{text}'" for text in [*REWARDS][1:]),
    "echo 1.5 >reward.txt; exit 3",
    "true",
]
"""What a task's test.sh may do, case 80 to 85: only the first and the last but one leave what is a reward."""


def test_a_job_counts_rewards_and_errors(place: Place, tmp_path: Path) -> None:
    """Cases 80 to 87: a mean is over all trials, a verdict that cannot be read is an error, and the job ends well."""
    for number, script in enumerate(SCRIPTS, start=80):
        folder = tmp_path / "tasks" / f"case_{number}"
        shutil.copytree(place.folder, folder)
        head = 'cd /logs/verifier || exit\nsay() { printf "%s" "$1" >reward.json; }\n'
        (folder / "tests/test.sh").write_text(f"#!/bin/bash\n{head}{script}\n")
    trials = harbor_job(place, tmp_path / "tasks", tmp_path, "oracle", "nop")
    ends = {(trial.agent, trial.task): (trial.rewards, trial.error) for trial in trials}
    read, *unread = REWARDS.values()
    expected = [(read, None), *((None, name) for name in unread), ({"reward": 1.5}, None)]
    for number, end in enumerate([*expected, (None, "RewardFileNotFoundError")], start=80):
        assert ends["oracle", f"case_{number}"] == end
    assert (ends["nop", "case_80"][0] or {})["speedup"] == 0
    stats = json.loads((tmp_path / "job/result.json").read_text())["stats"]["evals"]
    (mine,) = [each for name, each in stats.items() if name.startswith("oracle")]
    assert (mine["n_trials"], mine["n_errors"]) == (2, 4)
    means = {"agent_advantage": 0.041667, "speedup": 0.208333, "reward": 0.25, "tests_passed": 0.166667}
    assert mine["metrics"] == [pytest.approx(means, abs=1e-6)]


def test_without_compose_a_trial_says_so(place: Place, tmp_path: Path) -> None:
    """Case 89: Harbor's own Docker environment needs Compose v2; the trial's error has the words of the docs.

    The docker here only says what Docker's says without that plugin: machines of tests have either, or no daemon.
    """
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    refusal = 'echo "unknown flag: $2" >&2; exit 125'
    docker.write_text(f'#!/bin/sh\nif [ "$1" = compose ]; then {refusal}; fi\necho linux\n')
    docker.chmod(0o755)
    docker_of_harbor, path = {"type": "docker"}, f"{docker.parent}:"
    (trial,) = harbor_job(place, place.root / "tasks", tmp_path, "nop", environment=docker_of_harbor, path=path)
    message = "unknown flag: --project-name"
    assert trial.error == "RuntimeError" and message in (trial.message or "")
    assert message in (ROOT / "docs/howto/harbor.md").read_text()


def copied(container: Container, source: Path, target: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(source, arcname=".")
    done = container.exec(["tar", "-x", "--no-same-owner", "-C", target], timeout=60, stdin=packed.getvalue())
    assert done.ok, done.error_text


def judged(container: Container) -> ExecResult:
    return container.exec(["bash", "/tests/run-tests.sh"], timeout=300, env={"TEST_DIR": "/tests/tests"})


def test_terminal_bench_loads_our_folders(place: Place, tmp_path: Path) -> None:
    """The real package loads the exported folder, and calls the oracle's work resolved, and doing nothing not."""
    python = program("terminal-bench", "python")
    adapter = FormulaCodeAdapter(task_dir=tmp_path / "fctasks", force=True, tasks=place.root / "tasks")
    folder = adapter.generate_task(read_task(place.folder))
    with place.engine.start(place.image, places=("/tests",)) as container:
        copied(container, folder, "/tests")
        nothing = judged(container)
        assert container.exec(["bash", "/tests/solution.sh"], timeout=60).ok
        solved = judged(container)
    outputs = json.dumps([nothing.text, solved.text])
    loaded = json.loads(said([python, "-c", LOADS, tmp_path / "fctasks", outputs]).splitlines()[-1])
    assert loaded == [["acme_calc_1", read_task(place.folder).instruction, True, [False, True]]]


def test_export_writes_both_forms(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fc-eval export` names the folders that it wrote, replaces none unasked, and wants one of the two forms."""
    for form, own in (("--harbor", "task.toml"), ("--terminal-bench", "task.yaml")):
        target = tmp_path / form
        words = ["export", form, str(place.folder), "--output", str(target)]
        assert run_app(app, words) == 0
        assert capsys.readouterr().out == f"{target / 'acme_calc_1'}\n" and (target / "acme_calc_1" / own).is_file()
        assert run_app(app, words) == ConfigError.exit_code
        assert "--force" in capsys.readouterr().err
    assert run_app(app, ["export", str(place.folder), "--output", str(tmp_path)]) == ConfigError.exit_code


def test_a_task_is_an_environment(place: Place) -> None:
    """Doing nothing is worth less than the expert's change, a wrong one is a failure, and reset() takes it back."""
    settings = Settings(engine="bubblewrap", cache_dir=place.root / "cache", data_dir=place.root / "work")
    given = {"max_rounds": 6, "shape": "shaped", "cores": (), "settings": settings}
    task = read_task(place.folder)
    with pytest.raises(ConfigError, match="name its folder"):
        task.model_copy(update={"image_digest": "sha256:" + "0" * 64}).environment(settings=settings)
    for given_wrongly in ({"shape": "shapd"}, {"max_rounds": 2}, {"cores": (4096,)}):
        with pytest.raises(ConfigError):
            task.environment(place.folder, settings=settings, **given_wrongly)
    with task.environment(place.folder, **given) as env:  # type: ignore[arg-type]
        with pytest.raises(TrialError, match="reset"):
            env.exec("true")
        assert "slow" in env.reset()
        assert not env.exec("echo >/dev/tcp/127.0.0.1/80").ok
        idle = env.score()
        env.exec("cat >calc.py", stdin=FAST.encode())
        faster = env.score()
        env.exec("cat >calc.py", stdin=WRONG.encode())
        wrong = env.score()
        env.reset()
        assert env.patch() == ""
    assert idle.outcome == faster.outcome == "measured"
    assert -1.0 < idle.reward < 0.4 < faster.reward and set(faster.workloads) == {"bench.time_total"}
    assert (wrong.outcome, wrong.reward, wrong.workloads) == ("failed_tests", -1.0, {})
