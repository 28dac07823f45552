"""Every failure is one line and an exit code."""

import errno
import json
import logging
import sys
import threading
from pathlib import Path
from typing import Annotated

import pytest
import typer

from datasmith import process
from datasmith.cli.common import run_app
from datasmith.cli.entry import INTERRUPTED
from datasmith.cli.logs import set_up_logging
from datasmith.errors import BuildFailed, ConfigError, InvalidTask, StoreUnavailable
from datasmith.printable import one_line


def app_raising(error: BaseException) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def fail(count: int = 0) -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ConfigError("--x is wrong"), 2, "--x is wrong"),
        (BuildFailed("pkg", 1, "a\nb\x1b[31m"), 31, "build stage 'pkg' failed"),
        (InvalidTask(["a", "b"]), 33, "a; b"),
        (KeyboardInterrupt(), INTERRUPTED, "stopped; the same command goes on"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/data/x"),
            StoreUnavailable.exit_code,
            "cannot write /data/x",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/data/x"), 23, "cannot read or write /data/x"),
        (typer.Exit(7), 7, None),
        (typer.Abort(), INTERRUPTED, "stopped"),
        (typer.BadParameter("no"), 2, "no"),
    ],
)
def test_an_error_is_one_line_and_its_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, says: str | None
) -> None:
    """On standard error, with nothing on standard output and no control characters."""
    assert run_app(app_raising(error), []) == code
    out, err = capsys.readouterr()
    assert out == ""
    if says is None:
        assert err == ""
    else:
        assert says in err and err.startswith("error: ") and err.count("\n") == 1 and "\x1b" not in err


@pytest.mark.parametrize(("error", "last"), [(typer.Exit(0), ""), (ConfigError("x"), "error: x\n")])
def test_a_misspelt_variable_is_told(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: Exception,
    last: str,
) -> None:
    """Once, before what is wrong, whichever way it is given; not by a command that reads no settings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.env").write_text("FC_DATADIR=elsewhere\n")
    monkeypatch.setenv("FC_GITHUB_TIMEOUTS\x1b", "9")
    run_app(app_raising(error), [])
    said = "is no setting, and nobody reads it: did you mean"
    expected = [f"warning: FC_DATADIR {said} FC_DATA_DIR?", f"warning: FC_GITHUB_TIMEOUTS {said} FC_GITHUB_TIMEOUT_S?"]
    assert capsys.readouterr().err == "".join(f"{line}\n" for line in expected) + last
    monkeypatch.delitem(sys.modules, "datasmith.settings")
    run_app(app_raising(typer.Exit(0)), [])
    assert capsys.readouterr().err == ""


def test_a_wrong_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """As typer finds it, without its box."""
    for words in (["--nonsense"], ["--count", "many"]):
        assert run_app(app_raising(ConfigError("x")), words) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_document_holds_what_the_commands_own_thread_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json what agents of somebody else's print, in threads of their own, is none of it."""
    app = typer.Typer()

    @app.command()
    def talk(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
        work = threading.Thread(target=print, args=("hello",))
        work.start()
        work.join()
        print(json.dumps({"json": as_json}))

    assert run_app(app, ["--json"]) == 0
    assert capsys.readouterr() == ('{"json": true}\n', "hello\n")


def test_a_defect_keeps_its_traceback(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line names the file; where none can be written, it says so."""
    assert run_app(app_raising(ZeroDivisionError("by\nzero")), []) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: ZeroDivisionError: by zero (a defect: details in ") and err.count("\n") == 1
    log = Path(err.rpartition("details in ")[2].strip().rstrip(")"))
    assert "Traceback" in log.read_text()
    log.unlink()


def test_a_defect_without_a_place_for_its_traceback(tmp_path: Path) -> None:
    """A full or missing temporary directory does not hide the error."""
    program = (
        "import sys, tempfile, typer; from datasmith.cli.common import run_app; tempfile.tempdir = sys.argv[1]\n"
        "app = typer.Typer()\n@app.command()\ndef fail() -> None:\n    raise ZeroDivisionError('x')\n"
        "sys.exit(run_app(app, []))"
    )
    done = process.run([sys.executable, "-c", program, tmp_path / "missing"], timeout=60)
    assert (done.rc, done.error_text.count("\n")) == (1, 1)
    assert "its details could not be kept" in done.error_text


def test_what_a_terminal_cannot_show_is_spelled() -> None:
    """A title in any writing, and a lone surrogate, are no reason to break off."""
    program = (
        "import sys, typer; from datasmith.cli.common import run_app\n"
        "app = typer.Typer()\n@app.command()\ndef talk() -> None:\n    print('a\\u65e5\\ud800')\n"
        "sys.exit(run_app(app, []))"
    )
    for encoding, shown in (("ascii", b"a\\u65e5\\ud800\n"), ("utf-8", "a日\\ud800\n".encode())):
        env = process.clean_environment({"PYTHONIOENCODING": encoding})
        done = process.run([sys.executable, "-c", program], env=env, timeout=60)
        assert (done.rc, done.stdout) == (0, shown)


def test_a_reader_that_leaves_is_no_error() -> None:
    """`fc-data … | head -1` ends quietly."""
    program = (
        "import os, sys, typer; from datasmith.cli.common import run_app\n"
        "reader, writer = os.pipe(); os.close(reader); os.dup2(writer, 1)\n"
        "app = typer.Typer()\n@app.command()\ndef talk() -> None:\n    print('x')\n"
        "sys.exit(run_app(app, []))"
    )
    done = process.run([sys.executable, "-c", program], timeout=60)
    assert (done.rc, done.error_text) == (0, "")


@pytest.mark.parametrize(("text", "shown"), [("a\n b\t\x00c", "a b c"), ("é\u202e", "é"), ("", "")])
def test_one_line_has_no_control_characters(text: str, shown: str) -> None:
    """Nor anything that turns the direction of writing."""
    assert one_line(text) == shown
    assert len(one_line("x" * 9999)) == 2000


@pytest.fixture
def logger() -> logging.Logger:
    return logging.getLogger("datasmith")


def test_the_log_file_gets_what_the_level_lets_through(tmp_path: Path, logger: logging.Logger) -> None:
    """Its directory is made; setting up twice does not write twice."""
    log = tmp_path / "logs/fc.log"
    for _ in range(2):
        set_up_logging("INFO", log)
    logger.info("seen")
    logger.debug("not seen")
    assert log.read_text().count("seen") == 1 and "not seen" not in log.read_text()
    set_up_logging("INFO")


def test_a_line_of_the_log_says_a_thing_once(tmp_path: Path, logger: logging.Logger) -> None:
    """What the line for people leaves in the record is not repeated in the file."""
    set_up_logging("INFO", tmp_path / "fc.log")
    logger.warning("seen")
    assert json.loads((tmp_path / "fc.log").read_text()).keys() == {"event", "level", "logger", "timestamp"}
    set_up_logging("INFO")


@pytest.mark.parametrize(("level", "place"), [("LOUD", None), ("INFO", "file/logs/fc.log")])
def test_a_log_that_cannot_be_set_up_is_named(tmp_path: Path, level: str, place: str | None) -> None:
    """A level that does not exist, a directory that cannot be made."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="example"):
        set_up_logging(level, tmp_path / place if place else None)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
