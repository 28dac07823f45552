"""What both commands share: an error becomes one line without secrets, and an exit code."""

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

import typer
from typer.exceptions import TyperException

from datasmith import process
from datasmith.cli.entry import INTERRUPTED
from datasmith.cli.logs import our_redactor
from datasmith.cli.usage import explained
from datasmith.errors import DatasmithError, StoreUnavailable

_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


def run_app(app: typer.Typer, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong is told in one line on standard error.

    A failure that is not of our own error family is a defect: its traceback goes to a file that the line names.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever the terminal's encoding lacks, as on stderr
    try:
        code = int(app(words, standalone_mode=False, prog_name=app.info.name or None) or 0)
        sys.stdout.flush()
        return _stopped() if code == INTERRUPTED else code  # typer makes this code of Ctrl-C
    except DatasmithError as error:
        return _say(str(error), error.exit_code)
    except TyperException as error:
        return _say(*explained(error, app))
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except BrokenPipeError:
        # Whoever read us has gone; the interpreter would say so again when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _surprise(error)


def _stopped() -> int:
    process.kill_descendants()
    return _say("stopped; the same command goes on where this one ended (fc-data: with --resume)", INTERRUPTED)


def _surprise(error: Exception) -> int:
    """One line for what should not happen; what the disk refuses is no defect of ours."""
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        return _say(f"cannot write {error.filename or 'a file'}: {error.strerror}", StoreUnavailable.exit_code)
    return _say(f"{type(error).__name__}: {one_line(str(error))} (a defect: {_keep_traceback()})", 1)


def one_line(text: str) -> str:
    """The text without line breaks and control characters, at most 2,000 characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:2000]


def _say(message: str, code: int) -> int:
    """Print the one line; it is cut after its secrets are gone, so that no half of one is left."""
    print(f"error: {one_line(our_redactor()(message))}", file=sys.stderr)
    return code


def _keep_traceback() -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="fc-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(our_redactor()(traceback.format_exc()))
    except OSError as error:
        return f"its details could not be kept: {error.strerror}"
    return f"details in {file.name}"


def show_version(wanted: bool) -> None:
    """Callback of `--version`."""
    if wanted:
        from datasmith import __version__  # slow to find out

        print(__version__)
        raise typer.Exit
