"""Reports of test runs, as a sandbox hands them over."""

import pytest

from datasmith.docker import junit
from datasmith.docker.junit import read_junit

CASE = '<testcase classname="{0}" name="{1}">{2}</testcase>'


def report(*cases: str) -> bytes:
    return f'<?xml version="1.0" encoding="utf-8"?><testsuites>{"".join(cases)}</testsuites>'.encode()


@pytest.mark.parametrize(
    ("inside", "state"),
    [
        ("", "passed"),
        ("<system-out>failure</system-out>", "passed"),
        ("<failure message='no'>trace</failure>", "failed"),
        ("<error message='setup'/>", "error"),
        ("<skipped type='pytest.skip' message='later'/>", "skipped"),
        ("<skipped type='pytest.xfail' message='known'/>", "xfailed"),
        ("<failure/><error/>", "error"),
    ],
)
def test_states_are_told_apart(inside: str, state: str) -> None:
    """Every way that pytest writes an outcome is read as that outcome; the worse of two counts."""
    assert read_junit(report(CASE.format("pkg.test_a.TestB", "test_c[1-x]", inside))) == {
        "pkg.test_a.TestB::test_c[1-x]": state
    }


def test_a_test_told_twice_has_its_worse_state() -> None:
    """A test whose teardown fails is not passed, in whichever order its two entries come."""
    passed, failed = CASE.format("m", "t", ""), CASE.format("m", "t", "<error/>")
    assert read_junit(report(passed, failed)) == read_junit(report(failed, passed)) == {"m::t": "error"}


@pytest.mark.parametrize(
    "hostile",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuites><testcase classname="&a;" name="t"/></testsuites>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x><testsuites/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="utf-7"?><testsuites/>',
        b"<testsuites>" + b"<testcase classname='m' name='t'/>",
        b"",
        b"not xml",
        b"\x1f\x8b\x00\x00",
    ],
)
def test_hostile_and_cut_reports_are_refused(hostile: bytes) -> None:
    """Entities are never expanded, and a report that is cut off does not count as one of fewer tests."""
    with pytest.raises(ValueError, match="report"):
        read_junit(hostile)


def test_an_oversized_report_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report beyond the cap is not parsed at all."""
    monkeypatch.setattr(junit, "MAX_REPORT", 10)
    with pytest.raises(ValueError, match="larger"):
        read_junit(report())


def test_deep_nesting_does_not_break_the_reader() -> None:
    """100,000 nested elements are read, as they would be one after another."""
    deep = b"<a>" * 100_000 + CASE.format("m", "t", "").encode() + b"</a>" * 100_000
    assert read_junit(deep) == {"m::t": "passed"}
