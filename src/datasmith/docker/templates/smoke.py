"""Inside a sandbox: import modules, and say so last, with the token that stood on standard input.

Arguments: the modules. What they print goes to standard error: a module that ends the interpreter has said nothing.
Run with -I and -S: before the token is read nothing of the image runs, then what the interpreter starts with follows.
"""

from __future__ import annotations

import importlib
import json
import os
import site
import sys


def main(names: list[str]) -> None:
    """See the module."""
    token, answer = sys.stdin.readline().strip(), os.dup(1)
    os.dup2(2, 1)
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    site.main()
    for name in names:
        importlib.import_module(name)
    os.write(answer, json.dumps({"token": token, "names": names}).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
