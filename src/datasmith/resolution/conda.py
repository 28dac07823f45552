"""Read conda's environment files: which distributions they list, and what pip installs there besides."""

import posixpath
import re
from collections.abc import Iterable

import yaml

from datasmith.resolution.requirements import from_conda

MAX_CHARACTERS = 200_000
MOST_ALIASES = 100
"""An alias makes more of a file than it is long: what it stands for is read again."""
MOST_PAIRS = 1000
"""Of one mapping with those that it merges in."""
MOST_LINES = 10_000
_NOT_OF_ITS_TAG = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError)
"""What PyYAML's constructors raise for a text that is no number, no day ... although its tag says so."""
_FILE_NAME = re.compile(r"(?:[\w.]+[-_.])?(?:environment|conda[-_]env|env)(?:[-_.][\w.-]+)?\.ya?ml", re.IGNORECASE)
_OWN_WORDS = re.compile(r"environments?|conda|envs?|ya?ml", re.IGNORECASE)


class _Loader(yaml.SafeLoader):
    """Refuses a file that grows by its aliases."""

    _aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """See SafeLoader."""
        self._aliases += self.check_event(yaml.AliasEvent)
        if self._aliases > MOST_ALIASES:
            raise yaml.YAMLError(f"more than {MOST_ALIASES} aliases")
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """See SafeLoader."""
        super().flatten_mapping(node)
        if len(node.value) > MOST_PAIRS:
            raise yaml.YAMLError(f"a mapping of more than {MOST_PAIRS} pairs")


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
    """The lines of conda's list, by their names on PyPI, and of pip's list, as written.

    Raises:
        ValueError: the file is unreadable, or over a limit; says which.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS} characters")
    try:
        document = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, *_NOT_OF_ITS_TAG) as error:
        raise ValueError(f"it is no YAML ({type(error).__name__})") from error
    listed = document.get("dependencies") if isinstance(document, dict) else None
    found = list[str]()
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, str):
            found.append(from_conda(item))
        elif isinstance(item, dict):
            further = item.get("pip")
            found += [line for line in further if isinstance(line, str)] if isinstance(further, list) else []
    if len(found) > MOST_LINES:
        raise ValueError(f"it lists {len(found)} lines (at most {MOST_LINES} are read)")
    return tuple(found)
