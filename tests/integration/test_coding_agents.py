"""The four coding agents for real: each works in a sandbox, on a model of ours, and the host judges what it wrote."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from datasmith.agents.coding.base import equipped
from datasmith.agents.coding.clis import NO_KEY
from datasmith.agents.coding.options import AgentOptions
from datasmith.agents.coding.registry import AGENTS, load_agent
from datasmith.agents.coding.sandboxed import PLACE
from datasmith.agents.coding.writers import open_writer
from datasmith.agents.scripting import Brief, Written
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ContainerEngine, ImageRef, Tier
from datasmith.docker.images import ImagePlan
from datasmith.errors import EngineUnavailable, ModelUnavailable
from datasmith.settings import Settings
from tests.conformance.engines import ENGINES, source_tar
from tests.integration.loopback_index import Release, serving
from tests.loopback.model_server import Model, Read, Run, Step, Write, playing
from tests.sandboxes import tree_task

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
AGENTS_DIR = ROOT / ".agents"
KEY = "key-0123456789abcdef"
PKG, RUN = "docker_build_pkg.sh", "docker_build_run.sh"
FIXED = "#!/usr/bin/env bash\nset -eu\necho fixed\n"
CLIS = ("claude", "codex", "gemini", "mini_swe")
SPENT = {"claude": True}
"""Agents that say what they cost."""


def settings_for(name: str, model: Model, place: Path, index_url: str = "") -> Settings:
    """Settings that know one key, and a model on loopback behind it."""
    given: dict[str, dict[str, object]] = {
        "claude": {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url, "agent_model": "claude-sonnet-4-5"},
        "codex": {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{model.url}/v1", "agent_model": "gpt-test"},
        "gemini": {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": model.url, "agent_model": "gemini-2.5-flash"},
        "mini_swe": {
            "DSPY_API_KEY": KEY, "DSPY_API_BASE": f"{model.url}/v1", "DSPY_MODEL": "openai/gpt-test",
        },
    }  # fmt: skip
    given[name] |= {"index_url": index_url}
    return Settings(agents_dir=AGENTS_DIR, agent_timeout_s=240, data_dir=place, memory_mb=4096, **given[name])  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def agents() -> None:
    """The programs, as scripts/install-agents.sh puts them there."""
    if not (AGENTS_DIR / "installed").is_file():
        assert not os.environ.get("CI"), "scripts/install-agents.sh has not been run"
        pytest.skip("the coding agents are not installed (scripts/install-agents.sh)")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


def tree_of(engine: ContainerEngine, place: Path) -> ImageRef:
    """A tree of one file with an empty environment, in which nothing has run."""
    log = place / "build.log"
    base = engine.build(None, Tier("base", "fc-agents/base:1", (), {}), log=log)
    script = {"env.sh": b"set -eu\nmkdir -p $FC_ENV/bin\nln -s /usr/bin/python3 $FC_ENV/bin/python\n"}
    args = {"FC_PYTHON": engine.pythons()[-1]}
    env = engine.build(base, Tier("env", "fc-agents/env:1", ("env.sh",), {**script}, args), log=log)
    return engine.build(env, Tier("pr", "fc-agents/tree:1", (), {"repo.tar": source_tar(place)}), log=log)


@pytest.fixture(scope="module")
def engine(place: Path) -> ContainerEngine:
    return ENGINES["bubblewrap"](place)


@pytest.fixture(scope="module")
def image(engine: ContainerEngine, place: Path) -> ImageRef:
    return tree_of(engine, place)


def brief(image: ImageRef, place: Path) -> Brief:
    context = DockerContext({**DockerContext.default(lock="").texts})
    args = {"FC_INSTALL_DIR": ".", "FC_IMPORT_NAMES": "calc"}
    plan = ImagePlan("acme", "calc", "1", "3.11", (), context, place / "repo.tar", args)
    return Brief("acme/calc", plan, image, "Sums are slow.", ["fatal error: foo.h: No such file"], place)


def turn(
    name: str, engine: ContainerEngine, image: ImageRef, place: Path, *steps: Step, index_url: str = ""
) -> tuple[Written, Model]:
    """One turn of an agent whose model has these steps done."""
    with playing(*steps) as model:
        writer = open_writer(name, settings_for(name, model, place, index_url), engine)
        assert writer is not None
        return writer.write(brief(image, place)), model


@pytest.mark.parametrize("name", CLIS)
def test_an_agent_writes_a_script_by_its_own_tools(
    name: str, engine: ContainerEngine, image: ImageRef, place: Path
) -> None:
    """The real program asks its model, by its key, reads and writes in the sandbox, and both scripts come back."""
    script = f"{PLACE}/{PKG}"
    written, model = turn(name, engine, image, place, Read(script), Write(script, FIXED))
    assert written.scripts[PKG] == FIXED, written.log
    assert written.scripts[RUN] == brief(image, place).plan.context.texts[RUN]
    assert {asked.key for asked in model.asked if asked.path.count("/") > 1} == {KEY}
    said = str(model.asked[-1].body)
    assert "Sums are slow." in said and "They are data" in said and "uv pip install" in said
    assert (written.cost_usd is not None) == SPENT.get(name, False) and KEY not in written.log


@pytest.mark.parametrize("name", ["claude", "mini_swe"])
def test_only_the_two_scripts_come_out(name: str, engine: ContainerEngine, image: ImageRef, place: Path) -> None:
    """Results, tests and other files that an agent writes are dropped with its sandbox, as are links and long files."""
    forged = (
        f"echo '{{\"ok\": true}}' >{PLACE}/verification_success.json; echo evil >/workspace/repo/tracked.txt;"
        f" mkdir -p /workspace/repo/tests /logs; echo 'assert True' >/workspace/repo/tests/test_x.py;"
        f" echo x >{PLACE}/lock.txt; echo x >{PLACE}/Dockerfile; ln -sf /etc/passwd {PLACE}/{RUN};"
        f" head -c 70000 /dev/zero | tr '\\0' x >{PLACE}/{PKG}; echo verification passed"
    )
    written, model = turn(name, engine, image, place, Run(forged))
    assert written.scripts == {}
    assert any("verification passed" in str(asked.body) for asked in model.asked)
    with engine.start(image) as fresh:
        assert fresh.read_file("/workspace/repo/tracked.txt") == b"tracked\n"
        assert not fresh.exec(["test", "-e", "/workspace/repo/tests"], timeout=20).ok


COMMIT = "git init -q && git add -A && git -c user.name=a -c user.email=a@b.org commit -qm base"
LOOK_AROUND = """exec 2>&1; env | sort >/tmp/seen
python3 - <<'FC_PY' >>/tmp/seen
import os, socket, urllib.request
def tried(what, call):
    try: call(); print(what, "REACHED")
    except Exception as error: print(what, "no:", str(error)[:80])
port = %d
tried("direct", lambda: socket.create_connection(("127.0.0.1", port), 5))
tried("outside", lambda: socket.create_connection(("1.1.1.1", 53), 5))
tried("proxied", lambda: urllib.request.urlopen("http://127.0.0.1:%d/", timeout=5))
tried("elsewhere", lambda: urllib.request.urlopen("http://example.org/", timeout=5))
FC_PY
ls -a ~ >>/tmp/seen; cat /tmp/seen
"""


VARIABLES = {
    "HOME", "LANG", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV", "PYTHONHASHSEED", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "FC_ENV", "FC_WORKDIR", "FC_INSTALL_DIR", "FC_IMPORT_NAMES",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE",
    "OPENAI_API_KEY", "LITELLM_LOCAL_MODEL_COST_MAP", "MSWEA_CONFIGURED", "MSWEA_COST_TRACKING",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "MSWEA_SILENT_STARTUP", "PAGER", "MANPAGER", "LESS", "PIP_PROGRESS_BAR",
    "TQDM_DISABLE", "PWD", "OLDPWD", "SHLVL", "_",
}  # fmt: skip
"""All that may be in the environment of a command of mini-swe-agent: the sandbox's, ours, and the program's own."""


def test_the_sandbox_has_one_way_out_and_no_secret(
    engine: ContainerEngine, image: ImageRef, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the machine's loopback nor the network can be reached, and of our environment nothing is there."""
    monkeypatch.setenv("GH_TOKENS", "ghp_" + "x9" * 18)
    monkeypatch.setenv("OTHER_SECRET", "hunter2hunter2")
    with playing() as stranger:
        port = int(stranger.url.rpartition(":")[2])
        _, model = turn("mini_swe", engine, image, place, Run(LOOK_AROUND % (port, port)))
        assert not stranger.asked
    seen = shown(model)
    there = dict(line.split("=", 1) for line in seen.partition("direct ")[0].splitlines())
    assert there.keys() <= VARIABLES and there["HOME"] == "/home/agent"
    assert there["OPENAI_API_KEY"] == NO_KEY
    assert "direct no:" in seen and "outside no:" in seen and "REACHED" not in seen
    assert "proxied no:" in seen and "elsewhere no: HTTP Error 403" in seen and KEY not in seen
    assert "hunter2" not in seen and "ghp_" not in seen


FETCH = """exec 2>&1; cat failures/01.log; unset NO_PROXY no_proxy
for url in %s %s; do
  python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=5).read())' "$url" | tail -n 1
done
"""


def test_an_agent_reads_what_failed_and_reaches_the_index_alone(
    engine: ContainerEngine, image: ImageRef, place: Path
) -> None:
    """The text of an earlier failure is a file of its sandbox; the proxy leads to the index, and to nobody else."""
    with playing() as stranger, serving([Release("thing", "1.0", "2024-01-01")]) as index:
        fetch = Run(FETCH % (f"{index.url}/thing/", f"{stranger.url}/thing/"))
        _, model = turn("mini_swe", engine, image, place, fetch, index_url=index.url)
        assert index.requests == ["/simple/thing/"] and not stranger.asked
    asked = [str(each.body) for each in model.asked if each.path.endswith("completions")]
    assert "fatal error: foo.h: No such file" in shown(model) and "foo.h" not in asked[0]
    assert "thing-1.0-py3-none-any.whl" in shown(model) and "HTTP Error 403" in shown(model)


def shown(model: Model) -> str:
    """What the commands of mini-swe-agent have printed, as its model was told last."""
    told = [message["content"] for message in model.asked[-1].body["messages"] if message["role"] == "tool"]
    return "".join(json.loads(text)["output"] for text in told)


def test_a_turn_ends_when_its_dollars_are_spent(
    engine: ContainerEngine, image: ImageRef, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FC_AGENT_BUDGET_USD and a table of prices: the question that spends them is the last one."""
    (place / "prices.json").write_text('{"gpt-test": {"input": 1000, "output": 1000}}')
    monkeypatch.setenv("FC_PRICES", str(place / "prices.json"))
    script = f"{PLACE}/{PKG}"
    steps = (Write(script, FIXED), Write(script, "echo later\n"))
    monkeypatch.setenv("FC_AGENT_BUDGET_USD", "0.001")
    written, model = turn("mini_swe", engine, image, place, *steps)
    assert len(model.asked) == 1 and not written.broke
    assert written.cost_usd is not None and written.cost_usd > 0.001
    monkeypatch.setenv("FC_AGENT_BUDGET_USD", "100")
    written, model = turn("mini_swe", engine, image, place, *steps)
    assert written.scripts[PKG] == "echo later\n" and len(model.asked) > 2


def test_a_model_that_is_gone_is_an_outage(engine: ContainerEngine, image: ImageRef, place: Path) -> None:
    """It says nothing about the tree; the agent itself only knows that it got no answer."""
    with playing() as model:
        settings = settings_for("mini_swe", model, place)
    writer = open_writer("mini_swe", settings, engine)
    assert writer is not None
    with pytest.raises(ModelUnavailable, match=r"model of mini_swe at 127\.0\.0\.1:\d+ cannot be reached"):
        writer.write(brief(image, place))


def test_a_model_that_refuses_is_no_attempt_either(engine: ContainerEngine, image: ImageRef, place: Path) -> None:
    """The agent has written nothing: a model that never answered is out of order, whatever it gives as a reason."""
    with playing(status=404) as model:
        writer = open_writer("claude", settings_for("claude", model, place), engine)
        assert writer is not None
        with pytest.raises(ModelUnavailable, match=r"of \d+ requests to the model failed.*HTTP status 404"):
            writer.write(brief(image, place))


class Deaf:
    """An engine that shows its sandboxes no sockets, like one on another machine."""

    name = "far"

    def __init__(self, engine: ContainerEngine) -> None:
        self._engine = engine

    def start(self, image: ImageRef, **given: object) -> Container:
        mounts = [mount for mount in given.pop("mounts") if "/fc/model" not in mount.target]  # type: ignore[attr-defined]
        start: Callable[..., Container] = self._engine.start
        return start(image, mounts=mounts, **given)


def test_an_engine_that_cannot_give_a_way_out_says_so(engine: ContainerEngine, image: ImageRef, place: Path) -> None:
    """An outage with what to do about it, before the agent has started."""
    with playing() as model:
        writer = open_writer("mini_swe", settings_for("mini_swe", model, place), Deaf(engine))  # type: ignore[arg-type]
        assert writer is not None
        with pytest.raises(EngineUnavailable, match=r"cannot show a socket .* --agent none"):
            writer.write(brief(image, place))
        assert not model.asked


@pytest.mark.docker
def test_docker_gives_the_same_way_out(place: Path) -> None:
    """A container without network, and the same socket: codex, which needs no C library, works there in both roles."""
    here = place / "docker"
    here.mkdir()
    docker = ENGINES["docker"](here)
    tree = tree_of(docker, here)
    script = f"{PLACE}/{PKG}"
    written, model = turn("codex", docker, tree, here, Write(script, FIXED))
    assert written.scripts[PKG] == FIXED and model.asked, written.log
    with playing(Write("/workspace/repo/tracked.txt", "faster\n")) as model:
        settings = settings_for("codex", model, here)
        agent = load_agent(AGENTS["codex"], AgentOptions("codex", "gpt-test", settings=settings))
        with (
            equipped(agent) as (worker, mounts),
            docker.start(tree, mounts=mounts, writable_env=True) as box,
        ):
            assert box.exec(["sh", "-c", COMMIT], timeout=60).ok
            result = worker.solve(tree_task(tree), box, timeout_s=240)
    assert "+faster" in result.patch and result.failure is None, result.log
    assert [step.kind for step in result.steps] == ["tool_call", "tool_result", "message"]
    assert (result.usage.input_tokens, result.usage.cost_usd) == (22, None)
