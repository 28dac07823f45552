"""Where a search gets its lock from: as of which day, and what becomes of requirements that have none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from datasmith.agents.synthesize import Synthesizer
from datasmith.errors import ConfigError
from tests.unit.agents.synthesizing import Bench, Verdict

DAY = datetime(2024, 2, 3, tzinfo=UTC)


def test_packages_are_locked_as_of_the_commits_day(tmp_path: Path) -> None:
    """What was resolved goes before the pull request's day, that before the clone's; today is never taken for it."""
    asked = {
        "owner": "acme", "repo": "calc", "issue_number": 12, "pr_context": "", "sha": "a" * 40,
        "env_payload": '{"dependencies": ["numpy"]}', "python_version": "3.11", "source": tmp_path / "repo.tar",
    }  # fmt: skip
    bench = Bench(tmp_path, lambda plan: None, relocked=None)
    resolved, made, own = (DAY + timedelta(days=number) for number in (1, 2, 3))

    def cutoff_of(**given: datetime) -> datetime:
        assert bench.synthesizer.run(**asked, **given, verifier=Verdict()) is None  # type: ignore[arg-type]
        return bench.cutoffs[-1]

    with pytest.raises(ConfigError, match=r"acme/calc@a+ are locked.*example: cutoff=datetime\(2024"):
        bench.synthesizer.run(**asked, verifier=Verdict())  # type: ignore[arg-type]
    bench.synthesizer = Synthesizer(tools=replace(bench.synthesizer.tools, known=lambda *_: ("a" * 40, made)))
    assert cutoff_of() == made
    bench.store.upsert("pull_requests", [{"owner": "acme", "repo": "calc", "issue_number": 12, "created_at": DAY}])
    assert cutoff_of() == DAY
    bench.store.upsert("packages", [{"owner": "acme", "repo": "calc", "sha": "a" * 40, "cutoff": resolved}])
    assert cutoff_of() == resolved and cutoff_of(cutoff=own) == own
    assert cutoff_of(cutoff=own.replace(tzinfo=None)) == own


def test_what_cannot_be_locked_is_an_attempt(tmp_path: Path) -> None:
    """A row of its own that says why, and in which stage; None, and nothing was built."""
    bench = Bench(tmp_path, lambda plan: None, relocked=None)
    made = bench.synthesizer.run(
        "acme", "calc", 12, "", Verdict(), sha="a" * 40, env_payload='{"dependencies": ["numpy<1", "numpy>1"]}',
        python_version="3.11", cutoff=DAY,
    )  # fmt: skip
    assert made is None and bench.images.plans == []
    (row,) = bench.rows()
    assert (row["tier"], row["stage"], row["ok"]) == ("recipe", "lock", False)
    assert "numpy<1, numpy>1 cannot be had together" in str(row["stderr"])
    assert bench.traces == [f"Locking the packages of acme/calc@{'a' * 12}... [FAIL]"]
