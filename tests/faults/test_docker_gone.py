"""The Docker daemon goes away during a build and during a measurement: nobody's fault, tried again, nothing left."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from datasmith.agents import Synthesizer
from datasmith.agents.coding.nop import NopAgent
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.docker import ImageManager, SmokeVerifier
from datasmith.docker.cli_engine import CliEngine
from datasmith.docker.cli_owner import OWNER_LABEL
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Limits
from datasmith.docker.images import BUILD_ARGS, build_args_text
from datasmith.docker.lookup import FoundContext
from datasmith.errors import EngineUnavailable
from datasmith.evaluation.budget import CostLimit
from datasmith.evaluation.config import RunConfig
from datasmith.evaluation.records import RunLock, TrialRecord
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.evaluation.trial import StopToken, Surroundings, TaskRun
from datasmith.evaluation.whole_files import write_record
from datasmith.github.git import Git
from datasmith.github.models import PR
from datasmith.runners import SynthesizeImagesRunner
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from datasmith.tasks.task import Task
from tests.clones import Clone
from tests.integration.eval_task import calc_image, calc_task
from tests.support.base_image import BASE_IMAGE
from tests.support.own_docker import OwnDocker

pytestmark = [pytest.mark.engine, pytest.mark.docker, pytest.mark.timeout(600)]

PATIENCE_S = 200.0
WAITS = ("sleep", "47111174")
"""What a build waits in until it is killed."""
LAUNCH = ("python", "-m", "inside.launch")
SCRIPTS = {
    "docker_build_env.sh": 'mkdir -p "$FC_ENV/bin"\nln -s /usr/bin/python3 "$FC_ENV/bin/python"\n',
    "docker_build_pkg.sh": f"{' '.join(WAITS)} || true\n",
}

Doing = Callable[[OwnDocker, int], None]
"""What is done when a process is seen: its pid is given."""


def crashes(docker: OwnDocker, _pid: int) -> None:
    """The daemon is killed, and whoever asks it then waits for the next one, which comes at once."""
    docker.crash()
    docker.start()


def is_restarted(docker: OwnDocker, _pid: int) -> None:
    """The daemon is told to stop, which kills what it runs, and comes back at once."""
    docker.stop()
    docker.start()


def is_gone(docker: OwnDocker, _pid: int) -> None:
    """The daemon is killed, and nobody answers until it is started again."""
    docker.leave()
    docker.crash()


def goes_on(_docker: OwnDocker, pid: int) -> None:
    """The process is killed, which is what its script waits for."""
    os.kill(pid, signal.SIGKILL)


@dataclass
class Figures:
    """What the tests of this module saw."""

    outages: int = 0
    infra: int = 0
    went_on: int = 0
    left: int = 0


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    """Told in the end."""
    seen = Figures()
    yield seen
    print(
        f"\nengine gone: {seen.infra} of {seen.outages} outages were infra,"
        f" {seen.went_on} of {seen.outages} went on after a restart, {seen.left} containers left"
    )


@pytest.fixture(scope="module")
def docker() -> Iterator[OwnDocker]:
    """A daemon that holds the base image; it is alive when a test begins."""
    own = OwnDocker(Path(tempfile.mkdtemp(prefix="fc-gone-")))
    try:
        own.start()
        own.load_base()
        yield own
    finally:
        own.remove()


def engine_of(docker: OwnDocker, **environment: str) -> CliEngine:
    return CliEngine("docker", base_image=BASE_IMAGE, environment={"DOCKER_HOST": docker.address, **environment})


def command_of(pid: int) -> tuple[str, ...]:
    """The words of a process; none where it has ended."""
    try:
        return tuple(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1])
    except (FileNotFoundError, ProcessLookupError):
        return ()


def halted(docker: OwnDocker, words: tuple[str, ...], known: Collection[int]) -> int:
    """The pid of such a command, which is stopped before it ends; 0 where none runs."""
    for pid in docker.inside().difference(known):
        with suppress(ProcessLookupError):
            if command_of(pid) == words:
                os.kill(pid, signal.SIGSTOP)
                return pid
    return 0


@contextmanager
def seeing(docker: OwnDocker, words: tuple[str, ...], *doings: Doing) -> Iterator[None]:
    """Meanwhile the first of these is done when such a command runs, which then waits, the second at the next one."""
    known = set(docker.inside())

    def watch() -> None:
        deadline = time.monotonic() + PATIENCE_S
        for doing in doings:
            while not (pid := halted(docker, words, known)):
                assert time.monotonic() < deadline, f"{words} was not run for {doing.__doc__}"
                time.sleep(0.05)
            known.add(pid)
            doing(docker, pid)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        yield
        watching.result()


def count_left(docker: OwnDocker, engine: CliEngine, figures: Figures) -> int:
    """Containers, and images made of them, that are there after the engine has looked for its own."""
    engine.check()
    left = docker.ask("ps", "--all", "--quiet") + docker.ask("images", "--quiet", "--filter", f"label={OWNER_LABEL}")
    figures.left += len(left)
    return len(left)


class Bench:
    """Stage 5's search for the image of one pull request, whose build waits on its way."""

    def __init__(self, engine: CliEngine, place: Path) -> None:
        texts = {**DockerContext.default(lock="").texts, **SCRIPTS}
        texts["docker_build_pkg.sh"] += f"# {place.name}: no image that another test made\n"
        texts[BUILD_ARGS] = build_args_text({"FC_PYTHON": "3.11", "FC_IMPORT_NAMES": ""})
        clone, source = Clone(place / "calc", {"calc.py": "x = 1\n"}), place / "repo.tar.gz"
        sha = clone.git("rev-parse", "HEAD")
        Git(clone.path).sealed_source(sha, source, commit_date=datetime(2026, 1, 1, tzinfo=UTC))
        self.pr = PR(repository="acme/calc", issue_number=7, title="It adds faster now.", base_sha=sha)
        self.known = FoundContext(DockerContext(texts), "a test", source)
        self.store = SqlStore.at(place / "fc.sqlite")
        self.store.migrate()
        tools = SynthesisTools(
            engine=engine, images=ImageManager(engine, namespace=place.name.lower()), store=self.store,
            relock=lambda lock, *_: lock, source=lambda *_: source, limits=Limits(),
        )  # fmt: skip
        self._synthesizer = Synthesizer(1, tools=tools, trace=lambda _line: None)

    def of_repository(self, owner: str, repo: str) -> FoundContext | None:
        """See ContextLookup."""
        raise AssertionError(f"nobody asks for {owner}/{repo}")

    def of_pull_request(self, owner: str, repo: str, number: int) -> FoundContext | None:
        """See ContextLookup."""
        return self.known

    def run(self) -> DockerContext | None:
        """One run of the stage."""
        runner = SynthesizeImagesRunner(self._synthesizer, SmokeVerifier("json"), n_concurrent=1, contexts=self)
        return anyio.run(runner.run, [self.pr])[0]

    @property
    def state(self) -> object:
        """Of the pull request, in the ledger."""
        (row,) = self.store.select("stage_items")
        return row["state"]

    def says(self) -> tuple[list[object], int]:
        """How the builds ended that are written down, and how many failures are."""
        attempts = self.store.select("build_attempts", order=("id",))
        return [row["ok"] for row in attempts], len(self.store.select("runner_failures"))


@pytest.mark.parametrize("happens", [crashes, is_restarted, is_gone], ids=lambda happens: happens.__name__)
@pytest.mark.parametrize("builder", ["older", "buildkit"])
def test_a_build_without_a_daemon_is_no_verdict(
    docker: OwnDocker, figures: Figures, tmp_path: Path, builder: str, happens: Doing
) -> None:
    """Nothing is written down that says that it does not build; the same pull request passes once there is a daemon."""
    engine = engine_of(docker, **({"PATH": os.defpath} if builder == "buildkit" else {}))
    if engine.has_buildkit != (builder == "buildkit"):
        pytest.skip(f"no docker client with the {builder} builder is installed")
    bench = Bench(engine, tmp_path)
    figures.outages += 1
    if happens is is_gone:
        with seeing(docker, WAITS, happens), pytest.raises(EngineUnavailable):
            bench.run()
        assert (bench.state, bench.says()) == ("pending", ([], 0))
        docker.start()
        with seeing(docker, WAITS, goes_on):
            found = bench.run()
    else:
        with seeing(docker, WAITS, happens, goes_on):
            found = bench.run()
    figures.infra += bench.says() == ([True], 0)
    figures.went_on += found is not None
    assert found is not None, str(bench.store.select("build_attempts"))[-3000:]
    assert (bench.state, bench.says()) == ("passed", ([True], 0))
    assert count_left(docker, engine, figures) == 0
    # BuildKit starts its steps itself, and the next daemon does not end what the last one has left.
    assert builder == "buildkit" or docker.inside() == frozenset()
    docker.kill_inside()


class Trial:
    """The only trial of a run on one task: the agent that does nothing is measured."""

    def __init__(self, engine: CliEngine, task: Task, place: Path) -> None:
        self.key = TrialKey(task.task_id, "nop", 1)
        self.folder = RunFolder(place / "run")
        self._task, self._place = task, place
        write_record(self.folder.root / "run.lock", RunLock(tasks={task.task_id: "sha256:0"}))
        agents = [{"agent": "nop", "model": "none"}]
        config = {"dataset": "tasks", "release": "local", "task_ids": [task.task_id], "agents": agents, "max_rounds": 6}
        self._around = Surroundings(
            folder=self.folder,
            config=RunConfig.model_validate({**config, "engine": "docker"}),
            agents={"nop": NopAgent(AgentOptions("nop"))},
            engine=engine,
            settings=Settings(data_dir=place, cache_dir=place / "cache"),
            observer=self,
            stop=StopToken(),
            cost=CostLimit(None, self.folder, ()),
        )
        self.again: list[str] = []

    def step(self, _task_id: str, what: str, _done: int = 0, _total: int | None = None) -> None:
        """See StepObserver."""
        self.again += [what] if what.startswith("again") else []

    def complete(self, _n_trials: int) -> None:
        """See StepObserver."""

    def ended(self, _trial: TrialRecord) -> None:
        """See StepObserver."""

    def run(self) -> TrialRecord:
        """How it has ended after one run."""
        cores = (min(os.sched_getaffinity(0)),)
        TaskRun(self._around, self._task, self._place / "tasks" / self._task.task_id, cores).run()
        record = self.folder.read_trial(self.key)
        assert record
        return record


@pytest.mark.parametrize("happens", [crashes, is_restarted, is_gone], ids=lambda happens: happens.__name__)
def test_a_measurement_without_a_daemon_says_nothing_of_the_agent(
    docker: OwnDocker, figures: Figures, tmp_path: Path, happens: Doing
) -> None:
    """It is made again: by the same run where there is a daemon again, by the next one where there was none."""
    engine = engine_of(docker)
    task = calc_task(calc_image(engine, tmp_path), tmp_path / "tasks", tmp_path / "repo.tar.gz")
    trial = Trial(engine, task, tmp_path)
    figures.outages += 1
    with seeing(docker, LAUNCH, happens):
        record = trial.run()
    outage = trial.again[0]
    assert outage.startswith("again, after: ")
    if happens is is_gone:
        assert record.outcome == "infra_error" and not trial.folder.is_complete(trial.key)
        docker.start()
        record = trial.run()
    figures.infra += 1
    # On a busy machine it may be too noisy to decide: that is found in a session, too.
    assert record.session and record.outcome in {"measured", "invalid_measurement"}, record
    assert trial.folder.is_complete(trial.key)
    figures.went_on += 1
    assert count_left(docker, engine, figures) == 0
    assert docker.inside() == frozenset()
