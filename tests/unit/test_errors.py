"""The error family."""

import sys
from collections.abc import Iterator

import pytest

from datasmith.errors import BuildFailed, DatasmithError, InvalidTask, SchemaMismatch


def family(cls: type[DatasmithError] = DatasmithError) -> Iterator[type[DatasmithError]]:
    """The class and everything that derives from it, of modules that were not imported anew since."""
    yield cls
    for child in cls.__subclasses__():
        if getattr(sys.modules.get(child.__module__), child.__name__, None) is child:
            yield from family(child)


def test_every_error_has_an_exit_code_of_its_own() -> None:
    """A script can tell from the exit code alone which error it was."""
    codes = [cls.exit_code for cls in family()]
    assert len(codes) == len(set(codes)) > 20


@pytest.mark.parametrize("cls", list(family()), ids=lambda cls: cls.__name__)
def test_exit_codes_say_nothing_else(cls: type[DatasmithError]) -> None:
    """No error looks like success, like a signal (128 and more) or like a shell's own failure (126, 127)."""
    assert 1 <= cls.exit_code < 126
    assert "exit_code" in vars(cls)


def test_a_failed_build_says_what_was_printed_last() -> None:
    """The message holds the end of a long log, where the reason stands."""
    error = BuildFailed("pkg", 2, "noise\n" * 500 + "fatal: no compiler\n")
    assert "'pkg'" in str(error) and str(error).endswith("fatal: no compiler")


def test_messages_hold_every_problem() -> None:
    """Nothing that was found is left out of the line that the user sees."""
    assert str(InvalidTask(["no patch", "no image"])) == "no patch; no image"
    assert "0001" in str(SchemaMismatch("0001", "0002")) and "0002" in str(SchemaMismatch("0001", "0002"))
