"""The coding agents under test, for real: one run in which each works in a sandbox of its own on a model of ours."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from datasmith.agents.coding.cli_agents import CodexAgent
from datasmith.agents.coding.options import AgentOptions
from datasmith.cli.common import run_app
from datasmith.cli.eval import app
from datasmith.evaluation.outcome import AgentFacts
from datasmith.evaluation.records import TrialRecord
from datasmith.evaluation.run_folder import RunFolder, TrialKey
from datasmith.settings import known_variables, load_settings
from datasmith.workloads import launch
from tests.integration.eval_task import BENCH, HALF, WRONG, calc_image, calc_task
from tests.integration.test_coding_agents import AGENTS_DIR, LOOK_AROUND, agents
from tests.loopback.model_server import Model, Read, Run, Write, playing
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]
__all__ = ["agents"]

KEY = "key-0123456789abcdef"
CALC, SUITE = "/workspace/repo/calc.py", "/workspace/repo/benchmarks/bench.py"
DEAD = "http://127.0.0.1:9"
LEFT = "touch /opt/env/left-behind /workspace/left-behind; echo x >/workspace/repo/.git/left-behind"
LOOK = LOOK_AROUND + "ls -a /opt/env /workspace /workspace/repo/.git | grep -c left-behind | sed 's/^/left: /'\n"
PRICES = {"gpt-dear": {"input": 1000, "output": 0}, "gpt-4o": {"input": 0, "output": 0}}
"""11 tokens in cost 0.011 dollars; and nothing for us, where mini-swe-agent's own table says 0.0001."""
GRADED = {"measured", "invalid_measurement"}
UNDECIDED = "the arm's clock cannot be checked for its own noise"
"""What becomes of a patch that passes its tests: on a machine that others load, nothing may be known of its speed.
Where it is not in a second session either, the outcome is another one, for this reason alone.

Only one agent's does: all others fail the task's tests, so that nothing of theirs is timed, which takes long."""
LABELS = ("claude-claude-sonnet-4-5", "codex-gpt-good", "gemini-gemini-2.5-flash", "mini-swe-openai-gpt-good")


class LonelyCodex(CodexAgent):
    """Codex whose model nobody serves; a class of a user's own."""

    def __init__(self, options: AgentOptions) -> None:
        settings = options.settings or load_settings()
        there = settings.model_copy(update={"openai_base_url": DEAD})
        super().__init__(AgentOptions(options.name, options.model, settings=there))


def codex(model: str, **kwargs: object) -> dict[str, object]:
    return {"agent": "codex", "model": model, "agent_kwargs": kwargs}


ENTRIES: list[dict[str, object]] = [
    {"agent": "claude", "model": "claude-sonnet-4-5"},
    {"agent": "codex", "model": "gpt-good", "model_kwargs": {"reasoning": {"effort": "high"}}},
    {"agent": "gemini", "model": "gemini-2.5-flash"},
    {"agent": "mini_swe", "model": "openai/gpt-good"},
    {"agent": "mini_swe", "model": "openai/gpt-4o", "agent_kwargs": {"max_cost_usd": 0.00015}},
    codex("gpt-endless", max_steps=3),
    codex("gpt-dear", max_cost_usd=0.015),
    codex("gpt-cheat"),
    codex("gpt-curious"),
    codex("gpt-broken"),
    {"agent_import_path": f"{__name__}:LonelyCodex", "model": "gpt-good"},
]


@dataclass(frozen=True)
class Ran:
    """A run that is over: its folder, and the model that was asked."""

    folder: RunFolder
    model: Model

    def trial(self, agent: str) -> tuple[TrialRecord, AgentFacts, str]:
        """A trial's record, its trajectory and its patch."""
        key = TrialKey("acme_calc_1", agent, 1)
        record, facts = self.folder.read_trial(key), self.folder.read_facts(key)
        assert record and facts
        return record, facts, self.folder.read_patch(key)

    def asked(self, model: str) -> list[dict[str, object]]:
        """What a model was asked, in order."""
        return [asked.body for asked in self.model.asked if asked.body.get("model") == model]


@pytest.fixture(scope="module")
def ran(agents: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    root = tmp_path_factory.mktemp("cli-agents")
    engine = embedded_engine(root / "cache")
    image = calc_image(engine, root)
    calc_task(image, root / "tasks", root / "repo.tar.gz")
    (root / "agents.json").write_text(json.dumps(ENTRIES))
    (root / "prices.json").write_text(json.dumps(PRICES))
    wrong = Model(steps=[Read(CALC), Write(CALC, WRONG)])
    others = {
        **dict.fromkeys(("gpt-good", "gemini-2.5-flash"), wrong),
        "gpt-endless": Model(steps=[Run(LEFT), Write(CALC, WRONG), *[Run("echo on and on")] * 50]),
        "gpt-dear": Model(steps=[Write(CALC, WRONG), *[Run("echo on and on")] * 50]),
        "gpt-4o": Model(steps=[Write(CALC, WRONG), *[Run("echo on and on")] * 50]),
        "gpt-cheat": Model(steps=[Write(SUITE, BENCH.replace("2000", "2"))]),
        "gpt-broken": Model(status=500),
    }
    with playing(Read(CALC), Write(CALC, HALF), others=others) as model, pytest.MonkeyPatch.context() as patch:
        port = int(model.url.rpartition(":")[2])
        others["gpt-curious"] = Model(steps=[Run(LOOK % (port, port))])
        surroundings(patch, root, model.url)
        words = ["--dataset", str(root / "tasks"), "--config", str(root / "agents.json"), "--max-rounds", "6"]
        code = run_app(app, ["run", *words, "--runs-dir", str(root / "runs"), "--run-id", "r", "--timeout", "400"])
        assert code == 0
        yield Ran(RunFolder(root / "runs" / "r"), model)


def surroundings(patch: pytest.MonkeyPatch, root: Path, url: str) -> None:
    """An environment that holds the models' keys, and a secret that is none of the agents' business."""
    for name in known_variables():
        patch.delenv(name, raising=False)
    given = {
        "FC_AGENTS_DIR": str(AGENTS_DIR), "FC_CACHE_DIR": str(root / "cache"), "FC_ENGINE": "bubblewrap",
        "FC_PRICES": str(root / "prices.json"), "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url,
        "DSPY_API_KEY": KEY, "DSPY_API_BASE": f"{url}/v1", "OTHER_SECRET": "hunter2hunter2",
    }  # fmt: skip
    for name, value in given.items():
        patch.setenv(name, value)
    # The host guard throws away launches on a core that others use too: tests run beside each other, on any machine.
    patch.setattr(launch, "disturbance", lambda *_: None)


@pytest.mark.parametrize("label", LABELS)
def test_an_edit_arrives_as_a_patch_with_its_tokens(ran: Ran, label: str) -> None:
    """The tree that the model's tools left is graded; what was said on the way lies in the trajectory, counted."""
    record, facts, patch = ran.trial(label)
    first = label == LABELS[0]
    undecided = {"tampered_or_unreliable"} if UNDECIDED in (record.reason or "") else set[str]()
    assert record.outcome in (GRADED | undecided if first else {"failed_tests"}), record.reason
    assert (facts.failure, facts.timed_out, facts.stopped_by, facts.outage) == (None, False, None, None)
    assert f"+    return {'sum(range(n))' if first else '0'}" in patch and patch.count("diff --git") == 1
    kinds = [step.kind for step in facts.steps]
    assert kinds.index("tool_call") < kinds.index("tool_result") and [step.index for step in facts.steps] == [
        *range(len(kinds))
    ]
    paid = [step for step in facts.steps if step.input_tokens is not None]
    assert [step.request for step in paid] == [*range(1, facts.steps[-1].request + 1)] and len(paid) >= 3
    assert {(step.input_tokens, step.output_tokens) for step in paid} == {(11, 7)}
    assert (facts.input_tokens, facts.output_tokens) == (11 * len(paid), 7 * len(paid))
    assert (facts.cost_usd is not None) == label.startswith("claude")
    assert any(step.kind == "tool_result" and "def total" in step.text for step in facts.steps)


def test_every_model_was_asked_by_the_hosts_key(ran: Ran) -> None:
    """No program knows it: they send another. The instruction arrived, and model_kwargs lie in every question."""
    assert {asked.key for asked in ran.model.asked} == {KEY}
    for name in ("claude-sonnet-4-5", "gpt-good"):
        assert all("total(n) is slow" in str(body) for body in ran.asked(name) if body.get("tools"))
    assert all(body["reasoning"]["effort"] == "high" for body in ran.asked("gpt-good") if "input" in body)  # type: ignore[index]


def test_no_file_of_the_run_holds_a_secret(ran: Ran) -> None:
    """Neither the key nor anything else of our environment, in logs, trajectories and patches."""
    files = [path for path in ran.folder.root.rglob("*") if path.is_file()]
    assert len(files) > 4 * len(ENTRIES)
    assert not [path for path in files if KEY.encode() in path.read_bytes() or b"hunter2" in path.read_bytes()]


def test_a_budget_ends_the_work_which_counts(ran: Ran) -> None:
    """After so many steps, or dollars, the agent is stopped; its edit is graded, and the reason names the budget."""
    record, facts, patch = ran.trial("codex-gpt-endless")
    assert record.outcome == "failed_tests" and (record.reason or "").startswith("stopped by max_steps=3; 1 of 1")
    assert facts.steps[-1].request == 3
    assert "+    return 0" in patch and len(ran.asked("gpt-endless")) == 3
    record, facts, patch = ran.trial("codex-gpt-dear")
    assert record.outcome == "failed_tests" and (record.reason or "").startswith("stopped by max_cost_usd=0.015; ")
    assert "+    return 0" in patch and facts.cost_usd == record.cost_usd == pytest.approx(2 * 0.011)
    assert [step.cost_usd for step in facts.steps if step.cost_usd] == pytest.approx([0.011, 0.011])


def test_a_budget_that_an_agent_keeps_by_itself_is_named(ran: Ran) -> None:
    """As mini-swe-agent's own record says, which is read out of its sandbox and is no part of the patch."""
    record, facts, patch = ran.trial("mini-swe-openai-gpt-4o")
    assert (record.reason or "").startswith("stopped by max_cost_usd=0.00015; 1 of 1") and facts.cost_usd == 0
    assert len(ran.asked("gpt-4o")) == 2 and patch.count("diff --git") == 1


def test_benchmarks_are_not_an_agents_to_change(ran: Ran) -> None:
    """The patch holds the edit, and the policy refuses it."""
    record, _, patch = ran.trial("codex-gpt-cheat")
    assert record.outcome == "refused_patch" and "benchmarks/bench.py" in patch


def test_whoever_looks_around_finds_nothing(ran: Ran) -> None:
    """No host but the model's gateway, no secret, and nothing that an agent before it has left."""
    record, facts, _ = ran.trial("codex-gpt-curious")
    seen = "".join(step.text for step in facts.steps if step.kind == "tool_result")
    assert record.outcome == "no_patch" and "REACHED" not in seen
    assert "direct no:" in seen and "outside no:" in seen and "elsewhere no:" in seen and "left: 0" in seen
    assert "OPENAI_API_KEY=the-host-holds-the-key" in seen


def test_an_outage_is_no_answer(ran: Ran) -> None:
    """A model that is broken, and one that nobody serves: both say nothing about the agent, and were tried twice."""
    record, facts, _ = ran.trial("codex-gpt-broken")
    assert record.outcome == "infra_error" and "HTTP status 500" in (facts.outage or "") and facts.failure
    record, facts, _ = ran.trial("LonelyCodex-gpt-good")
    assert record.outcome == "infra_error" and "127.0.0.1:9 cannot be reached" in (record.reason or "")
    assert not facts.steps and facts.cost_usd is None


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (codex("none"), "codex asks a model"),
        (
            codex("gpt-x", max_step=3),
            "agent_kwargs of 'codex': unknown key 'max_step'; did you mean 'max_steps'.*example:",
        ),
        (codex("gpt-x", max_cost_usd=1), "agent_kwargs of .codex.: max_cost_usd cannot be kept.*FC_PRICES="),
        (
            {"agent": "gemini", "model": "g"},
            "gemini: its model's key GEMINI_API_KEY is not set .*example: GEMINI_API_KEY=",
        ),
        ({"agent": "codex", "model": "x", "model_kwargs": {"tools": []}}, "model_kwargs: tools is said by the agent"),
    ],
)
def test_what_cannot_work_is_said_before_anything_runs(
    entry: dict[str, object],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    agents: None,
) -> None:
    """One line with the entry's place; no run folder is begun."""
    surroundings(monkeypatch, tmp_path, DEAD)
    monkeypatch.delenv("FC_PRICES")
    monkeypatch.delenv("GEMINI_API_KEY")
    (tmp_path / "agents.json").write_text(json.dumps([{"agent": "nop", "model": "none"}, entry]))
    runs = tmp_path / "runs"
    code = run_app(app, ["run", "-d", str(tmp_path), "-c", str(tmp_path / "agents.json"), "--runs-dir", str(runs)])
    err = capsys.readouterr().err
    assert code == 2 and not runs.exists() and "\n" not in err.strip()
    assert re.search(f"entry 2 of 2: {said}", err), err
