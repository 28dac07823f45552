"""Ctrl-C at the very beginning, while a command still loads its libraries; and SIGTERM, which is Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from datasmith.cli.entry import INTERRUPTED
from tests.unit.test_process import gone

SLOW = """import os, pathlib, time
pathlib.Path(os.environ["LOADING"]).touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    pass  # as some libraries do
"""

STOPPED = """
import signal, sys, threading
import anyio, anyio.to_thread, typer
from datasmith.cli.common import run_app
from datasmith.process import run
app = typer.Typer()

@app.command()
def work(ignore_ctrl_c: bool = False, in_a_loop: bool = False) -> None:
    if ignore_ctrl_c:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = ["sh", "-c", "echo $$ >> pids; sleep 60; true"]
    threading.Thread(target=run, args=(child,)).start()
    if in_a_loop:
        anyio.run(lambda: anyio.to_thread.run_sync(run, child, abandon_on_cancel=True))
    run(child)

sys.exit(run_app(app))
"""
"""A command that works with two programs, each in a thread of its own."""


CLEARING = """
import sys, time
from pathlib import Path
import anyio, typer
from datasmith.cli.common import run_app
from datasmith.cli.progress import StageBars
from datasmith.cli.trial_progress import TrialBars
app = typer.Typer()

@app.command()
def work(trials: bool = False, in_a_loop: bool = False) -> None:
    async def wait() -> None:
        Path("begun").touch()
        await anyio.sleep(60)

    with TrialBars() if trials else StageBars():
        try:
            if in_a_loop:
                anyio.run(wait)
            Path("begun").touch()
            time.sleep(60)
        finally:
            deadline = time.monotonic() + 30
            while not Path("err").read_text() and time.monotonic() < deadline:
                time.sleep(0.01)
            print("cleared up", file=sys.stderr)

sys.exit(run_app(app))
"""
"""A command that clears up for as long as nothing is told, thirty seconds at most."""


@pytest.mark.parametrize("words", [[], ["--in-a-loop"], ["--trials"], ["--trials", "--in-a-loop"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_is_told_before_all_is_cleared_up(tmp_path: Path, words: list[str], number: signal.Signals) -> None:
    """Once, and while sandboxes are still deleted: whoever waits knows that the key was heard."""
    with (tmp_path / "err").open("wb") as said:
        child = subprocess.Popen([sys.executable, "-c", CLEARING, *words], cwd=tmp_path, stderr=said)
    give_up = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and child.poll() is None and time.monotonic() < give_up:
        time.sleep(0.01)
    child.send_signal(number)
    assert child.wait(timeout=60) == 128 + number
    lines = (tmp_path / "err").read_text().splitlines()
    assert lines[:2] == ["stopping: clearing up", "cleared up"]
    assert len(lines) == 3 and lines[2].startswith("error: stopped; ")


@pytest.mark.parametrize("name", ["fc-data", "fc-eval"])
def test_ctrl_c_while_loading_is_one_line(tmp_path: Path, name: str) -> None:
    """No traceback, exit code 130, and at once: even where a library would swallow it."""
    (tmp_path / "typer.py").write_text(SLOW)
    loading = tmp_path / "loading"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "LOADING": str(loading)}
    command = [sys.executable, str(Path(sys.executable).with_name(name)), "--help"]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + 60
    while not loading.exists() and child.poll() is None and time.monotonic() < give_up:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (INTERRUPTED, "", "error: stopped before anything was begun\n")


@pytest.mark.parametrize("name", ["fc-data", "fc-eval"])
def test_the_commands_begin(name: str) -> None:
    """After loading, Ctrl-C is the command's own affair again; `--version` is printed."""
    function = name.replace("-", "_")
    program = (
        "import signal, sys; from datasmith.cli import entry\n"
        f"sys.argv = ['{name}', '--version']\n"
        f"try:\n    entry.{function}()\n"
        "finally:\n    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[1], done.stderr) == (0, "True", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_ignored_signal_stays_ignored(name: str) -> None:
    """As `nohup` and a shell's background jobs have it: while loading, and in the command."""
    program = (
        f"import os, signal, sys; signal.signal(signal.{name}, signal.SIG_IGN)\n"
        "from datasmith.cli import entry\n"
        "sys.argv = ['fc-eval', '--version']\n"
        f"sys.meta_path.insert(0, type('Hook', (), dict(find_spec=lambda *a: os.kill(os.getpid(), signal.{name}))))\n"
        f"try:\n    entry.fc_eval()\nfinally:\n    print(signal.getsignal(signal.{name}) is signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("True", "")


HOOK = """
import os, sys
class Hook:
    done = False
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == os.environ["STOP_AT"] and not cls.done:
            cls.done = True
            os.kill(os.getpid(), int(os.environ["STOP_BY"]))
sys.meta_path.insert(0, Hook)
"""
"""Sends this process a signal when a module is imported for the first time."""
BEFORE = "stopped before anything was begun"
WITHIN = "stopped; the same command begins anew"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("datasmith.cli.eval", BEFORE),
        ("typer", BEFORE),
        ("datasmith.cli.stopping", BEFORE),
        ("datasmith.settings", WITHIN),
        ("asyncio", WITHIN),
        ("asyncio.base_events", WITHIN),
        ("asyncio.tasks", WITHIN),
        ("pydantic_settings.main", WITHIN),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_in_the_middle_of_any_import_is_one_line(
    tmp_path: Path, module: str, said: str, number: signal.Signals
) -> None:
    """Whatever is half loaded then is not needed to say so: no traceback, and the exit code of the signal."""
    done = stopped_at(tmp_path, module, number)
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert done.stderr == f"error: {said}\n"


@pytest.mark.parametrize("module", ["signal", "enum", "functools"])
def test_ctrl_c_before_there_is_a_handler_is_one_line(tmp_path: Path, module: str) -> None:
    """What a handler needs takes longer to load than all that comes before."""
    done = stopped_at(tmp_path, module, signal.SIGINT)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", f"error: {BEFORE}\n")


def test_ctrl_c_before_anything_was_begun_is_a_document_too(tmp_path: Path) -> None:
    """Where --json asks for one."""
    done = stopped_at(tmp_path, "datasmith.cli.eval", signal.SIGTERM, "--json")
    assert done.stderr == f"error: {BEFORE}\n"
    assert json.loads(done.stdout) == {
        "error": {"kind": "Interrupted", "message": BEFORE, "exit_code": 128 + signal.SIGTERM}
    }


@pytest.mark.parametrize("words", [("certify", "a"), ("redteam", "a"), ("tasks", "interact", "a")])
def test_what_cannot_be_gone_on_with_does_not_say_so(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Of these nothing is kept."""
    done = stopped_at(tmp_path, "datasmith.settings", signal.SIGINT, *words[1:], command=words[0])
    assert (done.returncode, done.stderr) == (INTERRUPTED, "error: stopped; the same command begins anew\n")


def stopped_at(
    where: Path, module: str, number: signal.Signals, *words: str, command: str = "report"
) -> subprocess.CompletedProcess[str]:
    """A command about what is not there, by default a report, which gets a signal when it imports a module."""
    (where / "sitecustomize.py").write_text(HOOK)
    env = {**os.environ, "PYTHONPATH": str(where), "STOP_AT": module, "STOP_BY": str(number.value)}
    argv = [str(Path(sys.executable).with_name("fc-eval")), command, *(words or ("gone",))]
    return subprocess.run(argv, env=env, cwd=where, capture_output=True, text=True, timeout=60, check=False)


def test_the_first_line_is_near() -> None:
    """What is imported before a command can be stopped properly: our own three files, and nothing beside Python's."""
    program = "import sys; before = {*sys.modules}; import datasmith.cli.entry; print(sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "['datasmith', 'datasmith.cli', 'datasmith.cli.entry']\n"


@pytest.mark.parametrize("words", [[], ["--ignore-ctrl-c"], ["--in-a-loop"], ["--in-a-loop", "--ignore-ctrl-c"]])
@pytest.mark.parametrize("times", [1, 2])
def test_sigterm_ends_what_the_command_began(tmp_path: Path, words: list[str], times: int) -> None:
    """One line, exit code 143, no program left; where Ctrl-C is ignored, too, and where it is sent twice."""
    note = tmp_path / "pids"
    command = [sys.executable, "-c", STOPPED, *words]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + 60
    while not (note.exists() and note.read_text().count("\n") == 2) and time.monotonic() < give_up:
        time.sleep(0.01)
    for _ in range(times):
        child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=50)
    assert (child.returncode, out) == (128 + signal.SIGTERM, "")
    assert err == "error: stopped; the same command goes on where this one ended\n"
    assert all(gone(int(pid)) for pid in note.read_text().split())


def test_a_second_sigterm_in_the_last_moment_does_nothing() -> None:
    """When Python has taken its handlers back, and clears up its modules: the exit code is the first one's."""
    program = (
        "import os, signal, sys, typer; from datasmith.cli.common import run_app\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGTERM): kill(pid, number)\n"
        "app, late = typer.Typer(), Late()\n"
        "@app.command()\ndef work() -> None: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(run_app(app, []))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, ""), done.stderr


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_a_signal_is_left_as_it_was(name: str) -> None:
    """After a command; and while it works where it was ignored, or another thread than the main one runs it."""
    program = (
        "import signal, sys, threading, typer; from datasmith.cli.common import run_app\n"
        "app = typer.Typer()\n"
        "@app.command()\ndef show() -> None: print(signal.getsignal(signal.SIGTERM).__class__.__name__)\n"
        "run_app(app, [])\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)\n"
        "other = threading.Thread(target=run_app, args=(app, [])); other.start(); other.join()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); run_app(app, [])\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)"
    )
    program = program.replace("SIGTERM", name)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["function", "True", "Handlers", "Handlers", "True"], done.stderr
