"""Say what an environment and a tree hold, so that two builds can be compared: one JSON object on standard output.

Run by the system's own interpreter in isolated mode: nothing of the environment is imported.
"""

import hashlib
import json
import os
import subprocess
import sys

MOST_TEXT = 20000


def files_below(top: str) -> "dict[str, str]":
    """Digest by path relative to `top`; links are what they point to, byte code is left out."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".pyc"):
                found[os.path.relpath(path, top)] = digest(path)
    return found


def digest(path: str) -> str:
    """Of the content; of a link, of its target's name."""
    if os.path.islink(path):
        return "link " + os.readlink(path)
    if not os.path.isfile(path):
        return "special"
    whole = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            whole.update(chunk)
    return whole.hexdigest()


def untracked(tree: str) -> "list[str]":
    """Files that git does not know, those that it is told to ignore as well."""
    words = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "ls-files", "--others", "-z"]
    done = subprocess.run(words, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [name.decode("utf-8", "replace") for name in done.stdout.split(b"\0") if name]


def start_files(top: str) -> "dict[str, str]":
    """The text of every .pth file: the interpreter reads them when it starts."""
    found = {}
    for name in files_below(top):
        path = os.path.join(top, name)
        if name.endswith(".pth") and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                found[name] = file.read(MOST_TEXT)
    return found


def main() -> None:
    """The environment is the first argument, the tree the second."""
    env, tree = sys.argv[1:3]
    print(json.dumps({"files": files_below(env), "start": start_files(env), "untracked": untracked(tree)}))


if __name__ == "__main__":
    main()
