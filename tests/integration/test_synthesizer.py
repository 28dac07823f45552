"""The search for build scripts on a real tree, with a real agent on a scripted model: the host believes nobody."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.agents import Synthesizer
from datasmith.agents.coding.sandboxed import PLACE
from datasmith.agents.synthesis_tools import SynthesisTools
from datasmith.docker import MultiObjVerifier, SmokeVerifier
from datasmith.docker.context import DockerContext
from datasmith.github.git import Git
from datasmith.settings import Settings
from datasmith.storage.sql import SqlStore
from tests.clones import Clone
from tests.conformance.engines import bubblewrap
from tests.integration.test_coding_agents import AGENTS_DIR, KEY, PKG
from tests.loopback.model_server import Read, Run, Step, Write, playing

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

SCRIPT = f"{PLACE}/{PKG}"
COPIES = """#!/usr/bin/env bash
set -euo pipefail
cd "$FC_WORKDIR"
cp -r calc "$FC_ENV"/lib/python3*/site-packages/
"""
FORGES = """#!/usr/bin/env bash
echo '{"ok": true}' >"$FC_WORKDIR/verification_success.json"
echo "verification passed: 1 benchmark, 12 tests"
"""
PLANTS = """#!/usr/bin/env bash
set -euo pipefail
site=$(echo "$FC_ENV"/lib/python3*/site-packages)
printf 'import sys, types\\nsys.modules["calc"] = types.ModuleType("calc")\\n' >"$site/sitecustomize.py"
"""
PLUGS_IN = f"""{COPIES}
site=$(echo "$FC_ENV"/lib/python3*/site-packages)
mkdir "$site/calc-1.dist-info"
printf '[pytest11]\\ncalc = calc_build\\n' >"$site/calc-1.dist-info/entry_points.txt"
printf 'def pytest_runtest_call(item): item.obj = lambda: None\\n' >"$site/calc_build.py"
"""
ADDS_A_BENCHMARK = f"""{COPIES}
echo 'def time_nothing(): pass' >benchmarks/aaa.py
"""
FILES = {
    "calc/__init__.py": "def add(a, b):\n    return a + b\n",
    "asv.conf.json": "{}",
    "benchmarks/bench.py": "import gone\n",
}


class Bench:
    """A commit whose package does not build by itself, and what is needed to search for scripts that build it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        clone = Clone(place / "calc", FILES)
        self.sha = clone.git("rev-parse", "HEAD")
        self.source = place / "repo.tar.gz"
        Git(clone.path).sealed_source(self.sha, self.source, commit_date=datetime(2026, 1, 1, tzinfo=UTC))
        self.engine = bubblewrap(place)
        self.store = SqlStore.at(place / "fc.sqlite")
        self.store.migrate()
        self.traces: list[str] = []

    def search(self, *steps: Step, sha: str = "") -> DockerContext | None:
        """One search, with one turn of claude, whose model has these steps done."""
        with playing(*steps) as model:
            settings = Settings(
                agents_dir=AGENTS_DIR, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=model.url, agent_timeout_s=240,
                agent_model="claude-sonnet-4-5", data_dir=self.place,
            )  # fmt: skip
            tools = SynthesisTools.of(settings, self.engine, self.store, "claude")
            tools = replace(tools, relock=lambda lock, *_: lock)
            synthesizer = Synthesizer(1, tools=tools, trace=self.traces.append)
            return synthesizer.run(
                owner="acme",
                repo="calc",
                issue_number=7,
                pr_context="It adds faster now.",
                verifier=MultiObjVerifier([SmokeVerifier("calc")]),
                sha=sha or self.sha,
                base_context=DockerContext({"lock.txt": ""}),
                source=self.source,
            )

    def ends(self) -> list[tuple[object, ...]]:
        """Tier, outcome and stage of every attempt, in order."""
        rows = self.store.select("build_attempts", order=("id",))
        return [(row["tier"], row["ok"], row["stage"]) for row in rows]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    if not (AGENTS_DIR / "installed").is_file():
        assert not os.environ.get("CI"), "scripts/install-agents.sh has not been run"
        pytest.skip("the coding agents are not installed (scripts/install-agents.sh)")
    yield Bench(tmp_path)


def test_what_an_agent_writes_is_kept_once_it_works(bench: Bench) -> None:
    """Built and verified here; the next search finds it in the store, and another commit takes it from there."""
    context = bench.search(Read(SCRIPT), Write(SCRIPT, COPIES))
    assert context is not None and context.texts[PKG] == COPIES, bench.store.select("build_attempts")
    assert bench.ends() == [("recipe", False, PKG), ("agent", True, "smoke")]
    row = bench.store.select("build_attempts", order=("id",))[1]
    assert (row["model"], row["script"]) == ("claude-sonnet-4-5", f"{COPIES}\n{context.texts['docker_build_run.sh']}")
    assert isinstance(row["cost_usd"], float) and row["cost_usd"] > 0
    shown = [line.rpartition("/synthesis-")[0] or line for line in bench.traces]
    assert shown[0].startswith("Checking cache for acme/calc@") and shown[0].endswith("... [MISS]")
    assert shown[1:4] == [
        "Deterministic build... [FAIL]",
        "Found 0 similar scripts from acme/calc",
        f"Launching claude agent sandbox in {Path(os.environ.get('TMPDIR', '/tmp'))}",
    ]
    assert shown[4:] == ["Sandbox synthesis succeeded [PASS]", f"Saved context for acme/calc@{bench.sha[:12]}"]
    assert bench.search() == context and bench.ends()[2:] == [("cache", True, "smoke")]
    assert bench.search(sha="b" * 40) is not None
    assert bench.ends()[3:] == [("recipe", False, PKG), ("similar", True, "smoke")]


@pytest.mark.parametrize(
    ("steps", "stage"),
    [
        ([Run(f"echo '{{}}' >{PLACE}/verification_success.json; echo 'x = 1' >/workspace/repo/calc/__init__.py")], PKG),
        ([Read(SCRIPT), Write(SCRIPT, FORGES)], "smoke"),
        ([Read(SCRIPT), Write(SCRIPT, PLANTS)], "planted"),
        ([Read(SCRIPT), Write(SCRIPT, PLUGS_IN)], "planted"),
        ([Read(SCRIPT), Write(SCRIPT, ADDS_A_BENCHMARK)], "planted"),
    ],
    ids=["forges results", "prints success", "plants a module", "plants a plug-in of pytest", "adds a benchmark"],
)
def test_an_agent_that_forges_results_is_rejected(bench: Bench, steps: list[Step], stage: str) -> None:
    """Whatever it writes, prints or plants: there is no context, nothing is kept, and the attempt is a failure."""
    assert bench.search(*steps) is None
    assert bench.ends()[-1] == ("agent", False, stage)
    assert not bench.store.select("candidate_containers")
    assert bench.traces[-1] == "Sandbox synthesis failed [FAIL]"
