"""Say what an environment and a tree hold, so that two builds can be compared: one JSON object on standard output.

Run by the system's own interpreter in isolated mode: nothing of the environment is imported.
"""

import hashlib
import json
import os
import sys

MOST_TEXT = 20000


def files_below(top: str) -> "dict[str, str]":
    """Digest by path relative to `top`; links are what they point to, byte code is left out."""
    found = {}
    for folder, below, names in os.walk(top, onerror=stop):
        for name in names + [name for name in below if os.path.islink(os.path.join(folder, name))]:
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


def files_of_tree(tree: str) -> "list[str]":
    """Paths of all files and links, relative; git is not asked: a build can tell it what not to see."""
    found = []
    for folder, below, names in os.walk(tree, onerror=stop):
        if folder == tree and ".git" in below:
            below.remove(".git")
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]
        paths = [os.path.relpath(os.path.join(folder, name), tree) for name in names + links]
        found += [os.fsencode(path).decode("utf-8", "replace") for path in paths]
    return found


def stop(error: OSError) -> None:
    """What cannot be looked into is no answer."""
    raise error


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
    print(json.dumps({"files": files_below(env), "start": start_files(env), "tree": files_of_tree(tree)}))


if __name__ == "__main__":
    main()
