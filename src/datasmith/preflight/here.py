"""Checks of this machine: settings, store, engine, room on the disks, programs."""

import os
import shutil
import stat
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import parse_stream

from datasmith import process
from datasmith.agents.coding.programs import find_program
from datasmith.agents.coding.writers import find_cli
from datasmith.counted import counted
from datasmith.docker.engines import open_engine
from datasmith.errors import ConfigError, EngineUnavailable, SchemaMismatch
from datasmith.executors.cores import core_sets, usable_cores
from datasmith.misfits import nearest
from datasmith.preflight.base import Answer, Facts
from datasmith.settings import TOKENS_FILE, Settings, known_variables, unknown_variables
from datasmith.storage import open_store

LEAST_MB = {"data_dir": 1_000, "cache_dir": 5_000}
"""Room that a month's run should find; builds alone take gigabytes of the cache."""
AGENTS = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "gemini": "npm install -g @google/gemini-cli",
    "mini": "pip install mini-swe-agent",
}
"""Programs of coding agents, and how each is installed."""
ENGINES = {
    "auto": "apt-get install bubblewrap, or start docker or podman",
    "bubblewrap": "apt-get install bubblewrap; where it may not start: docs/howto/allow-bubblewrap.md",
    "docker": "apt-get install docker.io, systemctl start docker, usermod -aG docker $USER; or --engine bubblewrap",
    "podman": "apt-get install podman, and see what `podman info` says; or --engine bubblewrap",
}
"""The engine that was asked for, and what makes it usable."""
_SINCE_EPOCH = "1970-01-01T00:00:00+00:00"


def tokens_file(_facts: Facts) -> Answer:
    """A file of tokens is optional; where there is one, nobody else should be able to read it."""
    if TOKENS_FILE.is_dir():
        return Answer("FAIL", "is a directory, and is not read", f"mv {TOKENS_FILE} elsewhere")
    if not TOKENS_FILE.is_file():
        return Answer("SKIP", "no such file in this directory; the environment alone is read")
    with TOKENS_FILE.open(encoding="utf-8", errors="replace") as file:
        broken = [line.original.line for line in parse_stream(file) if line.error]
    if broken:
        return Answer(
            "FAIL", f"line {broken[0]} cannot be read, and nobody reads it", "write it as in FC_ENGINE=docker"
        )
    without = [name for name, value in dotenv_values(TOKENS_FILE).items() if value is None]
    if without:
        said = f"{counted(len(without), 'line')} without a value, which nobody reads"
        return Answer("FAIL", said, "write each as in FC_ENGINE=docker")
    if TOKENS_FILE.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return Answer("OK", "readable, but by other users, too", f"chmod 600 {TOKENS_FILE}")
    return Answer("OK", "readable")


def variables(facts: Facts) -> Answer:
    """A misspelt name would be ignored in silence."""
    unknown = unknown_variables(facts.variables)
    if not unknown:
        ours = [name for name in facts.variables if name.upper().startswith("FC_")]
        return Answer("OK", f"{len(ours)} set, all known")
    near = nearest(unknown[0].upper(), known_variables())
    guess = f"did you mean {near}? " if near else ""
    return Answer(
        "FAIL", f"not known: {', '.join(unknown)}", f"{guess}rename or remove it (docs/reference/settings.md)"
    )


def store(facts: Facts) -> Answer:
    """The database opens, has this version's tables, and takes a write; nothing is created or changed."""
    settings = facts.settings
    path = sqlite_file(settings)
    if not settings.database_url and facts.variables.get("SUPABASE_URL"):
        todo = "DATABASE_URL=postgresql://postgres:PASSWORD@127.0.0.1:54322/postgres (`npx supabase status` prints it)"
        return Answer("FAIL", "SUPABASE_URL is set; the store is reached by its database's address", todo)
    if path is not None and not path.exists():
        return _to_be_made(path)
    try:
        with open_store(settings, create=False) as found:
            found.check()
    except SchemaMismatch as error:
        return _schema(error)
    if path is not None and not os.access(path, os.W_OK):
        return Answer("FAIL", f"{path} cannot be written", f"chown or chmod it for the user who runs fc-data: {path}")
    from datetime import datetime

    with open_store(settings) as found:
        # Changes no row, and is refused by a database that takes no writes.
        found.reopen("preflight", 1, ("pending",), datetime.fromisoformat(_SINCE_EPOCH))
    return Answer("OK", f"{path or 'DATABASE_URL'}: tables of this version, writable")


def sqlite_file(settings: Settings) -> Path | None:
    """The store's file; None where it is a server."""
    url = settings.database_url
    if not url:
        return settings.data_dir / "fc.sqlite"
    return Path(url.partition(":///")[2].partition("?")[0]) if url.startswith("sqlite") else None


def _to_be_made(path: Path) -> Answer:
    there = _existing(path.parent)
    if there.is_dir() and os.access(there, os.W_OK):
        return Answer("OK", f"{path} will be made by the first run")
    return Answer(
        "FAIL",
        f"{path} cannot be made: {there} is not a directory we can write",
        "set FC_DATA_DIR (example: ~/fc-data)",
    )


def _schema(error: SchemaMismatch) -> Answer:
    from datasmith.storage.migrate import is_known

    if error.found == "empty" or is_known(error.found):
        return Answer("OK", f"schema {error.found}: the next run brings it to {error.expected}")
    return Answer("FAIL", str(error), "install the newest fc-data, or name another database in DATABASE_URL")


def engine(facts: Facts) -> Answer:
    """A sandbox can be started now."""
    try:
        return Answer("OK", f"{open_engine(facts.settings).name} can be used")
    except EngineUnavailable as error:
        return Answer("FAIL", " ".join(str(error).split()), ENGINES[facts.settings.engine])


def pythons(facts: Facts) -> Answer:
    """Interpreters that environments can be built with."""
    try:
        opened = open_engine(facts.settings)
    except EngineUnavailable:
        return Answer("SKIP", "no engine", "mend the engine first")
    found = opened.pythons()  # its base image may be out of reach, which the caller tells
    if found:
        return Answer("OK", ", ".join(found))
    return Answer("FAIL", "no interpreter is offered", "uv python install 3.10 3.11 3.12, or another FC_BASE_IMAGE")


def room(which: str, place: Path) -> Answer:
    """Free space where `place` is, or will be."""
    there = _existing(place)
    if not there.is_dir() or not os.access(there, os.W_OK):
        text = f"{place} cannot be used: {there} is not a directory we can write"
        return Answer("FAIL", text, f"set FC_{which.upper()} (example: ~/fc-data)")
    free = shutil.disk_usage(there).free // 1024**2
    if free < LEAST_MB[which]:
        text = f"{place}: {free} MB free, {LEAST_MB[which]} MB are needed"
        return Answer("FAIL", text, f"free some space, or set FC_{which.upper()} to a larger disk")
    return Answer("OK", f"{place}: {free} MB free")


def data_room(facts: Facts) -> Answer:
    """Room for the store, logs and task folders."""
    return room("data_dir", facts.settings.data_dir)


def cache_room(facts: Facts) -> Answer:
    """Room for image layers."""
    return room("cache_dir", facts.settings.cache_dir)


def git(_facts: Facts) -> Answer:
    """Clones are read with git."""
    try:
        done = process.run(["git", "--version"], timeout=10)
    except FileNotFoundError:
        return Answer("FAIL", "not found", "apt-get install git")
    said = done.text.strip()
    return Answer("OK", said) if done.ok else Answer("FAIL", said or f"exit code {done.rc}", "apt-get install git")


def cores(facts: Facts) -> Answer:
    """Each pull request that is measured has a core of its own."""
    try:
        found = core_sets(facts.settings.bench_cores, usable_cores())
    except ConfigError as error:
        return Answer("FAIL", str(error), "or leave it unset: then every core is used, the last one first")
    place = facts.settings.locks_dir.absolute()
    there = _existing(place)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Answer("FAIL", f"cannot write {place}, where cores are taken", "set FC_LOCKS_DIR (example: ~/fc-cores)")
    return Answer("OK", f"{len(found)} at once, on {'; '.join(','.join(map(str, each)) for each in found)}")


def uv(_facts: Facts) -> Answer:
    """Environments are resolved with uv."""
    try:
        program = process.find_uv()
    except ConfigError:
        return Answer("FAIL", "not found", "pip install uv")
    done = process.run([program, "--version"], timeout=10)
    if not done.ok:
        return Answer("FAIL", f"{program}: exit code {done.rc}", "pip install --force-reinstall uv")
    return Answer("OK", f"{done.text.strip()} ({program})")


def agents(facts: Facts) -> Answer:
    """Coding agents are optional: what is mined needs none."""
    settings = facts.settings
    found = [name for name in AGENTS if find_program(name, settings.agents_dir)]
    if found:
        chosen = find_cli("auto", settings) if settings.agent == "auto" else None
        used = f"auto takes {chosen.name}" if chosen else f"FC_AGENT={settings.agent}"
        used = "no key of a model is set, so none is used" if settings.agent == "auto" and not chosen else used
        return Answer("OK", f"{', '.join(found)}; {used}")
    name, install = next(iter(AGENTS.items()))
    return Answer("SKIP", f"none of {', '.join(AGENTS)} is installed", f"for {name}: {install}")


def _existing(place: Path) -> Path:
    """The place, or the nearest directory above it that is there."""
    whole = place.expanduser().absolute()
    return next(path for path in (whole, *whole.parents) if path.exists())
