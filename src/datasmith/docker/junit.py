"""Read a JUnit report that a sandbox wrote: hostile until shown otherwise."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Literal

TestState = Literal["passed", "failed", "error", "skipped", "xfailed"]
MAX_REPORT = 100_000_000
_STATES: dict[str, TestState] = {"failure": "failed", "error": "error", "skipped": "skipped"}
_WORST_FIRST: tuple[TestState, ...] = ("error", "failed", "skipped", "xfailed", "passed")
_FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY")


def read_junit(report: bytes) -> dict[str, TestState]:
    """State by test id `classname::name`; a test that is told of twice has its worse state.

    Raises:
        ValueError: it is no XML report in UTF-8, is larger than 100 MB, or declares a document type (entities).
    """
    if len(report) > MAX_REPORT:
        raise ValueError(f"the test report is larger than {MAX_REPORT} bytes")
    # Declared entities are refused by their text, so an encoding that would hide it from us is refused as well.
    if b"\0" in report or _declares_other_encoding(report) or any(sign in report for sign in _FORBIDDEN):
        raise ValueError("the test report declares entities or is not UTF-8")
    cases = _Cases()
    try:
        ET.XMLParser(target=cases, encoding="utf-8").feed(report)
    except ET.ParseError as error:
        raise ValueError(f"the test report is not XML: {error}") from error
    if not cases.complete:
        raise ValueError("the test report is not complete")
    return cases.found


def _declares_other_encoding(report: bytes) -> bool:
    head = report[:200].partition(b"?>")[0].lower()
    return b"encoding" in head and b"utf-8" not in head


class _Cases:
    """Target of an XML parser that keeps the states of test cases, and no tree."""

    def __init__(self) -> None:
        self.found: dict[str, TestState] = {}
        self.complete = False
        self._depth = 0
        self._name: str | None = None
        self._state: TestState = "passed"

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if tag == "testcase":
            self._name = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            self._state = "passed"
        elif self._name is not None and tag in _STATES:
            xfail = tag == "skipped" and attributes.get("type") == "pytest.xfail"
            self._state = _worse(self._state, "xfailed" if xfail else _STATES[tag])

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.complete = self._depth == 0
        if tag == "testcase" and self._name is not None:
            self.found[self._name] = _worse(self._state, self.found.get(self._name, "passed"))
            self._name = None


def _worse(one: TestState, other: TestState) -> TestState:
    return min(one, other, key=_WORST_FIRST.index)
