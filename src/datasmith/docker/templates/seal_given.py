"""Inside a sandbox, in the tree: what the host tells of the fix, laid out for the searches.

Arguments: where the lines go that the fix adds, one a line; where the files go as it leaves them; where the names go
that it brings, one a line; words that call git. Standard input: JSON, {"lines": [...], "patches": [...], "paths":
[...], "names": [...]}, each patch a git diff of the file at its path.
A file that the tree's commit has with the same content, under any name, is not the fix's; the others are written as
`SIZE<tab>SHA256<tab>N`, where N counts the patches. Prints `whole<tab>N` for each of these, and `other<tab>N` for a
patch that does not apply to the commit, or names another file before it than the commit's (git would apply it some
lines further on): that one is not what the fix was made of.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

SMALLEST = 100
"""Bytes; a smaller file may be anywhere by chance."""
FILE = b"100"
"""How the modes of files begin; links and submodules have others."""
BEFORE = re.compile(rb"^index ([0-9a-f]{7,64})\.\.", re.MULTILINE)
"""The id, whole or shortened, of the file that a patch was made of."""
MOVED = re.compile(rb"^(?:rename|copy) from ([^\"\n].*)$", re.MULTILINE)


class Index:
    """An index of its own over the tree's commit; what is written goes to an object store of its own."""

    def __init__(self, git: list[str], place: Path) -> None:
        self.git = git
        self.path = place / "index"
        (place / "objects").mkdir()
        objects = {"GIT_OBJECT_DIRECTORY": str(place / "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES": ".git/objects"}
        self.env = {**os.environ, **objects, "GIT_INDEX_FILE": str(self.path)}
        self.run("read-tree", "HEAD")
        self.at_base = self.path.read_bytes()

    def run(self, *words: str) -> bytes:
        """What git prints; ends the search where it fails."""
        return subprocess.run([*self.git, *words], env=self.env, check=True, stdout=subprocess.PIPE).stdout

    def apply(self, patch: bytes) -> bool:
        """Whether all of a patch applies to the commit; then the index has it."""
        self.path.write_bytes(self.at_base)
        words = [*self.git, "apply", "--cached", "--whitespace=nowarn", "-"]
        return subprocess.run(words, check=False, env=self.env, input=patch, stderr=subprocess.DEVNULL).returncode == 0

    def changed(self) -> dict[bytes, str]:
        """Path and id of the files that the index has, and the commit does not."""
        answer = self.run("diff-index", "--cached", "-z", "--no-renames", "--diff-filter=d", "HEAD")
        heads, paths = answer.split(b"\0")[:-1:2], answer.split(b"\0")[1::2]
        fields = {path: head.split() for path, head in zip(paths, heads)}  # noqa: B905 (Python 3.8 knows no strict)
        return {path: found[3].decode() for path, found in fields.items() if found[1].startswith(FILE)}


def fixed(index: Index, patches: list[bytes], paths: list[bytes]) -> tuple[dict[int, str], list[int]]:
    """The ids of files as the fix leaves them, by the place of their patch, and the patches that do not apply."""
    if index.apply(b"".join(patches)):
        ids = index.changed()
        return {number: ids[path] for number, path in enumerate(paths) if path in ids}, []
    found, other = {}, []
    for number, patch in enumerate(patches):
        if index.apply(patch):
            ids = index.changed()
            found.update({number: ids[paths[number]]} if paths[number] in ids else {})
        elif b"\n@@ " in patch:
            other.append(number)
    return found, other


def is_of_another(patch: bytes, path: bytes, at_base: dict[bytes, bytes]) -> bool:
    """Whether a patch says that it was made of another file than the commit's; a new file is made of none."""
    head = patch.partition(b"\n@@ ")[0]
    before, moved = BEFORE.search(head), MOVED.search(head)
    if not before or not before[1].strip(b"0") or (b' from "' in head and not moved):
        return False
    return not at_base.get(moved[1] if moved else path, b"").startswith(before[1])


def main(lines: str, files: str, names: str, *git: str) -> None:
    """See the module."""
    given = json.load(sys.stdin)
    for path, texts in ((lines, given["lines"]), (names, given["names"])):
        Path(path).write_bytes(b"".join(text.encode("utf-8", "surrogateescape") + b"\n" for text in texts))
    patches = [patch.encode("utf-8", "surrogateescape") for patch in given["patches"]]
    paths = [path.encode("utf-8", "surrogateescape") for path in given["paths"]]
    with tempfile.TemporaryDirectory() as place, Path(files).open("w") as listed:
        index = Index(list(git), Path(place))
        entries = (line.partition(b"\t") for line in index.run("ls-tree", "-rz", "HEAD").split(b"\0") if line)
        ids = {path: head.split()[2] for head, _, path in entries}
        at_base = {name.decode() for name in ids.values()}
        found, other = fixed(index, patches, paths) if patches else ({}, [])
        others = {*other, *(number for number, path in enumerate(paths) if is_of_another(patches[number], path, ids))}
        for number, name in found.items():
            content = index.run("cat-file", "blob", name)
            if name not in at_base and len(content) >= SMALLEST:
                print(f"{len(content)}\t{sha256(content).hexdigest()}\t{number}", file=listed)
                sys.stdout.write(f"whole\t{number}\n")
    sys.stdout.writelines(f"other\t{number}\n" for number in sorted(others))


if __name__ == "__main__":
    main(*sys.argv[1:])
