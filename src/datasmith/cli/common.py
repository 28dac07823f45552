"""What both commands share: an error becomes one line without secrets, and an exit code."""

import contextlib
import errno
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import StringIO

import typer
from typer.exceptions import TyperException

from datasmith import process
from datasmith.cli.document import document
from datasmith.cli.entry import INTERRUPTED, STOPPED
from datasmith.cli.logs import our_redactor
from datasmith.cli.stopping import ctrl_c_raises, stop_code, terminable
from datasmith.cli.usage import explained, refuse_empty_paths
from datasmith.errors import FULL, ConfigError, DatasmithError, StoreUnavailable
from datasmith.printable import cut, one_line
from datasmith.standard_streams import standard_streams

_BEGIN_ANEW = {"certify", "compare", "confirm", "findings", "interact", "redteam", "report", "submit"}
"""Commands of which nothing is kept that would be gone on with."""
_OF_THE_DISK = {*FULL, errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command failed: the name of its error in the table of exit codes, the line for people, the exit code."""

    kind: str
    message: str
    exit_code: int


class _Document(StringIO):
    """What a command prints under --json. Only its own thread does: agents of somebody else's work in others."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def write(self, text: str, /) -> int:
        """Keep the text; what another thread prints goes to standard error."""
        return super().write(text) if threading.get_ident() == self._thread else sys.stderr.write(text)


def run_app(app: typer.Typer, argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong is told in one line on standard error.

    With --json standard output gets one document: what the command printed or, where it printed nothing, its error.
    A failure that is not of our own error family is a defect: its traceback goes to a file that the line names.
    SIGTERM and SIGHUP end it as Ctrl-C does, with other exit codes. A reader that leaves changes nothing.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with terminable(), standard_streams():
        return _run(app, words)


def _run(app: typer.Typer, words: list[str]) -> int:
    held = _Document() if any(word.partition("=")[0] == "--json" for word in words) else None
    try:
        ctrl_c_raises()
        return _ended(app, words, held)
    except KeyboardInterrupt:  # also one that comes while another end is told of
        return _tell(_stopped(app.info.name, words), held)


def _ended(app: typer.Typer, words: list[str], held: _Document | None) -> int:
    """The exit code of a command that came to its own end, after what it has to tell of it.

    Raises:
        KeyboardInterrupt: it did not.
    """
    try:
        refuse_empty_paths(app, words)
        with contextlib.redirect_stdout(held or sys.stdout):
            code = int(app(words, standalone_mode=False, prog_name=app.info.name or None) or 0)
        if code == INTERRUPTED:  # typer makes this code of Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.write(held.getvalue() if held else "")
        sys.stdout.flush()
        _warn_of_variables()
    except DatasmithError as error:
        return _tell(_failure(type(error).__name__, str(error), error.exit_code), held)
    except TyperException as error:
        return _tell(_failure(ConfigError.__name__, *explained(error, app, words)), held)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except Exception as error:
        return _tell(_surprise(error), held)
    return code


def _failure(kind: str, message: str, exit_code: int) -> Failure:
    """With the message on one line, which is cut after its secrets are gone, so that no half of one is left."""
    return Failure(kind, one_line(our_redactor()(message)), exit_code)


def _stopped(command: str | None, words: Sequence[str]) -> Failure:
    """In our own words: what looks for secrets may be a library that is half loaded now."""
    process.kill_descendants()
    if not _BEGIN_ANEW.isdisjoint(words[:2]):
        return Failure(STOPPED, "stopped; the same command begins anew", stop_code())
    how = "with --resume, the same command" if command == "fc-data" else "the same command"
    return Failure(STOPPED, f"stopped; {how} goes on where this one ended", stop_code())


def _surprise(error: Exception) -> Failure:
    """One line for what should not happen; what the disk refuses is no defect of ours."""
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        verb = "read or write" if error.errno in {errno.EACCES, errno.EPERM} else "write"
        what = f"cannot {verb} {error.filename or 'a file'}: {error.strerror}"
        return _failure(StoreUnavailable.__name__, what, StoreUnavailable.exit_code)
    kind = type(error).__name__
    return _failure(kind, f"{kind}: {one_line(str(error))} (a defect: {_keep_traceback()})", 1)


def _tell(failure: Failure, held: StringIO | None) -> int:
    """Print the one line, and the document that --json asks for; returns the exit code."""
    _warn_of_variables()
    if held is not None:
        print(held.getvalue() or f"{document({'error': asdict(failure)})}\n", end="")
    with contextlib.suppress(DatasmithError):  # a full disk: the line and the code still tell
        sys.stdout.flush()
    print(f"error: {failure.message}", file=sys.stderr)
    return failure.exit_code


def _warn_of_variables() -> None:
    """Name the variables that look misspelt, where the command has read its settings at all."""
    settings = sys.modules.get("datasmith.settings")  # pydantic is slow to import, and --help needs none
    if settings is None or not hasattr(settings, "misspelt"):  # also where Ctrl-C came while it was loaded
        return
    with contextlib.suppress(ConfigError):
        for name, near in settings.misspelt(settings.environment()).items():
            print(
                f"warning: {one_line(name)} is no setting, and nobody reads it: did you mean {near}?", file=sys.stderr
            )


def brief(text: str, most: int) -> str:
    """The text on one line of at most `most` characters; an ellipsis stands for the rest, behind a word if it can."""
    line = one_line(text)
    space = line.rfind(" ", most // 2, most)
    return cut(line, space + 1 if space > 0 and len(line) > most else most)


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
