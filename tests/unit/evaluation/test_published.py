"""The published figures, computed again."""

import json
from pathlib import Path

import pytest

from datasmith.cli.document import document
from datasmith.errors import ConfigError
from datasmith.evaluation.findings_json import published_as_json
from datasmith.evaluation.published import read_published
from tests.real_data import real_data

INFERRED = {"OC": 37, "OG": 16, "OP": 38, "OQ": 39, "TC": 32, "TG": 32, "TP": 37, "TQ": 32}


def test_every_published_figure_is_reproduced() -> None:
    """To 1e-12: expert, speedups with the inferred number of tasks, costs, Pareto set, stars, copies."""
    found = read_published(real_data())
    assert found.wrong == ()
    figures = {figure.name: figure for figure in found.figures}
    assert figures["expert speedup"].ours == pytest.approx(1.119336244940888, abs=1e-12)
    for code, n in INFERRED.items():
        assert figures[f"speedup of {code}"].note == f"N = {n}, inferred"
        assert f"advantage per USD of {code}" in figures
    assert figures["Pareto set"].ours == "OC OG OP TQ"
    assert (figures["stars"].ours, figures["repositories"].ours) == (582_950, 145)
    assert len(found.ranks) == 8
    assert {"worst workload of OG", "worst workload of TQ"} <= figures.keys()
    assert "worst workloads (f6agg) of EX OC OP OQ TC TG TP" in dict(found.undecided)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two configurations and an expert; what the page says of stars does not hold here."""
    rows = [
        ("EX", "a/b#1", 1.2),
        ("EX", "a/b#2", 1.0),
        ("OC", "a/b#1", 1.3),
        ("TC", "a/b#1", 1.1),
        ("TC", "a/b#2", 1.0),
    ]
    text = "".join(f"{code}\t{task}\t{value}\t0.9\n" for code, task, value in rows)
    (tmp_path / "f6_tradeoff_per_task_1.tsv").write_text(text)
    findings = {
        "f1": [
            ["OpenHands", "Claude 4.0 Sonnet", 1, -0.1, -0.1, 1.1],
            ["Terminus 2", "Claude 4.0 Sonnet", 2, -0.2, -0.2, 1.05],
            ["Human Expert", "(oracle)", 0, 0, 0, 1.1],
        ],
        "f5": [
            ["OpenHands", "Claude 4.0 Sonnet", 2.0, -0.1, -0.05, True],
            ["Terminus 2", "Claude 4.0 Sonnet", 1.0, -0.2, -0.25, True],
        ],
        "f6agg": [
            ["OpenHands", "Claude 4.0 Sonnet", 1.1, 0.95],
            ["Terminus 2", "Claude 4.0 Sonnet", 1.05, 0.95],
            ["Human Expert", "(oracle)", 1.2, 0.9],
        ],
    }
    (tmp_path / "published_findings_1.json").write_text(json.dumps(findings))
    (tmp_path / "stars_1.txt").write_text("60 20 10 10\n")
    return tmp_path


def test_a_figure_that_differs_is_told(small: Path) -> None:
    """Each wrong one by its name; the others agree."""
    found = read_published(small)
    figures = {figure.name: figure for figure in found.figures}
    assert figures["speedup of OC"].note == "N = 3, inferred"
    assert figures["speedup of TC"].agrees
    assert figures["Pareto set"].agrees
    assert (figures["worst workload of OC"].ours, figures["worst workload of OC"].note) == (2.9 / 3, "N = 3, inferred")
    assert "worst workload of EX" not in figures
    assert [name for name, _ in found.undecided[-1:]] == ["worst workloads (f6agg) of EX"]
    assert found.undecided[0][1] == "the expert has rows of 2 tasks; up to 3 were given"
    assert {figure.name for figure in found.wrong} == {
        "advantage per USD of TC", "worst workload of OC", "worst workload of TC",
        "repositories", "stars", "hold half of the stars", "hold 80 % of the stars",
        "equal tasks of OC and OG", "equal tasks of TC and TG",
    }  # fmt: skip
    assert figures["advantage per USD of TC"].difference == pytest.approx(0.05)
    assert (figures["hold half of the stars"].ours, figures["hold 80 % of the stars"].ours) == (1, 2)
    assert found.ranks == {"OC": (1, 1), "TC": (2, 2)}


def test_a_cost_of_nothing_has_no_weight(small: Path) -> None:
    """Neither ours nor a printed one: there is no number then, and no difference."""
    path = small / "published_findings_1.json"
    found = json.loads(path.read_text())
    found["f5"][0][2:5] = [0.0, -0.1, -0.05]
    found["f5"][1][2:5] = [None, -0.2, None]
    path.write_text(json.dumps(found))
    told = read_published(small)
    paid, unknown = (figure for figure in told.figures if figure.name.startswith("advantage per USD"))
    assert (paid.ours, paid.published, paid.difference, paid.agrees) == (None, -0.05, None, False)
    assert (unknown.ours, unknown.published, unknown.difference, unknown.agrees) == (None, None, None, True)
    assert json.loads(document(published_as_json(told)))["figures"][5]["ours"] is None


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("stars_1.txt", "many", "ValueError"),
        ("published_findings_1.json", "{}", "KeyError"),
        ("f6_tradeoff_per_task_1.tsv", "EX\t1.0\n", "ValueError"),
        ("f6_tradeoff_per_task_1.tsv", "EX\ta/b#1\tnan\t0.9\n", "expert speedup is nan.*no finite"),
        ("stars_1.txt", None, "there is no stars"),
    ],
)
def test_files_that_are_something_else_are_named(small: Path, name: str, text: str | None, says: str) -> None:
    """One error that names the option, the files and what is wrong."""
    if text is None:
        (small / name).unlink()
    else:
        (small / name).write_text(text)
    with pytest.raises(ConfigError, match=f"--published.*{says}"):
        read_published(small)
