"""fc-data as a process of its own: started, watched through its ledger, interrupted, and looked after."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pytest

from datasmith.cli.common import run_app
from datasmith.cli.data import app
from datasmith.settings import Settings

WINDOW = ("--start-date", "2026-02-01", "--end-date", "2026-03-01")
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    rc: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines that tell of a failure."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


@dataclass
class FcData:
    """fc-data with a data directory, a cache and a temporary directory of its own; `first_path` goes before PATH."""

    home: Path
    cache: Path
    first_path: Path | None = None
    extra: dict[str, str] = field(default_factory=dict)
    data: Path = Path()
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        self.data = self.home / "data"
        self.temporary.mkdir(parents=True, exist_ok=True)

    @property
    def temporary(self) -> Path:
        return self.home / "tmp"

    def start(self, *words: str | Path, module: str = "datasmith.cli.data") -> "subprocess.Popen[str]":
        """The running command."""
        env = {name: value for name, value in os.environ.items() if name not in _ours()}
        env |= {"FC_DATA_DIR": str(self.data), "FC_CACHE_DIR": str(self.cache), "FC_ENGINE": "bubblewrap"}
        env |= {"TMPDIR": str(self.temporary), **self.extra}
        if self.first_path:
            env["PATH"] = f"{self.first_path}:{env['PATH']}"
        program = f"from {module} import main; main()"
        command = [sys.executable, "-c", program, *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=env, cwd=self.home, stdout=pipe, stderr=pipe, text=True)

    def run(self, *words: str | Path) -> Ended:
        """The command, to its end."""
        return self.end(self.start(*words))

    def end(self, child: "subprocess.Popen[str]") -> Ended:
        """Wait for a command that was started."""
        try:
            out, err = child.communicate(timeout=self.patience_s)
        finally:
            child.kill()
        return Ended(child.returncode, out, err)

    def interrupted(self, stage: int, *words: str | Path) -> Ended:
        """The command, with Ctrl-C as soon as an item of `stage` is under way (and that item's first child runs)."""
        child = self.start(*words)
        deadline = time.monotonic() + self.patience_s
        while not self.under_way(stage) and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        if stage == 5:
            time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        return self.end(child)

    def under_way(self, stage: int) -> bool:
        """True while an item of the stage is leased."""
        try:
            with sqlite3.connect(f"file:{self.data}/fc.sqlite?mode=ro", uri=True) as ledger:
                found = ledger.execute("SELECT 1 FROM stage_items WHERE stage = ? AND state = 'leased'", (stage,))
                return found.fetchone() is not None
        except sqlite3.Error:
            return False

    def states(self, stage: int) -> dict[str, str]:
        """Number or repository -> state and reason."""
        with sqlite3.connect(f"file:{self.data}/fc.sqlite?mode=ro", uri=True) as ledger:
            rows = ledger.execute("SELECT item, state, reason FROM stage_items WHERE stage = ?", (stage,)).fetchall()
        return {item.rpartition(":")[2]: f"{state} {reason}".strip() for item, state, reason in rows}

    def funnel(self) -> dict[str, object]:
        """What `fc-data funnel --json` prints, here in this process; its counts add up."""
        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as place, redirect_stdout(out), redirect_stderr(err):
            place.chdir(self.home)
            for name in _ours():
                place.delenv(name, raising=False)
            rc = run_app(app, ["funnel", *WINDOW, "--json", "--data-dir", str(self.data)])
        assert rc == 0, err.getvalue()
        found = json.loads(out.getvalue())
        assert isinstance(found, dict) and found["breaches"] == []
        return found

    def leaks(self) -> list[str]:
        """What is left behind: temporary files, containers, builds, drafts, and processes that know this place."""
        places = [self.temporary, *(self.cache / name for name in ("containers", "builds")), self.data / "sources"]
        left = [str(path) for place in places if place.is_dir() for path in place.iterdir()]
        left += [str(path) for path in self.cache.glob("layers/.draft-*")]
        left += [str(path) for path in self.data.glob("*/.*") if path.is_dir()]
        return left + self._processes()

    def alone(self) -> bool:
        """True where no other sandbox engine works on this machine now: only then can control groups be counted."""
        marks = (b"fc-data", b"fc-eval", b"pytest", b"bwrap")
        ours = _ancestors()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if int(place.name) not in ours and any(mark in words for mark in marks):
                return False
        return True

    def _processes(self) -> list[str]:
        marks = (os.fsencode(self.home), os.fsencode(self.cache))
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if place.name != str(os.getpid()) and any(mark in words for mark in marks):
                found.append(words.replace(b"\0", b" ").decode("utf-8", "replace")[:200])
        return found


def _ours() -> set[str]:
    """The variables that a command would read its settings from, but for where packages come from."""
    return {"DATABASE_URL", *(f"FC_{name.upper()}" for name in Settings.model_fields)} - {"FC_INDEX_URL"}


def control_groups() -> set[Path]:
    """The control groups of sandboxes that exist now."""
    root = Path("/sys/fs/cgroup")
    return {path for depth in ("fc-*", "*/fc-*", "*/*/fc-*", "*/*/*/fc-*") for path in root.glob(depth)}


def _ancestors() -> set[int]:
    """This process and those above it."""
    found, pid = set(), os.getpid()
    while pid > 1:
        found.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found
