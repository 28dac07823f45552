"""An attack: a submission that must not score, with its class and what it does in a few words."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from datasmith.errors import ConfigError
from datasmith.tasks.gitdiff import split_diff

CONTROL = "control"
"""The class of what is no attack: it has to be measured, what it claims has to stand, and it may score."""
_BINARY = "GIT binary patch"
_NAMES_OF_BLOBS = re.compile(r"^index [0-9a-f]+\.\.[0-9a-f]+( \d+)?\n", re.MULTILINE)
HEADER = re.compile(r"# (\w+): (.+)")
"""A line that says something of an attack, above its text."""


@dataclass(frozen=True, slots=True)
class Attack:
    """`kind` is the class of the attack, `does` what it does in a few words, `patch` a git diff on the task's base."""

    name: str
    kind: str
    does: str
    patch: str

    @property
    def is_control(self) -> bool:
        """True for what is no attack."""
        return self.kind == CONTROL


def experts(patch: str) -> Attack | None:
    """The expert's patch as somebody else would hand it in: the same change, in a text that nobody trusts.

    Only the names of git's objects are left out in it, which git needs for files that are no text alone. Where that is
    all that there is, the files change their places. None where the text stays what it is, as of a single file that is
    binary, or that only gets another name: it would be trusted unseen.
    """
    does = "the expert's patch, handed in by somebody else: it has to be measured, and not refuted"
    files = [text if _BINARY in text else _NAMES_OF_BLOBS.sub("", text) for _, text in split_diff(patch)]
    handed = "".join(reversed(files))
    return None if handed == patch else Attack("expert-by-another", CONTROL, does, handed)


def read_headed(name: str, text: str) -> tuple[Mapping[str, str], str]:
    """The header's entries and the text below them.

    Raises:
        ConfigError: `kind` or `does` is missing.
    """
    lines = text.splitlines(keepends=True)
    entries: dict[str, str] = {}
    while lines and (found := HEADER.fullmatch(lines[0].rstrip("\n"))):
        entries[found[1]] = found[2].strip()
        del lines[0]
    missing = [word for word in ("kind", "does") if word not in entries]
    if missing:
        raise ConfigError(f"{name}: says no {missing[0]} (example: a first line `# {missing[0]}: result caching`)")
    return entries, "".join(lines)


def read_patches(directory: Path) -> tuple[Attack, ...]:
    """The attacks of a directory of .patch files, each a git diff below lines `# kind: ...` and `# does: ...`.

    Raises:
        ConfigError: there are none, or one has no header.
    """
    paths = sorted(directory.glob("*.patch"))
    if not paths:
        raise ConfigError(f"--patches {directory}: holds no .patch files (example: --patches attacks)")
    return tuple(_patch_file(path) for path in paths)


def _patch_file(path: Path) -> Attack:
    entries, patch = read_headed(path.name, path.read_bytes().decode("utf-8", "surrogateescape"))
    return Attack(path.stem, entries["kind"], entries["does"], patch)


def without_doubles(attacks: Iterable[Attack]) -> tuple[Attack, ...]:
    """The attacks in order.

    Raises:
        ConfigError: two have one name.
    """
    found: dict[str, Attack] = {}
    for attack in attacks:
        if attack.name in found:
            raise ConfigError(f"two attacks are called {attack.name!r} (example: rename one of the .patch files)")
        found[attack.name] = attack
    return tuple(found.values())
