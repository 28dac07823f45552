"""The page: self-contained, escaped, well formed."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from datasmith.evaluation.html import interval, percent, ratio, render, seconds, signed
from datasmith.evaluation.report import build_report
from datasmith.metrics.score import Interval
from tests.unit.evaluation.sample_run import NOW, SampleRun, sample_run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'javascript:\u202e&amp;</title></svg>"
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Nesting(HTMLParser):
    """Sees that every element is closed where it must be, and notes all names."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(run: SampleRun) -> str:
    record = run.folder.read_run()
    assert record is not None
    return render(build_report(run.folder, record, "floor"), NOW)


def test_the_page_asks_nobody_for_anything(tmp_path: Path) -> None:
    """No address to load from, no script, and a policy that would forbid both."""
    page = page_of(sample_run(tmp_path / "r"))
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []
    assert not parser.names & {"script", "link", "iframe", "img", "object", "form"}
    assert not re.search(r"https?://|url\(|@import|\ssrc=", page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_each_workload_tells_its_noise_floor(tmp_path: Path) -> None:
    """As per cent: what is bold is further from 1 than that, whatever its own interval says."""
    page = page_of(sample_run(tmp_path / "r"))
    rows = re.findall(r'<tr><th scope="row" class="mono">[^<]+</th>\n<td>[^<]+</td>\n<td>([^<]+)</td>', page)
    assert rows and set(rows) == {"2.0 %"}


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """Workload names, reasons, task ids and data set names come from outside."""
    run = SampleRun(tmp_path / "r", [f"t{HOSTILE.replace('/', '')}"], ["good"])
    session = run.session(f"t{HOSTILE.replace('/', '')}", {HOSTILE: 2.0})
    run.trial(session, "command-good", "measured", {HOSTILE: 1.5}, reason=HOSTILE)
    page = page_of(run)
    parser = Nesting()
    parser.feed(page)
    assert not parser.names & {"script", "img"}
    assert "&lt;script&gt;alert(1)" in page


def test_everything_that_was_measured_is_on_the_page(tmp_path: Path) -> None:
    """Agents, tasks, outcomes, every workload, the policy and the control arm."""
    page = page_of(sample_run(tmp_path / "r"))
    for text in ("command-good", "acme_fast_2", "failed tests", "bench_matrix.Multiply.time_small(500)", "floor"):
        assert text in page
    assert "0 of 6 workloads" in page
    assert page.count('<svg class="forest wide"') == 3
    assert page.count('role="img"') == 6


def test_a_trial_that_was_not_measured_has_its_row_in_the_plot(tmp_path: Path) -> None:
    """Its outcome in words stands where a ratio would, in both layouts, and its agent is in the legend."""
    page = page_of(sample_run(tmp_path / "r"))
    overview = page[page.index('id="overview"') : page.index('id="tasks"')]
    assert overview.count(": failed tests</title>") == 2 == overview.count(">failed tests</text>")
    assert "failed tests</text>" not in page[page.index('id="tasks"') :]


def test_each_session_has_an_expert_of_its_own(tmp_path: Path) -> None:
    """Who was measured again stands beside that expert; a session in which nobody was is not on the page."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["one", "two"])
    name = "bench.time_a"
    run.trial(run.session("acme_fast_1", {name: 2.0}), "command-one", "measured", {name: 1.5})
    assert "session 1" not in page_of(run)
    run.trial(run.session("acme_fast_1", {name: 3.0}, 2), "command-two", "measured", {name: 1.2})
    page = page_of(run)
    overview = page[page.index('id="overview"') : page.index('id="tasks"')]
    drawn = re.findall(r"<title>([a-z-]+, session \d): (\d\.\d)", overview)[:4]
    assert [(label, round(float(speed), 0)) for label, speed in drawn] == [
        ("expert, session 1", 2.0),
        ("expert, session 2", 3.0),
        ("command-one, session 1", 1.0),
        ("command-two, session 2", 1.0),
    ]
    for column in ("expert, session 1", "expert, session 2", "base again, session 1", "base again, session 2"):
        assert f'<th scope="col">{column}</th>' in page


def test_agents_that_count_over_other_workloads_are_told(tmp_path: Path) -> None:
    """What has no time in one arm is in that agent's score alone missing: the expert beside it is another one, too."""
    run = SampleRun(tmp_path / "r", ["acme_fast_1"], ["one", "two"])
    both = {"bench.time_a": 2.0, "bench.time_b": 1.0}
    session = run.session("acme_fast_1", both)
    run.trial(session, "command-one", "measured", both)
    assert "different workloads" not in page_of(run)
    run.trial(session, "command-two", "measured", {"bench.time_a": 2.0})
    assert "different workloads, as not all had a time in each arm, on acme_fast_1." in page_of(run)


def test_every_mean_on_the_page_has_its_interval(tmp_path: Path) -> None:
    """The expert's too; a trial has that of its speedup, and where it failed the word why not."""
    run = sample_run(tmp_path / "r")
    record = run.folder.read_run()
    assert record is not None
    report = build_report(run.folder, record, "floor")
    page = render(report, NOW)
    for agent in report.agents:
        for value, ends in (
            (agent.means.speedup.value, agent.intervals.speedup),
            (agent.means.expert_speedup.value, agent.intervals.expert_speedup),
        ):
            assert f"<td>{ratio(value)}<small>{interval(ends)}</small></td>" in page
    for row in report.trials:
        told = interval(row.speedup_interval) or "by policy"
        assert row.score is not None
        assert f"<td>{ratio(row.score.speedup)}<small>{told}</small></td>" in page


def test_a_plot_stays_readable_on_a_telephone(tmp_path: Path) -> None:
    """There it is drawn as wide as the screen, with all its figures in sight; the wide one is never made too small."""
    page = page_of(sample_run(tmp_path / "r"))
    assert (
        page.count('<figure class="scroll">\n<svg class="forest wide"') == page.count('<svg class="forest narrow"') == 3
    )
    widths = {int(width) for width in re.findall(r'<svg class="forest narrow" viewBox="0 0 (\d+) ', page)}
    assert widths == {390 - 2 * 24}
    (rule,) = [line for line in page.splitlines() if line.startswith(".forest{")]
    assert "min-width:620px" in rule and ".scroll{overflow-x:auto" in page
    shown = "{.forest.wide{display:none}.forest.narrow{display:block}}"
    assert f"@media screen and (max-width:667px){shown}" in page and ".forest.narrow{display:none;" in page


def test_a_table_that_goes_on_beyond_the_screen_shows_it(tmp_path: Path) -> None:
    """By a shade at that edge, which what lies at the table's own edge covers; every wide table and plot has it."""
    page = page_of(sample_run(tmp_path / "r"))
    (rule,) = [line for line in page.splitlines() if line.startswith(".scroll{")]
    assert rule.count("var(--paper)") == rule.count("var(--shade)") == 2
    assert rule.endswith("background-attachment:local,local,scroll,scroll}") and page.count("--shade:#") == 2
    assert page.count("<table>") == page.count('<div class="scroll"><table>')


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ({"a": (1.5, 1.5, 1.5), "b": (1.1, 1.1, 1.1)}, "; all 5 rules agree on the ranks)"),
        ({"a": (4.0, 1.0, 1.0), "b": (1.0, 1.5, 1.5)}, "; below it the range of ranks under 5 rules)"),
        ({"a": (1.5, 1.5, 1.5)}, ")"),
    ],
)
def test_a_range_of_ranks_is_told_where_there_is_one(
    tmp_path: Path, speeds: dict[str, tuple[float, ...]], said: str
) -> None:
    """Where all rules give the same ranks no range stands below any; who is alone is ranked against nobody."""
    tasks = ["t1", "t2", "t3"]
    run = SampleRun(tmp_path / "r", tasks, list(speeds))
    for number, task in enumerate(tasks):
        session = run.session(task, {"m.time_a": 2.0})
        for agent, of_tasks in speeds.items():
            run.trial(session, f"command-{agent}", "measured", {"m.time_a": of_tasks[number]})
    page = page_of(run)
    assert f"Ranked Pairs over the tasks’ advantages{said}" in page
    assert ("<small>1 to 2</small>" in page) is ("range" in said)


def test_a_run_without_trials_has_a_page(tmp_path: Path) -> None:
    """It says so; of what was not measured there is no figure."""
    page = page_of(SampleRun(tmp_path / "r", ["t"], ["good"]))
    assert "No trial is complete yet" in page and "’s interval</dt><dd>–</dd>" in page and "±" not in page


def test_a_long_path_stays_on_a_telephone(tmp_path: Path) -> None:
    """That of the dataset is broken where it has to be: the page itself is never scrolled to the side."""
    page = page_of(sample_run(tmp_path / "r"))
    (rule,) = [line for line in page.splitlines() if line.startswith("p{")]
    assert "overflow-wrap:anywhere" in rule


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0 s"),
        (3e-9, "3 ns"),
        (2.5e-6, "2.5 µs"),
        (0.0123, "12.3 ms"),
        (1.0, "1 s"),
        (90.0, "90 s"),
        (7200.0, "2 h"),
    ],
)
def test_seconds_have_a_readable_unit(value: float | None, text: str) -> None:
    """Three digits, a unit, and a dash for nothing."""
    assert seconds(value) == text


def test_missing_values_are_dashes() -> None:
    """Never 0, never 1."""
    assert (signed(None), ratio(None), percent(None), interval(None)) == ("–", "–", "–", "")
    assert signed(-0.5, 1) == "\u22120.5"
    assert interval(Interval(-0.1, 0.2), sign=True) == "[\u22120.100, +0.200]"
