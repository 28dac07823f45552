"""What every coding agent must do, run over each of them in a real sandbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasmith.agents.coding.base import Agent
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.registry import AGENTS, load_agent
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ImageRef
from datasmith.errors import ConfigError
from datasmith.tasks.policy import check_patch
from tests.sandboxes import embedded_engine, tree_image, tree_task

pytestmark = pytest.mark.engine
SCRIPT = b"#!/bin/sh\ncat >/dev/null\necho 'x = 3' >a.py\necho done\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[BubblewrapEngine, ImageRef]:
    engine = embedded_engine(tmp_path_factory.mktemp("cache"))
    return engine, tree_image(engine, tmp_path_factory.mktemp("tree"), {"a.py": b"x = 1\n"})


@pytest.fixture
def box(built: tuple[BubblewrapEngine, ImageRef]) -> Iterator[Container]:
    engine, image = built
    with engine.start(image) as container:
        yield container


MODELLESS = ("command", "nop", "oracle")
"""The others are driven in tests/integration/test_cli_agents.py, each against a model of ours."""


@pytest.fixture(params=MODELLESS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    (tmp_path / "agent.sh").write_bytes(SCRIPT)
    options = AgentOptions(request.param, directory=tmp_path)
    if request.param == "command":
        options = AgentOptions(request.param, kwargs={"path": "agent.sh"}, directory=tmp_path)
    return load_agent(AGENTS[request.param], options)


def test_a_patch_that_the_policy_allows_is_handed_in(
    agent: Agent, box: Container, built: tuple[BubblewrapEngine, ImageRef]
) -> None:
    """The result is a git diff against base that applies to a fresh sandbox, or the empty text."""
    engine, image = built
    result = agent.solve(tree_task(image), box, timeout_s=30)
    assert (result.failure, result.timed_out) == (None, False)
    assert check_patch(result.patch, benchmark_dir="benchmarks").allowed
    with engine.start(image) as fresh:
        if result.patch:
            applied = fresh.exec(["git", "apply", "-"], timeout=30, stdin=result.patch.encode())
            assert applied.ok, applied.error_text


def test_the_list_here_is_whole() -> None:
    """Whatever is added to the registry runs through this suite or that of the agents that ask a model."""
    assert set(AGENTS) == {*MODELLESS, "claude", "codex", "gemini", "mini_swe"}


def test_the_name_is_the_registered_one(agent: Agent) -> None:
    """Folders and tables use it."""
    assert agent.name in AGENTS


def test_unknown_options_are_refused(agent: Agent, tmp_path: Path) -> None:
    """A typing error in agent_kwargs never passes silently."""
    with pytest.raises(ConfigError, match="agent_kwargs"):
        load_agent(AGENTS[agent.name], AgentOptions(agent.name, kwargs={"no_such_key": 1}, directory=tmp_path))
