"""What comes of a turn whose agent breaks down, in a real sandbox: a script stands for the agent's program."""

from pathlib import Path

import pytest

from datasmith.agents.coding.budget import Budget
from datasmith.agents.coding.gateway import Upstream
from datasmith.agents.coding.inside.launch import MODEL_URL
from datasmith.agents.coding.prices import Price
from datasmith.agents.coding.sandboxed import PLACE, SandboxedWriter
from datasmith.agents.coding.work import CodingCli, Terms
from datasmith.agents.scripting import Brief, Written
from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import ImageRef, Limits
from datasmith.docker.images import ImagePlan
from datasmith.errors import ModelUnavailable
from tests.loopback.model_server import playing
from tests.sandboxes import embedded_engine, tree_image

pytestmark = pytest.mark.engine

PKG = "docker_build_pkg.sh"
ASK = f"""import json, urllib.request
body = json.dumps({{"model": "m", "max_tokens": 1, "messages": [{{"role": "user", "content": "x"}}]}}).encode()
asked = urllib.request.Request("{MODEL_URL}/v1/messages", body, {{"Content-Type": "application/json"}})
urllib.request.urlopen(asked, timeout=20).read()
"""
BREAKS = f'{ASK}print("no such option: --frob")\nraise SystemExit(3)\n'


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> BubblewrapEngine:
    return embedded_engine(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def image(engine: BubblewrapEngine, tmp_path_factory: pytest.TempPathFactory) -> ImageRef:
    return tree_image(engine, tmp_path_factory.mktemp("tree"), {"calc.py": b"x = 1\n"})


def turn(engine: BubblewrapEngine, image: ImageRef, place: Path, program: str) -> Written:
    """One turn of an agent that is this Python program."""
    plan = ImagePlan("acme", "calc", "1", "3.11", (), DockerContext.default(lock=""), place / "repo.tar")
    with playing() as model:
        upstream = Upstream(model.url, "x-api-key", "the-key-0123456789")
        cli = CodingCli("frobber", "m", ("python3", "-c", program), {}, upstream, ())
        writer = SandboxedWriter(cli, engine, Terms(60.0, Limits()), Budget(fallback=Price(input=1, output=1)))
        return writer.write(Brief("acme/calc", plan, image, "It is slow.", (), place))


def test_an_agent_that_breaks_down_hands_in_why(engine: BubblewrapEngine, image: ImageRef, tmp_path: Path) -> None:
    """With the end of what it printed, its model and its price; what it has written before that counts as written."""
    found = turn(engine, image, tmp_path, BREAKS)
    assert found.broke == "frobber ended with exit code 3 and wrote nothing"
    assert found.log == "no such option: --frob" and found.model == "m" and found.cost_usd is not None
    wrote = turn(engine, image, tmp_path, f'open("{PLACE}/{PKG}", "w").write("true\\n")\n{BREAKS}')
    assert (wrote.broke, wrote.scripts[PKG]) == ("", "true\n")


def test_an_agent_without_an_idea_has_not_broken_down(
    engine: BubblewrapEngine, image: ImageRef, tmp_path: Path
) -> None:
    """It ends well, and hands in the scripts as they were."""
    found = turn(engine, image, tmp_path, f'{ASK}print("no idea")\n')
    assert (found.broke, found.log) == ("", "no idea")
    assert found.scripts[PKG] == DockerContext.default(lock="").texts[PKG]


def test_an_agent_that_never_asked_is_an_outage(engine: BubblewrapEngine, image: ImageRef, tmp_path: Path) -> None:
    """It says nothing of the tree, nor of the agent."""
    with pytest.raises(ModelUnavailable, match="frobber did not reach its model: no way"):
        turn(engine, image, tmp_path, 'print("no way")\nraise SystemExit(3)\n')
