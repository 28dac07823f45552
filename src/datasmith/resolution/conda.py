"""Read conda's environment files: which distributions they list, and what pip installs there besides."""

import posixpath
import re
from collections.abc import Iterable

import yaml

MAX_CHARACTERS = 200_000
_FILE_NAME = re.compile(r"(?:[\w.]+[-_.])?(?:environment|conda[-_]env|env)(?:[-_.][\w.-]+)?\.ya?ml", re.IGNORECASE)
_OWN_WORDS = re.compile(r"environments?|conda|envs?|ya?ml", re.IGNORECASE)


def is_environment_file(path: str) -> bool:
    """True for environment.yml, ci/environment-dev.yaml, conda_env.yml; not for env files of other tools."""
    return _FILE_NAME.fullmatch(posixpath.basename(path)) is not None


def told_by_name(path: str) -> str:
    """What the place and name of an environment file say it is for; one that says nothing is for development."""
    words = _OWN_WORDS.sub(" ", path.rpartition(".")[0])
    return words if re.search(r"\w", words) else "dev"


def nearest(paths: Iterable[str]) -> str | None:
    """Of several environment files the shallowest, then the one with the shortest name: they exclude each other."""
    return min(paths, key=lambda path: (path.count("/"), len(path), path), default=None)


def read_environment(text: str) -> tuple[str, ...]:
    """The lines of conda's and of pip's list, as written; a file that cannot be read lists nothing."""
    if len(text) > MAX_CHARACTERS:
        return ()
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()
    listed = document.get("dependencies") if isinstance(document, dict) else None
    found = list[str]()
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            further = item.get("pip")
            found += [line for line in further if isinstance(line, str)] if isinstance(further, list) else []
    return tuple(found)
