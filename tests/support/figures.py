"""Figures, which the end of a run shows: what tests of faults and of attacks print, and how many of a kind held."""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

MARK = "figure"
PRINTING = ("tests/faults/", "tests/redteam/")
"""Where what a test prints is a figure."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Let the reports of marked tests say what they count for, in the processes of xdist, too.

    A test of several things at once says so as often: `figure("leaks", 9)`.
    """
    for item in items:
        for kind, *times in (mark.args for mark in item.iter_markers(MARK)):
            item.user_properties += [(MARK, kind)] * (times[0] if times else 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show them."""
    reports = [
        report
        for listed in terminalreporter.stats.values()
        for report in listed
        if isinstance(report, pytest.TestReport)
    ]
    lines = [*printed(reports), *counted(reports)]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(lines))


def printed(reports: Sequence[pytest.TestReport]) -> Iterator[str]:
    """What tests printed, one after another."""
    of_figures = (report for report in reports if report.nodeid.startswith(PRINTING))
    texts = (text for each in of_figures for name, text in each.sections if name == f"Captured stdout {each.when}")
    for text in texts:
        yield from filter(None, map(str.rstrip, text.splitlines()))


def counted(reports: Sequence[pytest.TestReport]) -> Iterator[str]:
    """How many tests of each kind held, of those that ran; one that fails before or after itself has not.

    A test counts as often as it says its kind.
    """
    held: dict[tuple[str, str, int], bool] = {}
    for report in reports:
        if report.failed or (report.when == "call" and report.passed):
            kinds = Counter(str(value) for name, value in report.user_properties if name == MARK)
            for which in ((kind, report.nodeid, number) for kind in kinds for number in range(kinds[kind])):
                held[which] = report.passed and held.get(which, True)
    # Where a process of xdist's dies, nobody says of what kind its test was.
    if crashed := sum(str(report.when) == "???" for report in reports):
        yield f"crashed, and counted nowhere: {crashed}"
    for kind, ran in sorted(Counter(kind for kind, _, _ in held).items()):
        yield f"{kind}: {sum(kept for (each, _, _), kept in held.items() if each == kind)} of {ran} held"
