"""What resolution needs to know, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, slots=True)
class SourceTree:
    """What of a commit's tree the resolver reads: texts by path, and the paths of all files.

    Texts are those that say what is needed: pyproject.toml, setup.cfg, setup.py, requirements*.txt ...
    """

    texts: Mapping[str, str]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AsvHints:
    """What the asv configuration says about the environment: wanted Pythons, matrix requirements, what it installs.

    `install_paths` are the targets of its install command or its repo_subdir, like "./python[test]".
    """

    pythons: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    install_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRelease:
    """A release that is there as sources only, as they describe it without being run.

    `name` is canonical; `requires` are PEP 508, extras as markers; `build_requires` are what building it asks for;
    `compiled` is true where it holds sources to compile, with the Debian packages in `apt_packages`.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    build_requires: tuple[str, ...]
    compiled: bool = False
    apt_packages: tuple[str, ...] = ()


class Dropped(BaseModel):
    """A requirement that was left out, and why."""

    model_config = ConfigDict(frozen=True)
    requirement: str
    reason: str


class Resolution(BaseModel):
    """The environment of one commit.

    `python_version` like "3.11"; `pins` are "name==version", sorted; `lock` is a requirements file with hashes for
    `pins`, of which `sources` (pins too) have no wheels and are built in the sandbox: what that needs stands at the
    lock's end, in lines that begin with "#build ", and then what the project asks of its pins, in lines that begin with
    "#bound "; `project_root` is the directory with the package's metadata, relative to the tree; `import_names` are the
    modules the package provides; `build_requires` are among the pins; `compiled` is true where the package has sources
    that must be compiled; `apt_packages` are Debian packages that the builds need.
    """

    model_config = ConfigDict(frozen=True)

    python_version: str
    pins: tuple[str, ...]
    lock: str
    cutoff: datetime
    strategy: Literal["newest-python", "older-python"]
    dropped: tuple[Dropped, ...]
    project_root: str
    project_name: str
    import_names: tuple[str, ...]
    build_requires: tuple[str, ...]
    compiled: bool
    apt_packages: tuple[str, ...]
    log: str
    sources: tuple[str, ...] = ()
