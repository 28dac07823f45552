"""Ask a project's own build what it depends on: its code runs in a sandbox without network, and nowhere else."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from packaging.markers import Marker, UndefinedEnvironmentName
from packaging.metadata import parse_email
from packaging.utils import canonicalize_name

from datasmith.docker.context import DockerContext
from datasmith.docker.engine import CACHE_DIR, WORKDIR, Container, ContainerEngine, ImageRef
from datasmith.docker.images import ImageManager, ImagePlan
from datasmith.errors import BuildFailed, CommandTimedOut, ContainerError
from datasmith.resolution.metadata import ProjectMetadata
from datasmith.resolution.requirements import parsed
from datasmith.resolution.versions import RELEASED

TIMEOUT_S = 600.0
MOST_BYTES = 1_000_000
MOST_NAMED = 5000
"""Extras that all requirements together may name: the largest real projects have some thousand, and each takes a
millisecond."""
MOST_EXTRAS = 20
"""So many that one requirement names are looked at: for each, its marker is asked on every Python."""
_EXTRA = re.compile(r'\bextra [=!]= "([^"]*)"|"([^"]*)" [=!]= extra\b')
"""In a marker as packaging writes it."""
_TEMPORARY = re.compile(r"\b(tmp-?)[a-z0-9_]{8}\b")
"""What Python calls a temporary file: never the same twice."""
_SOURCE, _PROGRAM, _ANSWER = (f"{CACHE_DIR}/{name}" for name in ("repo.tar", "ask_metadata.py", "METADATA"))


@dataclass(frozen=True, slots=True)
class Told:
    """What a build said; `problem` says why it said nothing."""

    dependencies: tuple[str, ...] = ()
    extras: dict[str, tuple[str, ...]] = field(default_factory=dict)
    requires_python: str = ""
    problem: str = ""

    def added_to(self, metadata: ProjectMetadata) -> ProjectMetadata:
        """The description of the project with what was told; what its files say and leave to nobody stays."""
        listed = {name: lines for name, lines in metadata.extras.items() if lines}
        if not metadata.extras_known:
            listed = {name: tuple(dict.fromkeys((*self.extras.get(name, ()), *listed[name]))) for name in listed}
        return replace(
            metadata,
            dependencies=metadata.dependencies if metadata.dependencies_known else self.dependencies,
            dependencies_known=True,
            extras={**self.extras, **listed},
            extras_known=True,
            requires_python=metadata.requires_python or self.requires_python,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """In which environment a build is asked: Python, lock, Debian packages; no network.

    `version` is what tools are told that would ask version control, empty where none would.
    """

    repository: str
    python: str
    lock: str
    apt_packages: tuple[str, ...] = ()
    version: str = ""


class MetadataHook:
    """Runs the metadata hooks of projects on an engine; `logs` is where its builds write."""

    def __init__(self, engine: ContainerEngine, *, namespace: str, logs: Path) -> None:
        self._engine = engine
        self._images = ImageManager(engine, namespace=namespace)
        self._logs = logs

    def ask(self, question: Question, metadata: ProjectMetadata, source: Path) -> Told:
        """What the build of the project in the tar `source` says.

        Raises:
            EngineUnavailable, IndexUnavailable: the engine is gone, or what its environment comes from is.
            CommandTimedOut, DiskFull: it took too long, or too much room, which another day it need not: no answer, so
                that a commit has one.
        """
        try:
            with self._engine.start(self._environment(question)) as container:
                return self._run(container, metadata, source, question.version)
        except BuildFailed as error:
            if error.timed_out:
                raise CommandTimedOut(f"the build environment of its metadata: {error}") from error
            return Told(problem=f"its build environment cannot be made: {error}")

    def _environment(self, question: Question) -> ImageRef:
        owner, _, repo = question.repository.partition("/")
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{re.sub(r'[^A-Za-z0-9._-]', '-', f'{owner}-{repo}')[:200]}.metadata.log"
        context = DockerContext.default(lock=question.lock)
        plan = ImagePlan(owner, repo, "metadata", question.python, question.apt_packages, context, Path())
        return self._images.build_env(self._images.build_base(question.apt_packages, context, log=log), plan, log=log)

    def _run(self, container: Container, metadata: ProjectMetadata, source: Path, version: str) -> Told:
        program = files("datasmith.resolution").joinpath("inside/ask_metadata.py").read_bytes()
        container.write_file(_PROGRAM, program)
        container.write_file(_SOURCE, source.read_bytes())
        unpacked = container.exec(["tar", "-xf", _SOURCE, "-C", WORKDIR], timeout=TIMEOUT_S)
        if not unpacked.ok:
            return Told(problem=f"its tree cannot be unpacked: {unpacked.error_text[-300:]}")
        asked = container.exec(
            ["python", _PROGRAM, _ANSWER, metadata.build_backend, *metadata.backend_path],
            timeout=TIMEOUT_S,
            cwd=f"{WORKDIR}/{metadata.root}",
            env={"SETUPTOOLS_SCM_PRETEND_VERSION": version, "PBR_VERSION": version} if version else {},
        )
        if asked.timed_out:
            raise CommandTimedOut(f"its build did not say what it depends on within {TIMEOUT_S:.0f} s")
        if not asked.ok:
            said = _TEMPORARY.sub(r"\1", " ".join(asked.error_text.split()))
            return Told(problem=f"its build fails: {said[-300:]}")
        try:
            return read_told(container.read_file(_ANSWER, max_bytes=MOST_BYTES).decode("utf-8", "replace"))
        except (FileNotFoundError, ContainerError) as error:
            return Told(problem=f"its build leaves no metadata: {type(error).__name__}")


def read_told(text: str) -> Told:
    """Read metadata as a build wrote it: run-time requirements, and those of extras without the marker for them."""
    raw, _ = parse_email(text)
    found: dict[str, list[str]] = {}
    lines = raw.get("requires_dist", ())
    named = sum(line.count("extra") for line in lines)
    if named > MOST_NAMED:
        return Told(problem=f"its requirements name extras {named} times (at most {MOST_NAMED} times are looked at)")
    for line in lines:
        for extra, requirement in _by_extra(line):
            found.setdefault(extra, []).append(requirement)
    lists = {name: tuple(asked) for name, asked in found.items()}
    return Told(lists.pop("", ()), lists, raw.get("requires_python", ""))


def _by_extra(line: str) -> Iterator[tuple[str, str]]:
    """The extras that ask for a requirement, "" for none, each with what it asks for; what cannot be read stays."""
    asking = _asking(line)
    if not asking:
        yield "", line
        return
    always = asking.pop("")
    if always:
        yield "", _on(always, line)
    yield from ((extra, _on(pythons, line)) for extra, pythons in asking.items() if pythons and pythons != always)


def _asking(line: str) -> dict[str, tuple[str, ...]]:
    """The extras that a requirement's marker names, and "" for none of them: on which Pythons it holds for each."""
    try:
        marker = parsed(line).marker
        named = sorted({canonicalize_name(before or after) for before, after in _EXTRA.findall(str(marker))})
        return {extra: _pythons(marker, extra) for extra in ("", *named[:MOST_EXTRAS])} if marker and named else {}
    except (ValueError, UndefinedEnvironmentName):
        return {}


def _pythons(marker: Marker, extra: str) -> tuple[str, ...]:
    """The Pythons on which a marker holds here, each with its newest patch, where an extra is asked for."""
    told = ((version, {"python_version": version, "python_full_version": f"{version}.99"}) for version in RELEASED)
    return tuple(version for version, here in told if marker.evaluate({**here, "extra": extra}))


def _on(pythons: Collection[str], line: str) -> str:
    """A requirement under no other condition than its Pythons."""
    requirement = parsed(line)
    listed = " or ".join(f"python_version == '{version}'" for version in pythons)
    requirement.marker = Marker(listed) if len(pythons) < len(RELEASED) else None
    return str(requirement)
