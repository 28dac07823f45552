"""What of a build context makes one tier: its Dockerfile, its scripts, and the files that they need."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from datasmith.docker.cli_build import PARENT_ARG, TIER_DOCKERFILES, declared_arguments, template
from datasmith.docker.context import BOUND, DOCKERFILES, SCRIPTS, DockerContext
from datasmith.docker.engine import TierKind
from datasmith.docker.source_tar import REPO_TAR
from datasmith.errors import ConfigError

WHOLE = "Dockerfile"
"""All tiers in one file: what other harnesses build a task folder with."""
SOURCES = ("repo.tar.gz", REPO_TAR)
"""Names of the archive of the tree, in the order in which it is looked for."""
_SCRIPTS: Mapping[TierKind, tuple[str, ...]] = {"base": SCRIPTS[:1], "env": SCRIPTS[1:2], "pr": SCRIPTS[2:]}


@dataclass(frozen=True)
class Recipe:
    """One tier's part of a context; `dockerfile` is empty where it is our own."""

    dockerfile: str
    scripts: tuple[str, ...]
    files: Mapping[str, bytes]

    @cached_property
    def digest(self) -> str:
        """Stands for everything in it."""
        whole = hashlib.sha256(self.dockerfile.encode())
        for name, data in sorted(self.files.items()):
            whole.update(b"\0%s\0%d\0%s" % (name.encode(), len(data), data))
        return whole.hexdigest()

    def asks_for(self, name: str) -> bool:
        """Whether its own Dockerfile names a file."""
        return bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", self.dockerfile))


def recipe_of(context: DockerContext, kind: TierKind, *also: str) -> Recipe:
    """The recipe of a tier, whose files are its scripts and `also`; a script that the context lacks is our own.

    A Dockerfile of the context's own gets all files of the context, and no script where the context has none for the
    tier: then the Dockerfile alone says what is done.
    """
    names, own = _SCRIPTS[kind], own_dockerfile(context, kind)
    scripts = names if not own or any(name in context.texts for name in names) else ()
    texts = {name: context.texts.get(name) or template(name) for name in scripts}
    texts |= {name: _installed(context.texts[name]) for name in also if name in context.texts}
    if own:
        texts = {name: text for name, text in context.texts.items() if name not in DOCKERFILES} | texts
    return Recipe(own, scripts, {name: text.encode() for name, text in texts.items()})


def source_files(recipe: Recipe, archive: Path) -> dict[str, bytes | Path]:
    """The archive of the tree as the names by which a tier asks for it.

    Raises:
        ConfigError: it is asked for and not there.
    """
    wanted = [REPO_TAR] if recipe.scripts or recipe.asks_for(REPO_TAR) else []
    wanted += [name for name in SOURCES if name != REPO_TAR and recipe.asks_for(name)]
    if wanted and not archive.is_file():
        raise ConfigError(f"{archive} is not there: no tree to build (example: environment/repo.tar.gz)")
    return dict.fromkeys(wanted, archive)


def _installed(lock: str) -> str:
    """What of a lock is installed: without what only a change of its pins asks for, so that tiers are shared."""
    return "".join(line for line in lock.splitlines(keepends=True) if not line.startswith(BOUND))


def own_dockerfile(context: DockerContext, kind: TierKind) -> str:
    """The Dockerfile that a context has for a tier; empty where it has none, or ours word by word."""
    name = TIER_DOCKERFILES[kind]
    text = context.texts.get(name, "")
    return "" if text == template(name) else text


def stands_on_parent(context: DockerContext, kind: TierKind) -> bool:
    """Whether a tier is built on the one below: our own Dockerfiles are, one of the context's that declares PARENT."""
    own = own_dockerfile(context, kind)
    return not own or PARENT_ARG in declared_arguments(own)


def for_tier(context: DockerContext, kind: TierKind) -> DockerContext:
    """The context, with its file Dockerfile as that of the tier `kind` where it is its only one and not ours."""
    text = context.texts.get(WHOLE, "")
    if not text or text == template(WHOLE) or any(name in context.texts for name in TIER_DOCKERFILES.values()):
        return context
    return DockerContext({**context.texts, TIER_DOCKERFILES[kind]: text})
