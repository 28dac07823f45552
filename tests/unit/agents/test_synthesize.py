"""The search for build scripts: its order, what it writes down, and what stops it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasmith.agents.attempts import (
    Attempt,
    Commit,
    RecipeRow,
    fixed_by_recipe,
    save_context,
    similar_contexts,
    unsolved,
)
from datasmith.agents.recipes import OWN_GROUND, with_scripts
from datasmith.agents.synthesize import MOST_RECIPES, Synthesizer
from datasmith.docker.context import LOCK, DockerContext
from datasmith.docker.images import ImagePlan
from datasmith.errors import DiskFull, EngineUnavailable, ModelUnavailable
from datasmith.storage.base import Row
from tests.unit.agents.synthesizing import (
    COMMIT,
    ENV,
    IMAGE,
    NO_HEADER,
    NOW,
    PKG,
    RUN,
    STRANGE,
    Bench,
    StubEngine,
    Verdict,
    Writer,
)

Ends = Callable[[ImagePlan], str | DiskFull | None]
DAY = datetime(2024, 2, 3, tzinfo=UTC)
NO_PKG_RESOURCES = "ModuleNotFoundError: No module named 'pkg_resources'"


def builds_with(text: str) -> Ends:
    """Images that are built where the package's script holds a text."""
    return lambda plan: None if text in plan.context.texts[PKG] else STRANGE


def keep(bench: Bench, sha: str, script: str, *, number: int, days: float) -> None:
    """A context of another commit that worked; its pull request was opened so many days from ours."""
    commit = Commit("acme", "calc", number, sha * 40)
    plan = bench.wanted({PKG: script}, commit).plan
    row: Row = {"owner": "acme", "repo": "calc", "issue_number": number, "created_at": NOW + timedelta(days=days)}
    bench.store.upsert("pull_requests", [row])
    done = Attempt(plan, "recipe", True, "smoke", 0, "", "", 1.0, image=IMAGE)
    save_context(bench.store, commit, done, asked=plan, now=NOW)


def opened(bench: Bench) -> None:
    """Our own pull request."""
    row: Row = {"owner": "acme", "repo": "calc", "issue_number": 12, "created_at": NOW}
    bench.store.upsert("pull_requests", [row])


def test_what_worked_before_is_taken_and_verified_again(tmp_path: Path) -> None:
    """The second search goes through one state and builds one image, and its attempt is written down too."""
    bench = Bench(tmp_path, lambda plan: None)
    assert bench.synthesizer.synthesize(bench.wanted()).states == ("check_cache", "recipe", "save")
    again = bench.synthesizer.synthesize(bench.wanted())
    assert again.states == ("check_cache",) and again.found is not None and again.found.tier == "cache"
    assert [row["tier"] for row in bench.rows()] == ["recipe", "cache"]
    assert bench.traces[-1] == "Checking cache for acme/calc@aaaaaaaaaaaa... [HIT]"


def test_a_cached_context_that_no_longer_works_is_not_believed(tmp_path: Path) -> None:
    """It is built like anything else; when that fails the search goes on."""
    ends = iter([NO_HEADER, None, STRANGE, None])
    bench = Bench(tmp_path, lambda plan: next(ends))
    bench.synthesizer.synthesize(bench.wanted())
    again = bench.synthesizer.synthesize(bench.wanted())
    assert again.states == ("check_cache", "recipe", "save")
    assert [(row["tier"], row["ok"]) for row in bench.rows()][2:] == [("cache", False), ("recipe", True)]


@pytest.mark.parametrize(("name", "planted"), [(PKG, True), (RUN, True), ("lock.txt", False)])
def test_a_cached_script_of_others_is_looked_after(tmp_path: Path, name: str, planted: bool) -> None:
    """What an agent wrote once may have planted something, in whichever tier it comes again; our own scripts do not."""
    bench = Bench(tmp_path, lambda plan: None, engine=StubEngine(built_tree=("conftest.py",)))
    asked = bench.wanted()
    kept = asked.plan if name == "lock.txt" else bench.wanted({name: "echo more"}).plan
    done = Attempt(kept, "agent", True, "smoke", 0, "", "", 1.0, image=IMAGE)
    save_context(bench.store, COMMIT, done, asked=asked.plan, now=NOW)
    bench.synthesizer.synthesize(asked)
    first = bench.rows()[0]
    assert (first["tier"], first["ok"], first["stage"] == "planted") == ("cache", not planted, planted)


def test_a_full_disk_is_no_attempt(tmp_path: Path) -> None:
    """In the build, or in what the image is asked for: nothing is written down, and another day it is searched anew."""
    full = DiskFull(PKG, "No space left on device")
    ends = iter([full, None, None])
    bench = Bench(tmp_path, lambda plan: next(ends))
    said = Verdict(ok=False, said="OSError: [Errno 28] No space left on device")
    for asked in (bench.wanted(), replace(bench.wanted(), verifier=said)):
        with pytest.raises(DiskFull, match="says nothing about the commit"):
            bench.synthesizer.synthesize(asked)
    assert bench.rows() == []
    assert bench.synthesizer.synthesize(bench.wanted()).found is not None
    assert [row["ok"] for row in bench.rows()] == [True]


def test_other_pins_are_another_environment(tmp_path: Path) -> None:
    """A context counts for the lock that was asked for, and not when --force looks away."""
    bench = Bench(tmp_path, lambda plan: None)
    bench.synthesizer.synthesize(bench.wanted())
    other = bench.synthesizer.synthesize(bench.wanted({LOCK: "numpy==2.0\n"}))
    forced = bench.synthesizer.synthesize(replace(bench.wanted({LOCK: "numpy==2.0\n"}), reuse=False))
    assert other.states == forced.states == ("check_cache", "recipe", "save")


@pytest.mark.parametrize("word", ["-oDPkg::Pre-Invoke::=touch", "git-"])
def test_what_is_no_package_is_not_asked_for(tmp_path: Path, word: str) -> None:
    """Neither where a script asks, nor where a stored context does: that one is not taken at all."""
    bench = Bench(tmp_path, lambda plan: None)
    plan = with_scripts(bench.wanted().plan, {PKG: f"# fc-apt: cmake {word}\n"}, (word, "m4"))
    assert plan.apt_packages == ("m4", "cmake")
    row_plan = replace(plan, apt_packages=(word,))
    done = Attempt(row_plan, "recipe", True, "smoke", 0, "", "", 1.0, image=IMAGE)
    save_context(bench.store, COMMIT, done, asked=bench.wanted().plan, now=NOW)
    found = bench.synthesizer.synthesize(bench.wanted())
    assert found.states[0] == "check_cache" and "[MISS]" in bench.traces[0]
    assert [built.apt_packages for built in bench.images.plans] == [()]


def test_the_log_decides_what_is_tried_next(tmp_path: Path) -> None:
    """Packages, then a pin: each recipe is a row with its name, on top of those before."""

    def end(plan: ImagePlan) -> str | None:
        if "libgeos-dev" not in plan.apt_packages:
            return NO_HEADER
        done = "setuptools==80" in plan.context.texts[LOCK]
        return None if done else NO_PKG_RESOURCES

    bench = Bench(tmp_path, end, relocked="setuptools==80\n")
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is not None and done.found.plan.apt_packages == ("libgeos-dev",)
    recipes = ["", "missing header: apt libgeos-dev", "pkg_resources gone: lock setuptools<81"]
    assert [row["recipe"] for row in bench.rows()] == recipes
    assert [row["reason"] for row in bench.rows()] == ["missing header geos_c.h", "pkg_resources gone", ""]
    assert fixed_by_recipe(bench.store.select("build_attempts")) == [RecipeRow(recipe, 1, 1) for recipe in recipes[1:]]
    assert bench.synthesizer.synthesize(bench.wanted()).states == ("check_cache",)


def test_a_recipe_that_changes_nothing_ends_the_recipes(tmp_path: Path) -> None:
    """The same failure again is not tried for ever; without an agent no model is asked and nothing is kept."""
    bench = Bench(tmp_path, lambda plan: NO_HEADER)
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is None and done.states == ("check_cache", "recipe", "similar", "fail")
    assert len(bench.images.plans) == 2 and not bench.store.select("candidate_containers")
    assert bench.traces == [
        "Checking cache for acme/calc@aaaaaaaaaaaa... [MISS]",
        "Recipe missing header: apt libgeos-dev... [FAIL]",
        "Deterministic build... [FAIL]",
        "Found 0 similar scripts from acme/calc",
    ]


def test_similar_scripts_are_tried_until_one_works(tmp_path: Path) -> None:
    """Of A, B and C, in the order of their dates, only A and B are tried where B passes; our own pins stay."""
    bench = Bench(tmp_path, builds_with("script B"))
    opened(bench)
    keep(bench, "d", "script C", number=4, days=9)
    keep(bench, "b", "script A", number=2, days=-1)
    keep(bench, "c", "script B", number=3, days=3)
    done = bench.synthesizer.synthesize(bench.wanted({LOCK: "mine==1\n"}))
    assert done.states == ("check_cache", "recipe", "similar", "save")
    assert [plan.context.texts[PKG] for plan in bench.images.plans[1:]] == ["script A", "script B"]
    assert bench.images.plans[-1].context.texts[LOCK] == "mine==1\n"
    assert bench.traces[2:] == [
        "Found 3 similar scripts from acme/calc",
        "Attempt 1/3 with similar script... [FAIL]",
        "Attempt 2/3 with similar script... [PASS]",
        "Saved context for acme/calc@aaaaaaaaaaaa",
    ]


def test_at_most_five_neighbours_the_nearest_first(tmp_path: Path) -> None:
    """By the distance of the days on which the pull requests were opened, before or after."""
    bench = Bench(tmp_path, lambda plan: STRANGE)
    opened(bench)
    for number, days in enumerate((40, -3, 20, 1, -10, 30, 5), 100):
        keep(bench, f"{number - 99:x}", f"days {days}", number=number, days=days)
    found = [context.texts[PKG] for context in similar_contexts(bench.store, COMMIT)]
    assert found == ["days 1", "days -3", "days 5", "days -10", "days 20"]


def test_an_agent_sees_what_failed_and_the_host_decides(tmp_path: Path) -> None:
    """It is asked until what it wrote builds here; each turn is a row with its model, its script and its price."""
    writer = Writer([{PKG: "no good"}, {PKG: "good\n# fc-apt: libfoo-dev --evil ; rm\n", RUN: "true", "other.sh": "x"}])
    bench = Bench(tmp_path, builds_with("good\n#"), writer)
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is not None and done.states == ("check_cache", "recipe", "similar", "agent", "save")
    assert "other.sh" not in done.found.plan.context.texts and done.found.plan.apt_packages == ("libfoo-dev", "rm")
    assert len(writer.briefs) == 2 and any(STRANGE in text for text in writer.briefs[0].failures)
    assert len(writer.briefs[1].failures) == len(writer.briefs[0].failures) + 1
    last = bench.rows()[-1]
    assert (last["tier"], last["model"], last["cost_usd"], last["ok"]) == ("agent", "some-model", 0.25, True)
    assert str(last["script"]).startswith("good") and last["attempt"] == 3
    assert bench.rows()[0]["model"] is None and bench.rows()[0]["cost_usd"] is None
    said = [(row["stdout"], STRANGE in str(row["stderr"])) for row in bench.rows()]
    assert said == [("", True), ("the agent's own words", True), ("", False)]
    assert "the agent's own words" in writer.briefs[1].failures[-1]
    shown = ["sandbox in /" if "Launching" in line else line for line in bench.traces[-5:]]
    assert shown == [
        "sandbox in /", "Sandbox synthesis failed [FAIL]", "sandbox in /", "Sandbox synthesis succeeded [PASS]",
        "Saved context for acme/calc@aaaaaaaaaaaa",
    ]  # fmt: skip
    assert all(line.startswith("Launching claude agent sandbox in /") for line in (bench.traces[-5], bench.traces[-3]))


def test_the_last_state_is_a_failure_after_all_turns(tmp_path: Path) -> None:
    """No context comes back, every turn is a row, and the next search gives the agent all of it again."""
    writer = Writer([{PKG: f"try {n}"} for n in range(6)])
    bench = Bench(tmp_path, lambda plan: STRANGE, writer)
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is None and done.states[-2:] == ("agent", "fail")
    assert [row["tier"] for row in bench.rows()] == ["recipe", "agent", "agent", "agent"]
    bench.synthesizer.synthesize(bench.wanted())
    assert len(writer.briefs[3].failures) == 5


def test_an_agent_that_breaks_down_has_tried(tmp_path: Path) -> None:
    """The turn is a row with its end, its price and its own words, and the next one follows; others learn nothing."""
    writer = Writer(["claude ended with exit code 3 and wrote nothing", {PKG: "good"}])
    bench = Bench(tmp_path, builds_with("good"), writer)
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is not None and len(bench.images.plans) == 2
    broken = bench.rows()[1]
    assert {name: broken[name] for name in ("tier", "stage", "ok", "model", "cost_usd", "stdout", "reason")} == {
        "tier": "agent", "stage": "agent", "ok": False, "model": "some-model", "cost_usd": 0.25,
        "stdout": "the agent's own words", "reason": writer.answers[0],
    }  # fmt: skip
    assert writer.briefs[1].failures == writer.briefs[0].failures


def test_an_agent_that_always_breaks_down_finds_nothing(tmp_path: Path) -> None:
    """After the last turn the answer is None, for what the builds said; each turn is a row."""
    bench = Bench(tmp_path, lambda plan: STRANGE, Writer(["it broke"] * 3))
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is None and done.states[-2:] == ("agent", "fail")
    assert [row["stage"] for row in bench.rows()] == [PKG, "agent", "agent", "agent"]
    assert done.failed is not None and done.failed.stage == PKG
    assert bench.traces.count("Sandbox synthesis failed [FAIL]") == 3


def test_recipes_are_not_used_up_where_the_last_one_worked(tmp_path: Path) -> None:
    """As many as are tried, each with another package: only where the last one fails is there no more to try."""
    headers = ["zlib.h", "gmp.h", "ffi.h", "bzlib.h", "geos_c.h", "gdal.h", "mpi.h", "netcdf.h", "proj.h"]
    for needed, told in ((MOST_RECIPES, False), (MOST_RECIPES + 1, True)):
        (tmp_path / str(needed)).mkdir()

        def end(plan: ImagePlan, needed: int = needed) -> str | None:
            had = len(plan.apt_packages)
            return None if had == needed else f"fatal error: {headers[had]}: No such file or directory"

        bench = Bench(tmp_path / str(needed), end)
        assert (bench.synthesizer.synthesize(bench.wanted()).found is None) is told
        assert ("Recipes are used up" in bench.traces) is told


def test_a_verifier_that_says_no_is_a_failure(tmp_path: Path) -> None:
    """An image that is built and does not pass is worth nothing; the row says where it ended."""
    bench = Bench(
        tmp_path, lambda plan: None, verdict=Verdict(False, "ImportError: libGL.so.1: cannot open shared object file")
    )
    done = bench.synthesizer.synthesize(bench.wanted())
    assert done.found is None and done.failed is not None and done.failed.image == IMAGE
    assert [row["stage"] for row in bench.rows()] == ["smoke", "smoke"]
    assert bench.rows()[1]["recipe"] == "missing shared library: apt libgl1"


def test_pins_that_cannot_be_installed_are_not_for_an_agent(tmp_path: Path) -> None:
    """No script of those that it may write is run before the locked packages are there."""
    writer = Writer([{PKG: "x"}])
    bench = Bench(tmp_path, lambda plan: "no such wheel", writer)
    bench.images.stage = lambda _: ENV
    assert bench.synthesizer.synthesize(bench.wanted()).states == ("check_cache", "recipe", "fail")
    assert not writer.briefs


def test_an_environment_of_others_that_fails_is_exchanged_for_ours(tmp_path: Path) -> None:
    """A context of the older kind is where a search starts, and not where it ends: their package's script is kept."""
    writer = Writer([{PKG: "good"}])
    bench = Bench(tmp_path, lambda plan: None if plan.context.texts[PKG] == "good" else STRANGE, writer)
    bench.images.stage = lambda plan: ENV if plan.context.texts[ENV] == "micromamba" else PKG
    theirs = {"Dockerfile": "FROM micromamba", ENV: "micromamba", PKG: "theirs"}
    found = bench.synthesizer.synthesize(bench.wanted(theirs))
    assert found.states == ("check_cache", "recipe", "similar", "agent", "save")
    assert [(row["stage"], row["recipe"]) for row in bench.rows()][:2] == [(ENV, ""), (PKG, OWN_GROUND)]
    ours = DockerContext.default(lock="").texts
    start = writer.briefs[0].plan.context.texts
    assert [start[name] for name in ("Dockerfile", ENV, PKG)] == [ours["Dockerfile"], ours[ENV], "theirs"]
    assert start[LOCK] == "numpy==1.0\n"


@pytest.mark.parametrize("outage", [ModelUnavailable("gone"), EngineUnavailable("no sandbox")])
def test_an_outage_of_the_agent_is_no_attempt(tmp_path: Path, outage: Exception) -> None:
    """It goes up, and nothing is written of it: the pull request has not failed."""
    bench = Bench(tmp_path, lambda plan: STRANGE, Writer([], fails=outage))
    with pytest.raises(type(outage)):
        bench.synthesizer.synthesize(bench.wanted())
    assert [row["tier"] for row in bench.rows()] == ["recipe"]


def test_an_engine_that_is_gone_is_no_attempt(tmp_path: Path) -> None:
    """Between the build and the verification, too."""
    bench = Bench(tmp_path, lambda plan: None, engine=StubEngine(EngineUnavailable("gone")))
    with pytest.raises(EngineUnavailable):
        bench.synthesizer.synthesize(bench.wanted())
    assert not bench.rows()


def test_secrets_do_not_get_into_the_rows(tmp_path: Path) -> None:
    """What a build printed is kept without what looks like a token."""
    token = "ghp_" + "a1B2" * 9
    bench = Bench(tmp_path, lambda plan: None, verdict=Verdict(False, f"cloning with {token}"))
    bench.synthesizer.synthesize(bench.wanted())
    assert "cloning with" in str(bench.rows()[0]["stderr"]) and token not in str(bench.rows())


def test_the_public_call_gives_a_context_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the project page calls it: with a payload of pins, and scripts of one's own over ours; it prints its trace."""
    bench = Bench(tmp_path, builds_with("mine"), relocked="numpy==1.26.0 --hash=sha256:0\n")
    bench.store.upsert("pull_requests", [{"owner": "acme", "repo": "calc", "issue_number": 12, "created_at": DAY}])
    asked = {
        "owner": "acme", "repo": "calc", "issue_number": 12, "pr_context": "This PR optimizes sums",
        "env_payload": '{"dependencies": ["numpy==1.26.0"]}', "python_version": "3.11", "sha": "a" * 40,
    }  # fmt: skip
    context = bench.synthesizer.run(**asked, verifier=Verdict(), base_context=DockerContext({PKG: "mine"}))  # type: ignore[arg-type]
    assert context is not None and context.texts[PKG] == "mine" and context.texts[LOCK].startswith("numpy==1.26.0")
    other = {**asked, "sha": "b" * 40}
    printing = Synthesizer(tools=bench.synthesizer.tools)
    assert printing.run(**other, verifier=Verdict(False)) is None  # type: ignore[arg-type]
    assert capsys.readouterr().out.startswith("Checking cache for acme/calc")


def test_without_a_date_no_recipe_changes_the_lock(tmp_path: Path) -> None:
    """Releases of today are none of that day: the lock stays, and the trace says why."""
    bench = Bench(tmp_path, lambda plan: NO_PKG_RESOURCES, relocked="setuptools==80\n")
    bench.synthesizer.synthesize(replace(bench.wanted(), cutoff=None))
    assert bench.cutoffs == [] and any("no date is known" in line for line in bench.traces)
    bench.synthesizer.synthesize(bench.wanted())
    assert set(bench.cutoffs) == {NOW}


def test_what_was_never_solved_is_counted_by_its_last_sign(tmp_path: Path) -> None:
    """A recipe that did not help is in the table too, and a commit that was built is not among the unsolved.

    What was built without the recipe at last, or by another tier on top of it, is not the recipe's work.
    """
    bench = Bench(tmp_path, lambda plan: NO_HEADER)
    for letter in "ab":
        bench.synthesizer.synthesize(bench.wanted(commit=replace(COMMIT, sha=letter * 40)))
    bench.images.end = lambda plan: None if plan.apt_packages else NO_HEADER
    bench.synthesizer.synthesize(bench.wanted(commit=replace(COMMIT, sha="b" * 40)))
    bench.images.end = lambda plan: STRANGE
    bench.synthesizer.synthesize(bench.wanted(commit=replace(COMMIT, sha="c" * 40)))
    rows = bench.store.select("build_attempts", order=("id",))
    assert fixed_by_recipe(rows) == [RecipeRow("missing header: apt libgeos-dev", 2, 1)]
    assert unsolved(rows) == [("missing header geos_c.h", 1), (f"unknown, stage {PKG}", 1)]
    again = [*rows, {**rows[0], "ok": True}]
    written = [*rows, {**rows[0], "ok": True, "tier": "agent", "recipe": "agent: claude"}]
    assert fixed_by_recipe(again) == fixed_by_recipe(written) == fixed_by_recipe(rows)
