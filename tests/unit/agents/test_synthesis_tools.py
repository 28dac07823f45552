"""What a search starts from: the commit that a clone knows, and a payload that anybody may have written."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from datasmith.agents.synthesis_tools import SynthesisTools, first_plan, locked
from datasmith.docker.context import LOCK, DockerContext
from datasmith.docker.engine import ContainerEngine
from datasmith.docker.images import BUILD_ARGS
from datasmith.errors import ConfigError, NotFound
from datasmith.settings import Settings
from tests.clones import START, Clone
from tests.unit.agents.synthesizing import COMMIT, Bench, Verdict


class Engine:
    """An engine that knows some Pythons, or none."""

    name = "stub"

    def __init__(self, *pythons: str) -> None:
        self.known = pythons

    def pythons(self) -> tuple[str, ...]:
        return self.known


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone where the settings look for it."""
    return Clone(tmp_path / "clones/acme/calc.git", START)


def tools_of(bench: Bench, engine: object = None) -> SynthesisTools:
    """As the settings say, with clones in their place."""
    settings = Settings(clones_dir=bench.place / "clones", data_dir=bench.place, agent="none")
    return SynthesisTools.of(settings, cast("ContainerEngine", engine or bench.engine), bench.store)


def test_a_shortened_commit_is_one_that_the_clone_knows(tmp_path: Path, clone: Clone) -> None:
    """As the project page calls it: its tree is sealed, and everything is kept under the whole id."""
    bench = Bench(tmp_path, lambda plan: None)
    made = tools_of(bench)
    whole = clone.git("rev-parse", "HEAD")
    assert made.known("acme", "calc", whole[:12]) == (whole, datetime(2026, 1, 1, tzinfo=UTC))
    bench.synthesizer._tools = replace(bench.synthesizer.tools, known=made.known, source=made.source)
    assert bench.synthesizer.run("acme", "calc", 1, "", Verdict(), sha=whole[:12], python_version="3.11")
    assert {row["sha"] for row in bench.rows()} == {whole}
    assert bench.images.plans[0].source.name == "repo.tar.gz"
    with pytest.raises(NotFound, match="9bf96df6b0cc"):
        bench.synthesizer.run("acme", "calc", 1, "", Verdict(), sha="9bf96df6b0cc", python_version="3.11")


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("[" * 100_000, "is not JSON"),
        ("{", "is not JSON"),
        ("[1]", "no list of dependencies"),
        ('{"dependencies": [1]}', "no list of dependencies"),
        ('{"dependencies": ["numpy", "not a requirement!!"]}', "'not a requirement!!' is no name"),
        ('{"dependencies": ["numpy>=1.*"]}', "is no name"),
        ('{"dependencies": ["-r requirements.txt"]}', "is no name"),
        ('{"dependencies": ["numpy @ file:///etc"]}', "is no name"),
        ('{"dependencies": [""]}', "is no name"),
    ],
)
def test_a_payload_that_cannot_be_read_is_told(tmp_path: Path, payload: str, said: str) -> None:
    """One error of ours with an example, whatever stands there."""
    tools = Bench(tmp_path, lambda plan: None).synthesizer.tools
    with pytest.raises(ConfigError, match="example") as told:
        plan = first_plan(COMMIT, None, "3.11", tmp_path / "x", engine=tools.engine)
        locked(plan, payload, COMMIT, relock=tools.relock, cutoff=None)
    assert "env_payload" in str(told.value) and said in str(told.value)


@pytest.mark.parametrize(("engine", "version"), [(Engine("3.10", "3.12"), "3.12"), (Engine(), "3")])
def test_without_a_python_the_engines_newest_is_taken(tmp_path: Path, engine: Engine, version: str) -> None:
    """And where it names none, whichever there is."""
    plan = first_plan(COMMIT, None, "", tmp_path / "x", engine=cast("ContainerEngine", engine))
    assert plan.python_version == version


def test_the_python_that_is_asked_for_is_the_one_that_is_built(tmp_path: Path) -> None:
    """A context's build_args.sh says which, where nobody asks; a lock that was made for another one is told."""
    engine = cast("ContainerEngine", Engine("3.12"))
    for asked, built in (("", "3.10"), ("3.11", "3.11")):
        context = DockerContext({BUILD_ARGS: "FC_PYTHON=3.10\n"})
        plan = first_plan(COMMIT, context, asked, tmp_path / "x", engine=engine)
        assert (plan.python_version, plan.build_args) == (built, {})
    with_lock = DockerContext({BUILD_ARGS: "FC_PYTHON=3.10\n", LOCK: "numpy==1.26.0\n"})
    assert first_plan(COMMIT, with_lock, "3.10", tmp_path / "x", engine=engine).context.texts[LOCK]
    empty = DockerContext({**with_lock.texts, LOCK: "\n"})
    plan = first_plan(COMMIT, empty, "3.11", tmp_path / "x", engine=engine)
    assert (plan.python_version, plan.context.texts[LOCK]) == ("3.11", "\n"), "it pins nothing, on any Python"
    assert first_plan(COMMIT, with_lock, "3.10.2", tmp_path / "x", engine=engine).python_version == "3.10.2"
    with pytest.raises(ConfigError, match=r"3\.11, and lock\.txt .* for Python 3\.10"):
        first_plan(COMMIT, with_lock, "3.11", tmp_path / "x", engine=engine)
