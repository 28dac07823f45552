"""Say what an environment and a tree hold, so that two builds can be compared: one JSON object on standard output.

Run by the system's own interpreter in isolated mode: nothing of the environment is imported.
"""

import hashlib
import json
import os
import sys

MOST_TEXT = 20000
SYSTEM = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
OPTIONS = ("setup.cfg", "pyproject.toml")
"""Files of many uses, in which pytest may find its options."""
ENTRY_POINTS = "entry_points.txt"
DESCRIPTIONS = ("setup.py", "setup.cfg", "pyproject.toml")
PLUGINS = "pytest11"
"""The group of entry points that pytest imports."""


def files_below(top: str) -> "dict[str, str]":
    """Digest by path relative to `top`; links are what they point to."""
    found = {}
    for folder, below, names in os.walk(top, onerror=stop):
        for name in names + [name for name in below if os.path.islink(os.path.join(folder, name))]:
            path = os.path.join(folder, name)
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


def with_options(tree: str, names: "list[str]") -> "list[str]":
    """Paths of the files OPTIONS that speak of pytest."""
    named = [name for name in names if os.path.basename(name) in OPTIONS]
    return [name for name in named if speaks_of("pytest", os.path.join(tree, name))]


def speaks_of(word: str, path: str) -> bool:
    """Whether that word is in a file."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return word.encode() in file.read()


def plugins(top: str, names: "list[str]") -> "dict[str, str]":
    """The text of every list of entry points that speaks of pytest's plug-ins: pytest imports them when it starts."""
    lists = [name for name in names if os.path.basename(name) == ENTRY_POINTS]
    paths = {name: os.path.join(top, name) for name in lists}
    return {name: text_of(path) for name, path in paths.items() if speaks_of(PLUGINS, path)}


def declared(tree: str) -> str:
    """What the tree's own descriptions of its package say, as far as they speak of pytest's plug-ins."""
    texts = [text_of(os.path.join(tree, name)) for name in DESCRIPTIONS]
    return "\n".join(text for text in texts if PLUGINS in text)


def text_of(path: str) -> str:
    """The beginning of a file; empty where there is none."""
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(MOST_TEXT)


def programs() -> "list[str]":
    """Names of the system's own programs; those in Python belong to packages, which an environment may hold, too."""
    places = [place for place in SYSTEM if os.path.isdir(place)]
    return sorted({name for place in places for name in os.listdir(place) if not is_python(os.path.join(place, name))})


def is_python(path: str) -> bool:
    """Whether a file is a script in Python."""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return False
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first


def stop(error: OSError) -> None:
    """What cannot be looked into is no answer."""
    raise error


def start_files(top: str, names: "list[str]") -> "dict[str, str]":
    """The text of every .pth file: the interpreter reads them when it starts."""
    paths = {name: os.path.join(top, name) for name in names if name.endswith(".pth")}
    return {name: text_of(path) for name, path in paths.items() if os.path.isfile(path)}


def main() -> None:
    """The environment is the first argument, the tree the second."""
    env, tree = sys.argv[1:3]
    files, names = files_below(env), files_of_tree(tree)
    held = {
        "files": files,
        "start": start_files(env, list(files)),
        "tree": names,
        "options": with_options(tree, names),
        "programs": programs(),
        "plugins": {**plugins(env, list(files)), **plugins(tree, names)},
        "declared": declared(tree),
    }
    print(json.dumps(held))


if __name__ == "__main__":
    main()
