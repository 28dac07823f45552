"""The program of the seal that knows code by how it begins."""

import py_compile
from pathlib import Path

import pytest

from datasmith.docker.templates.seal_code import ENOUGH, is_code


def test_byte_code_of_this_python_is_code(tmp_path: Path) -> None:
    """Of each way to tell whether it is out of date."""
    (tmp_path / "a.py").write_text("x = 1\n")
    for mode in py_compile.PycInvalidationMode:
        made = py_compile.compile(str(tmp_path / "a.py"), str(tmp_path / "a"), invalidation_mode=mode)
        assert is_code(Path(str(made)).read_bytes()[:ENOUGH])


def test_a_program_is_code() -> None:
    """The system's."""
    assert is_code(Path("/bin/sh").read_bytes()[:ENOUGH])


@pytest.mark.parametrize("head", [b"", b"ab\r\n", b"ab\r\nsome more text..", b"import numpy as n", b"MZ is a name of"])
def test_text_is_none(head: bytes) -> None:
    """Whatever its ends of lines."""
    assert not is_code(head[:ENOUGH])
