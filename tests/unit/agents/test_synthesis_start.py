"""Where a search goes on from when our own recipes have failed, what an agent is shown of it, and which end is told."""

from datetime import timedelta
from pathlib import Path

import pytest

from datasmith.agents.attempts import LACKING, fixed_by_recipe, similar_contexts
from datasmith.agents.synthesize import MOST_FAILURES
from datasmith.docker.images import ImagePlan
from datasmith.errors import PackagesMissing
from datasmith.storage.base import Row
from tests.unit.agents.synthesizing import COMMIT, NO_HEADER, NOW, PKG, STRANGE, Bench, Writer
from tests.unit.agents.test_synthesize import keep, opened

THEIRS = "their script said this"


def test_an_agent_starts_from_our_own_scripts_and_not_from_the_farthest_neighbours(tmp_path: Path) -> None:
    """With the packages that the recipes found, and its failure among those that are shown, however many came after."""
    writer = Writer([{PKG: f"try {number}"} for number in range(3)])
    bench = Bench(tmp_path, lambda plan: THEIRS if "days" in plan.context.texts[PKG] else NO_HEADER, writer)
    opened(bench)
    for number in range(1, 6):
        keep(bench, f"{number}", f"days {number}", number=number, days=number)
    found = bench.synthesizer.synthesize(bench.wanted())
    assert [row["tier"] for row in bench.rows()] == ["recipe"] * 2 + ["similar"] * 5 + ["agent"] * 3
    ours = bench.wanted().plan.context.texts[PKG]
    for brief in writer.briefs:
        assert brief.plan.context.texts[PKG] == ours and brief.plan.apt_packages == ("libgeos-dev",)
        own = [text for text in brief.failures if text.startswith("with the scripts as they are now: recipe attempt")]
        assert len(own) == 1 and "geos_c.h" in own[0] and len(brief.failures) == MOST_FAILURES
    assert sum(THEIRS in text for text in writer.briefs[0].failures) == 5
    assert found.failed is not None and found.failed.tier == "recipe" and "geos_c.h" in found.failed.reason
    assert found.by_agent is not None and found.by_agent.plan.context.texts[PKG] == "try 2"


def test_neighbours_do_not_tell_why_it_does_not_build(tmp_path: Path) -> None:
    """The reason is that of our own scripts."""
    bench = Bench(tmp_path, lambda plan: THEIRS if "days" in plan.context.texts[PKG] else NO_HEADER)
    opened(bench)
    keep(bench, "b", "days 1", number=1, days=1)
    found = bench.synthesizer.synthesize(bench.wanted())
    assert [row["tier"] for row in bench.rows()] == ["recipe", "recipe", "similar"]
    assert found.failed is not None and found.failed.reason == "missing header geos_c.h" and found.by_agent is None


def test_what_the_cache_has_tried_is_not_built_again(tmp_path: Path) -> None:
    """The same plan is one build and one row; the search goes on from it as if the recipes had tried it."""
    ends = iter([None, STRANGE])
    bench = Bench(tmp_path, lambda plan: next(ends))
    bench.synthesizer.synthesize(bench.wanted())
    again = bench.synthesizer.synthesize(bench.wanted())
    assert again.states == ("check_cache", "recipe", "similar", "fail") and len(bench.images.plans) == 2
    assert [(row["tier"], row["ok"]) for row in bench.rows()] == [("recipe", True), ("cache", False)]
    assert again.failed is not None and again.failed.tier == "recipe"
    assert bench.traces[-2] == "Deterministic build... [FAIL]"


def test_a_recipe_that_leads_to_the_cached_plan_ends_there(tmp_path: Path) -> None:
    """The plan without its packages is tried, and the one with them, which has just failed, is not."""
    ends = iter([NO_HEADER, None, STRANGE, NO_HEADER])
    bench = Bench(tmp_path, lambda plan: next(ends))
    bench.synthesizer.synthesize(bench.wanted())
    again = bench.synthesizer.synthesize(bench.wanted())
    assert [plan.apt_packages for plan in bench.images.plans[2:]] == [("libgeos-dev",), ()]
    assert again.failed is not None and STRANGE in again.failed.log


@pytest.mark.parametrize(("day", "order"), [(None, ["9", "5", "-7"]), (-8, ["-7", "5", "9"])])
def test_without_a_day_of_its_own_the_newest_neighbours_come_first(
    tmp_path: Path, day: float | None, order: list[str]
) -> None:
    """Where the environment was resolved as of a day, that stands in for the one that nobody knows."""
    bench = Bench(tmp_path, lambda plan: STRANGE)
    for number, days in enumerate((5, -7, 9), 1):
        keep(bench, f"{number}", f"{days}", number=number, days=days)
    if day is not None:
        row: Row = {"owner": "acme", "repo": "calc", "sha": COMMIT.sha, "cutoff": NOW + timedelta(days=day)}
        bench.store.upsert("packages", [row])
    assert [context.texts[PKG] for context in similar_contexts(bench.store, COMMIT)] == order


def lacking(plan: ImagePlan) -> str | PackagesMissing | None:
    """On this machine the packages that a log asks for cannot be had; one neighbour's script needs none."""
    if plan.context.texts[PKG] == "needs none":
        return None
    return PackagesMissing("docker_build_base.sh", 127, "needs libgeos-dev") if plan.apt_packages else NO_HEADER


def test_what_this_machine_lacks_is_no_verdict(tmp_path: Path) -> None:
    """The pull request is not refused, and the recipe does not count as tried; each run would pay for an agent."""
    writer = Writer([{PKG: "x"}] * 3)
    bench = Bench(tmp_path, lacking, writer)
    keep(bench, "b", "needs some", number=1, days=1)
    with pytest.raises(PackagesMissing, match="libgeos-dev"):
        bench.synthesizer.synthesize(bench.wanted())
    assert [row["stage"] for row in bench.rows()][:2] == [PKG, LACKING]
    assert [row["tier"] for row in bench.rows()] == ["recipe", "recipe", "similar"]
    assert not writer.briefs and bench.traces[-1].startswith("No turn of claude: this machine lacks")
    assert fixed_by_recipe(bench.store.select("build_attempts", order=("id",))) == []


def test_what_does_without_the_packages_is_found(tmp_path: Path) -> None:
    """The search goes on to the neighbours' scripts where a recipe's packages are not there."""
    bench = Bench(tmp_path, lacking, Writer([]))
    keep(bench, "b", "needs none", number=1, days=1)
    found = bench.synthesizer.synthesize(bench.wanted()).found
    assert found is not None and found.tier == "similar" and found.plan.apt_packages == ()
