"""Rules on titles, files and patches, and how they do on labelled pull requests."""

import gzip
import json

import pytest

from datasmith.agents.classification import CATEGORIES
from datasmith.agents.rules import classify, difficulty
from datasmith.github.merges import read_merge
from datasmith.github.models import PR, FileChange
from tests.real_data import real_data


def pull(title: str, *paths: str, body: str = "", patch: str | None = None) -> PR:
    """A pull request with ten added lines in each path (default: one library file)."""
    files = tuple(FileChange(path=path, additions=10, deletions=1) for path in paths or ("src/a.py",))
    return PR(repository="o/r", issue_number=1, title=title, body=body, files=files, patch=patch)


@pytest.mark.parametrize(
    "title",
    [
        "perf: skip hash property",
        "PERF: speed up from_ragged_array",
        "ENH, PERF: use matmul",
        "Speed up X",
        "Optimize padding for coarsening",
        "Cache compiled regex patterns",
        "perf(markers): cache the default environment",
        "Vectorize rolling window calculation",
        "ENH: improve performance of deprecate_positional",
        "refactor: use a dict as queue (10% faster)",
        "Lazy import dask.distributed to reduce import time",
        "Avoid deepcopy in `_tell`",
        "Remove debugging slow assert statement",
        "ENH: release the GIL in rolling",
        "Enable parquet metadata collection in parallel",
        "Improve performance of merge and add tests",
        "PERF: avoid copies, update docs",
        "Merge pull request #5 from ann/perf-nested-funcs",
    ],
)
def test_claims_of_speed(title: str) -> None:
    """Titles that claim speed for the library are candidates."""
    found = classify(pull(title))
    assert found.is_performance is True, found.reason
    assert found.category in CATEGORIES
    assert found.by == "rules"
    assert found.confidence >= 50


@pytest.mark.parametrize(
    "title",
    [
        "perf(tests): disable GC while collecting tests",
        "perf(ci): cache wheels",
        "ci: speed up the workflow",
        "perf: speed up docs build",
        "Speed up the tests",
        "chore: faster readthedocs",
        "docs: note on performance",
        "TST: make slow tests faster",
        'Revert "perf: cache it (#1)"',
        "Add a logger",
        "Support Python 3.12",
        "BUG: fix crash in merge",
        "plot_optimization_history with target values",
        "Fix `study.optimize()` docstring",
        "",
    ],
)
def test_no_claims_of_speed(title: str) -> None:
    """Speed of tests, documentation or CI, reverts, and everything else are not."""
    found = classify(pull(title))
    assert found.is_performance is False, found.reason
    assert found.reason


def test_without_a_core_file_no_title_helps() -> None:
    """A change of tests or documentation alone is never a candidate."""
    assert classify(pull("perf: speed up everything", "tests/test_a.py", "docs/x.rst")).is_performance is False


def test_unknown_files_do_not_refuse() -> None:
    """No list of files means unknown, not none."""
    pr = PR(repository="o/r", issue_number=1, title="Speed up X")
    assert classify(pr).is_performance is True


def test_a_body_with_timings_decides() -> None:
    """A factor or timings in the body make a plain title a candidate."""
    body = "It's much faster: 5x faster on my machine, 10.1 s -> 2.0 s"
    assert classify(pull("Avoid groupby.agg(callable)", body=body)).is_performance is True
    assert classify(pull("Use another helper", body=body)).is_performance is True


def test_hints_alone_leave_it_undecided() -> None:
    """A cache in the patch or a changed benchmark is a hint: neither a yes nor a no."""
    patch = "+++ b/src/a.py\n+    @lru_cache\n"
    found = classify(pull("Refactor the parser", "src/a.py", "benchmarks/b.py", patch=patch))
    assert found.is_performance is None
    assert found.reason == "caching in the patch, a benchmark changed"


def test_a_performance_change_note_decides() -> None:
    """Projects that sort their change notes by kind say it themselves."""
    assert classify(pull("Rework fitting", "src/a.py", "docs/changes/fit/1.perf.rst")).is_performance is True


@pytest.mark.parametrize(
    ("lines", "expected"), [((49, 0), "easy"), ((30, 20), "medium"), ((499, 0), "medium"), ((400, 100), "hard")]
)
def test_difficulty_counts_core_lines(lines: tuple[int, int], expected: str) -> None:
    """Lines of tests and documentation do not make a change harder."""
    core = FileChange(path="src/a.py", additions=lines[0], deletions=lines[1])
    tests = FileChange(path="tests/test_a.py", additions=5_000, deletions=0)
    assert difficulty([core, tests]) == expected


def test_unknown_counts_say_medium() -> None:
    """Binary files and missing lists cannot be counted."""
    assert difficulty([]) == "medium"
    assert difficulty([FileChange(path="src/a.bin")]) == "medium"


def test_hostile_text_takes_no_time() -> None:
    """Megabytes in title, body and patch are cut, not searched."""
    for piece in ("lazy import ", "1.1", "a", " ", "performance ", "`", "(", "+"):
        assert classify(pull(piece * 500_000, body=piece * 500_000, patch=f"+{piece}" * 200_000)).by == "rules"


def labelled() -> list[tuple[PR, bool, str | None, str | None]]:
    """Labelled pull requests: (pull request without patch, is it about speed, category, difficulty)."""
    rows = []
    with gzip.open(real_data("performance_labels.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["is_performance"] is None:
                continue
            says = read_merge(row["message"], 2)
            files = tuple(FileChange(path=path, additions=a, deletions=d) for path, a, d in row["file_changes"])
            title, _, body = row["message"].partition("\n")
            pr = PR(
                repository=row["repo"],
                issue_number=row["pr_number"],
                title=says.title if says else title,
                body=says.body if says else body,
                files=files,
            )
            rows.append((pr, row["is_performance"], row["category"], row["difficulty"]))
    return rows


def test_labelled_pull_requests(capsys: pytest.CaptureFixture[str]) -> None:
    """Recall and precision on 213 labelled pull requests. The rules were written with these in sight."""
    rows = labelled()
    verdicts = [(classify(pr), pr, speed, category, level) for pr, speed, category, level in rows]
    called = [row for row in verdicts if row[0].is_performance]
    right = [row for row in called if row[2]]
    wanted = [row for row in verdicts if row[2]]
    recall, precision = len(right) / len(wanted), len(right) / len(called)
    category = sum(row[0].category == row[3] for row in wanted) / len(wanted)
    level = sum(row[0].difficulty == row[4] for row in wanted) / len(wanted)
    undecided = sum(row[0].is_performance is None for row in verdicts)
    with capsys.disabled():
        print(
            f"\nrules on {len(rows)} labels: recall {recall:.3f}, precision {precision:.3f}, undecided {undecided},"
            f" category {category:.2f}, difficulty {level:.2f}"
        )
    assert recall >= 0.97
    assert precision >= 0.89
    assert undecided <= 16
    assert category >= 0.6
    assert level >= 0.9
