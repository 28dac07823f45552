"""Imports the modules named on the command line and prints, as JSON, what that did: a script of test_imports."""

import importlib
import json
import logging
import os
import sys
import threading

WATCHED = {"socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork", "os.mkdir", "os.remove"}
seen: list[str] = []


def watch(event: str, words: tuple[object, ...]) -> None:
    """Audit hook: note what opens files to write, reaches out or starts something."""
    if event == "open" and set(str(words[1] or "r")) & set("wax+"):
        seen.append(f"writes {words[0]}")
    elif event in WATCHED:
        seen.append(f"{event} {words!r:.200}")


environment = dict(os.environ)
sys.addaudithook(watch)
for name in sys.argv[1:]:
    importlib.import_module(name)
report = {
    "seen": seen,
    "handlers": len(logging.getLogger().handlers) + len(logging.getLogger("datasmith").handlers),
    "threads": threading.active_count(),
    "environment": dict(os.environ) == environment,
    "modules": sorted(sys.modules),
}
print(json.dumps(report))
