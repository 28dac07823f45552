"""The project page's code about text and hooks, run word for word: GitHub and the model are in memory."""

import ast
import asyncio
import inspect
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from datasmith.github import PR, HookRegistry, Issue
from datasmith.storage.sql import SqlStore

MERGED = PR(
    repository="pandas-dev/pandas",
    issue_number=16222,
    title="PERF: hash the labels once",
    body="## Motivation\n\n@alice found groupby slow, closes #16000.",
    created_at=datetime(2017, 5, 4, tzinfo=UTC),
    base_sha="b" * 40,
    merge_commit_sha="c" * 40,
)
LINKED = Issue(
    repository="pandas-dev/pandas",
    issue_number=16000,
    title="groupby is slow",
    body="See the profile of @alice.",
    created_at=datetime(2017, 4, 1, tzinfo=UTC),
)

VALUES = """
from datasmith.github import PR
# Every task starts with a PR.
pr = PR(repository="astropy/astropy", issue_number=16222)
# PRs are frozen Pydantic v2 models — immutable after creation.
pr.merge_commit_sha # the merge commit sha
pr.base_sha # base branch commit
pr.cache_key # "astropy/astropy:16222" — used for Supabase caching
"""
STATEMENTS = """
from datasmith.github import render_problem_statement, scrape_links
# Render a problem statement from the PR and its linked issues.
statement = render_problem_statement(pr, anonymize=True)
first = statement
# You can also scrape for linked issues via BFS.
issues = await scrape_links(pr, gh.get_issue, depth=2, only_issues=True, limit=6)
# Then pass them into the renderer for richer context.
statement = render_problem_statement(pr, issues=issues, repo_description="pandas is a data analysis library")
"""
HOOKS = """
# You can register custom hooks for dataset-specific operations.
from datasmith.github import HookRegistry
from dspy import ChainOfThought
summarizer = ChainOfThought("document -> summary")
def summarize(pr):
    doc = render_problem_statement(pr, anonymize=True)
    return summarizer(doc).summary
HookRegistry.register("summarize", summarize) # auto-wrapped with @supabase_cached
# Now use it:
pr = PR(repository="astropy/astropy", issue_number=16222)
first = HookRegistry.call("summarize", pr) # first call: hits LLM
second = HookRegistry.call("summarize", pr) # second call: reads from Supabase cache. No cost!
"""


class GitHub:
    """The one method of the client that the page uses, over an issue in memory."""

    async def get_issue(self, owner: str, repo: str, number: int) -> Issue | None:
        return LINKED if (owner, repo, number) == ("pandas-dev", "pandas", 16000) else None


class ChainOfThought:
    """Answers like DSPy's module of this name: an object with a field for each output."""

    asked = 0

    def __init__(self, signature: str) -> None:
        self.output = signature.rpartition("->")[2].strip()

    def __call__(self, document: str) -> SimpleNamespace:
        type(self).asked += 1
        return SimpleNamespace(**{self.output: f"{len(document)} characters"})


def run(code: str, **names: object) -> dict[str, object]:
    """Run code that may await at the top; returns its names."""
    compiled = compile(code, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found: dict[str, object] = dict(names)
    ended = eval(compiled, found)  # noqa: S307
    if inspect.iscoroutine(ended):
        asyncio.run(ended)
    return found


def test_a_pull_request_is_made_from_two_values() -> None:
    """Commits are empty, and the key is the one that the page says."""
    pr = run(VALUES)["pr"]
    assert isinstance(pr, PR)
    assert (pr.merge_commit_sha, pr.base_sha, pr.cache_key) == ("", "", "astropy/astropy:16222")


def test_statements_and_linked_issues() -> None:
    """The statement has its sections; the second one shows the linked issue and the description."""
    found = run(STATEMENTS, pr=MERGED, gh=GitHub())
    first, statement = str(found["first"]), str(found["statement"])
    assert found["issues"] == [LINKED]
    for heading in ("# Objective\n", "# Process\n", "# Task Description\n"):
        assert heading in first and heading in statement
    assert "@user_1 found groupby slow" in first
    assert "pandas is a data analysis library\n" in statement
    assert "### groupby is slow\n\n> See the profile of @alice.\n" in statement
    assert "hash the labels" not in first + statement


def test_hooks_ask_the_model_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call reads from the store of the settings, where the answer is under the hook and the key."""
    dspy = ModuleType("dspy")
    dspy.__dict__["ChainOfThought"] = ChainOfThought
    monkeypatch.setitem(sys.modules, "dspy", dspy)
    monkeypatch.setenv("FC_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    before = ChainOfThought.asked
    names = run("from datasmith.github import PR, render_problem_statement\n" + HOOKS)
    HookRegistry.clear()
    assert names["first"] == names["second"]
    assert str(names["first"]).endswith(" characters")
    assert ChainOfThought.asked == before + 1
    with SqlStore.at(tmp_path / "fc.sqlite") as store:
        (row,) = store.select("hook_cache")
    assert (row["entity_key"], row["hook_name"], row["value"]) == ("astropy/astropy:16222", "summarize", names["first"])
