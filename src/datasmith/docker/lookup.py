"""The seam to what is remembered of builds: the context of a repository or of a pull request, by its name."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from datasmith.docker.context import DockerContext

if TYPE_CHECKING:
    from datasmith.settings import Settings

REMEMBERED = "datasmith.runners.contexts:StoredContexts"
"""Where `ImageManager` looks when it is not told; `module:name` takes Settings and gives a ContextLookup."""


@dataclass(frozen=True, slots=True)
class FoundContext:
    """A context that builds what was asked for, and where it was found, in words.

    It holds lock.txt and build_args.sh (FC_PYTHON and FC_APT_PACKAGES among its assignments) beside Dockerfiles and
    scripts; `source` is the tar of the sealed base tree, of a pull request only.
    """

    context: DockerContext
    origin: str
    source: Path | None = None


class ContextLookup(Protocol):
    """Knows how repositories and pull requests are built."""

    def of_repository(self, owner: str, repo: str) -> FoundContext | None:
        """The newest context of a repository; None where nothing is known of it.

        Raises:
            StoreError: what remembers cannot be asked.
        """

    def of_pull_request(self, owner: str, repo: str, number: int) -> FoundContext | None:
        """The newest context of a pull request, with its source; None where nothing is known of it.

        Raises:
            ConfigError: its context is known and its tree is not here; says how to get it.
            StoreError: what remembers cannot be asked.
        """


def remembered(settings: "Settings") -> ContextLookup:
    """The lookup in the store that `settings` name; nothing is opened yet."""
    module, _, name = REMEMBERED.partition(":")
    return cast("ContextLookup", getattr(importlib.import_module(module), name)(settings))
