"""The environment to learn in: what it is opened with, what it runs, and what its rewards are worth."""

import fcntl
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from datasmith.docker.engine import ContainerEngine, ImageRef, Limits
from datasmith.errors import ConfigError, TrialError
from datasmith.evaluation import environment
from datasmith.evaluation.environment import _SHAPES, TaskEnvironment, environment_of
from datasmith.evaluation.grading import Graded, Grader, Submission
from datasmith.evaluation.outcome import Ending
from datasmith.executors.cores import usable_cores
from datasmith.settings import load_settings
from datasmith.workloads.summary import OWN_NOISE
from tests.sandboxes import embedded_engine, tree_image, tree_task


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_too_few_rounds_are_named_as_they_were_given(rounds: int) -> None:
    """By the name of the parameter, before anything is opened."""
    task = tree_task(ImageRef("bubblewrap", "none", "sha256:" + "0" * 64))
    with pytest.raises(ConfigError, match=rf"^max_rounds {rounds}: .*\(example: max_rounds=\d+\)$"):
        environment_of(task, None, max_rounds=rounds)


@pytest.mark.parametrize("given", [{"max_rounds": "6"}, {"seed": "a"}, {"seed": 1.0}, {"seed": -1}, {"seed": 10**20}])
def test_what_is_no_number_is_named(given: dict[str, object]) -> None:
    """With an example, before anything is opened."""
    task = tree_task(ImageRef("bubblewrap", "none", "sha256:" + "0" * 64))
    (name,) = given
    with pytest.raises(ConfigError, match=rf"^{name}=.* is no whole number that can be had \(example: {name}=12\)$"):
        environment_of(task, None, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", _SHAPES)
def test_no_failure_is_worth_more_than_a_patch_that_works(shape: str) -> None:
    """However slow that is."""
    worth, failed = _SHAPES[shape]  # type: ignore[index]
    assert all(worth(ratio, 1.5) >= failed for ratio in (1e-9, 0.2, math.exp(-1.0), 1.0, 3.0))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskEnvironment]:
    engine = embedded_engine(tmp_path_factory.mktemp("engine"))
    image = tree_image(engine, tmp_path_factory.mktemp("tree"), {"a.py": b"x = 1\n"})
    with TaskEnvironment(tree_task(image), image, engine, Limits()) as env:
        env.reset()
        yield env


@pytest.mark.engine
def test_a_command_of_any_length_is_run(opened: TaskEnvironment) -> None:
    """What is longer than a kernel takes comes another way, and what it reads comes after it."""
    long = "x=" + "y" * 200_000 + "\necho ${#x}; exec cat\n"
    done = opened.exec(long, stdin=b"and this")
    assert (done.rc, done.text) == (0, "200000\nand this")
    assert opened.exec(["cat", "a.py"]).text == "x = 1\n"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([], "neither a text nor a list of words"),
        (b"true", "neither a text nor a list of words"),
        ("echo a\0b", "holds a NUL"),
        (["echo", "x" * 200_000], "has 200000 bytes"),
    ],
)
def test_a_command_that_is_none_is_told(opened: TaskEnvironment, command: Sequence[str], said: str) -> None:
    """In one line."""
    with pytest.raises(TrialError, match=said):
        opened.exec(command)


@pytest.mark.engine
@pytest.mark.parametrize("timeout", [0, -1.0, math.nan, math.inf, cast(float, "6")])
def test_a_timeout_is_seconds(opened: TaskEnvironment, timeout: float) -> None:
    """None that cannot pass."""
    with pytest.raises(TrialError, match=r"^timeout=.* \(example: timeout=600.0\)$"):
        opened.exec("true", timeout=timeout)


@pytest.mark.engine
@pytest.mark.parametrize("pinned", [True, False])
def test_who_is_timed_holds_its_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: bool) -> None:
    """As fc-eval run does, so that neither disturbs the other; with no core there is none to hold."""
    engine = embedded_engine(tmp_path / "engine")
    image = tree_image(engine, tmp_path, {"a.py": b"x = 1\n"})
    settings = load_settings().model_copy(update={"locks_dir": tmp_path / "cores"})
    monkeypatch.setattr(environment, "open_engine", lambda _settings: engine)
    taken: list[list[str]] = []

    def grade(_grader: Grader, submissions: Sequence[Submission]) -> Graded:
        taken.append([path.name for path in tmp_path.glob("cores/*") if _is_taken(path)])
        return Graded(None, {submissions[0].key: Ending("failed_tests", "1 of 2")})

    monkeypatch.setattr(Grader, "grade", grade)
    core = usable_cores()[-1]
    with environment_of(tree_task(image), None, settings=settings, cores=(core,) if pinned else ()) as env:
        env.reset()
        assert env.score().outcome == "failed_tests"
    assert taken == [[f"core-{core}"] if pinned else []]
    assert not any(map(_is_taken, tmp_path.glob("cores/*")))


@pytest.mark.engine
def test_noise_of_its_own_is_decided_by_the_second_session(
    opened: TaskEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a run: otherwise a patch that makes noise would never have the reward of a bad one."""
    endings = iter([Ending("invalid_measurement", f"m.time_x: {OWN_NOISE}: 0.1 of 0.2 s")] * 2)

    def grade(_grader: Grader, submissions: Sequence[Submission]) -> Graded:
        return Graded(None, {submissions[0].key: next(endings)})

    monkeypatch.setattr(Grader, "grade", grade)
    found = opened.score()
    assert (found.outcome, found.reward, found.speedup) == ("tampered_or_unreliable", 0.0, None)
    assert found.reason is not None and found.reason.endswith("in 2 sessions")
    assert next(endings, None) is None


@pytest.mark.parametrize(
    ("cores", "said"), [(3, "cores=3 is no list of cores"), ((10**6,), "cores: 1000000 cannot be used here")]
)
def test_cores_that_cannot_be_are_told(cores: object, said: str) -> None:
    """With an example, before anything is opened."""
    task = tree_task(ImageRef("bubblewrap", "none", "sha256:" + "0" * 64))
    with pytest.raises(ConfigError, match=rf"^{said} \(example: cores=\(\d+,\)\)$"):
        environment_of(task, None, cores=cores)  # type: ignore[arg-type]


def test_what_a_run_cannot_be_is_told_by_its_name() -> None:
    """Also where the environment is made without `environment_of`."""
    image = ImageRef("bubblewrap", "none", "sha256:" + "0" * 64)
    with pytest.raises(ConfigError, match=r"^seed: .* \(example: seed 7\)$"):
        TaskEnvironment(tree_task(image), image, cast("ContainerEngine", image), Limits(), seed=-1)


def _is_taken(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
