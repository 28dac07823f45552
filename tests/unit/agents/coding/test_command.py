"""The command agent: any executable, inside a real sandbox."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from datasmith.agents.coding.base import AgentResult
from datasmith.agents.coding.command import CommandAgent
from datasmith.agents.coding.options import AgentOptions
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ImageRef
from datasmith.errors import AgentFailed, ConfigError
from tests.sandboxes import embedded_engine, tree_image, tree_task


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[BubblewrapEngine, ImageRef]:
    engine = embedded_engine(tmp_path_factory.mktemp("cache"))
    return engine, tree_image(engine, tmp_path_factory.mktemp("tree"), {"a.py": b"x = 1\n"})


@pytest.fixture
def box(built: tuple[BubblewrapEngine, ImageRef]) -> Iterator[Container]:
    engine, image = built
    with engine.start(image) as container:
        yield container


def work(box: Container, tmp_path: Path, script: str, timeout_s: float = 30) -> AgentResult:
    (tmp_path / "agent.sh").write_text(f"#!/bin/sh\n{script}\n")
    agent = CommandAgent(AgentOptions("command", kwargs={"path": "agent.sh"}, directory=tmp_path))
    return agent.solve(tree_task(box.image), box, timeout_s=timeout_s)


@pytest.mark.engine
def test_the_instruction_arrives_twice(box: Container, tmp_path: Path) -> None:
    """On standard input and as a file; the working directory is the repository."""
    result = work(box, tmp_path, 'cat; cat "$FC_INSTRUCTION"; cat /workspace/agent/instruction.md; pwd; ls')
    assert result.log.count("Reading is slow. Make it faster.") == 3
    assert "/workspace/repo\na.py\n" in result.log
    assert result.patch == ""
    assert result.usage.cost_usd is None


@pytest.mark.engine
def test_it_sees_nothing_of_the_host(box: Container, tmp_path: Path) -> None:
    """No file of the host's user, no network, not root."""
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    result = work(box, tmp_path, f"cat {secret}; id -u; cat /proc/net/dev | grep -v -e lo: -e '|' ; env")
    assert "s3cret" not in result.log
    assert "\n1000\n" in f"\n{result.log}"
    assert "eth" not in result.log


@pytest.mark.engine
def test_a_time_out_is_noted_and_the_work_so_far_is_kept(box: Container, tmp_path: Path) -> None:
    """Nothing of it goes on in the background."""
    result = work(box, tmp_path, "echo 'x = 2' >a.py; sleep 60", timeout_s=1)
    assert result.timed_out
    assert "+x = 2" in result.patch
    assert "timed out" in result.log
    assert result.wall_s < 20


@pytest.mark.engine
def test_an_exit_code_decides_nothing(box: Container, tmp_path: Path) -> None:
    """What counts is the tree; the code is in the log."""
    result = work(box, tmp_path, "echo 'x = 2' >a.py; exit 3")
    assert "+x = 2" in result.patch
    assert "[exit code 3]" in result.log
    assert result.failure is None


@pytest.mark.engine
@pytest.mark.parametrize("first", ["#!/nope/interpreter\n", "#!/bin/sh\r\n"])
def test_a_program_that_cannot_start_is_a_failure(box: Container, tmp_path: Path, first: str) -> None:
    """It did not choose to change nothing: its file has the ends of lines of another system, say."""
    (tmp_path / "agent.sh").write_bytes(first.encode() + b"echo 'x = 2' >a.py\r\n")
    agent = CommandAgent(AgentOptions("command", kwargs={"path": "agent.sh"}, directory=tmp_path))
    result = agent.solve(tree_task(box.image), box, timeout_s=30)
    assert result.failure is not None
    assert "agent.sh could not be started: exit code 12" in result.failure


@pytest.mark.engine
def test_a_program_that_fails_and_changes_nothing_is_a_failure(box: Container, tmp_path: Path) -> None:
    """It did not choose that either; one that ends well did."""
    failed, ended = (work(box, tmp_path, f"exit {code}") for code in (2, 0))
    assert failed.failure is not None
    assert failed.failure.endswith("agent.sh changed nothing and failed: exit code 2, see agent.log")
    assert ended.failure is None


@pytest.mark.engine
def test_a_command_that_is_missing_at_the_end_costs_no_work(box: Container, tmp_path: Path) -> None:
    """The same exit code, after the tree was changed."""
    result = work(box, tmp_path, "echo 'x = 2' >a.py; no-such-program")
    assert (result.failure, "+x = 2" in result.patch) == (None, True)


@pytest.mark.engine
def test_a_destroyed_repository_is_a_failure_with_a_log(box: Container, tmp_path: Path) -> None:
    """The log of what led to it is not lost."""
    result = work(box, tmp_path, "echo oops; rm -rf .git")
    assert result.failure is not None
    assert "oops" in result.log


@pytest.mark.engine
def test_a_command_with_files(box: Container, tmp_path: Path) -> None:
    """Files lie below /workspace/agent, where a command can name them."""
    (tmp_path / "run.py").write_text("open('a.py', 'w').write('x = 9\\n')")
    kwargs: Mapping[str, JsonValue] = {
        "command": ["python3", "/workspace/agent/lib/run.py"],
        "files": {"lib/run.py": "run.py"},
    }
    agent = CommandAgent(AgentOptions("command", kwargs=kwargs, directory=tmp_path))
    assert "+x = 9" in agent.solve(tree_task(box.image), box, timeout_s=30).patch


@pytest.mark.engine
def test_a_file_that_went_away_is_the_agents_failure(box: Container, tmp_path: Path) -> None:
    """Not the sandbox's."""
    (tmp_path / "agent.sh").write_text("")
    agent = CommandAgent(AgentOptions("command", kwargs={"path": "agent.sh"}, directory=tmp_path))
    (tmp_path / "agent.sh").unlink()
    with pytest.raises(AgentFailed, match=r"agent\.sh"):
        agent.solve(tree_task(box.image), box, timeout_s=30)


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({}, "either path or command"),
        ({"path": "a", "command": ["b"]}, "either path or command"),
        ({"path": "gone"}, "no file"),
        ({"command": []}, "command"),
        ({"command": "sh x"}, "command"),
        ({"command": ["x"], "files": {"../x": "here"}}, "outside"),
        ({"command": ["x"], "files": {"/etc/x": "here"}}, "outside"),
        ({"command": ["x"], "file": {}}, "file"),
        ({"command": ["x"], "files": {"": "here"}}, "files: '' is not the plain path"),
        ({"command": ["x"], "files": {".": "here"}}, "files: '.' is not the plain path"),
        ({"command": ["x"], "files": {"a//b": "here"}}, "files: 'a//b' is not the plain path"),
        ({"command": ["x"], "files": {"a/": "here"}}, "files: 'a/' is not the plain path"),
        ({"command": ["x"], "files": {"a\0b": "here"}}, "is not the plain path"),
        ({"command": ["x"], "files": {"instruction.md": "here"}}, "instruction.md is where another file or the"),
        ({"command": ["x"], "files": {"a/b": "here", "a": "here"}}, "/a is where another file"),
        ({"command": ["x"], "files": {"a": "here", "/workspace/agent/a": "here"}}, "/a is where another file"),
        ({"path": "here", "files": {"here": "here"}}, "/here is where another file"),
        ({"command": [""]}, "command: .* starts no program"),
        ({"command": ["x", "a\0b"]}, "command: .* starts no program"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, kwargs: Mapping[str, JsonValue], says: str) -> None:
    """Before anything is started."""
    (tmp_path / "here").write_text("")
    with pytest.raises(ConfigError, match=says):
        CommandAgent(AgentOptions("command", kwargs=kwargs, directory=tmp_path))
