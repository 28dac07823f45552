"""A process for the tests to kill: builds the same three tiers in a cache directory, and starts a container."""

import sys
from pathlib import Path

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import ImageRef, Tier

ENV_SCRIPT = b"mkdir $FC_ENV/lib; for i in $(seq 40); do echo $i >$FC_ENV/lib/$i; done; sleep 0.1"
PR_SCRIPT = b"for i in $(seq 40); do echo $i >$FC_WORKDIR/$i; done; echo x >$FC_ENV/lib/1; sleep 0.1"


def build(cache: Path) -> tuple[BubblewrapEngine, ImageRef]:
    """The image of the pr tier."""
    engine = BubblewrapEngine(cache)
    log = cache.parent / "log"
    base = engine.build(None, Tier("base", "b", (), {}), log=log)
    args = {"FC_PYTHON": engine.pythons()[0]}
    env = engine.build(base, Tier("env", "e", ("e.sh",), {"e.sh": ENV_SCRIPT}, args), log=log)
    return engine, engine.build(env, Tier("pr", "p", ("p.sh",), {"p.sh": PR_SCRIPT}), log=log)


def shown_in_processes(word: str) -> list[int]:
    """Processes whose command line holds the word."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def main() -> None:
    """Build, start, and run until killed."""
    engine, image = build(Path(sys.argv[1]))
    with engine.start(image, writable_env=True) as container:
        container.exec(["sleep", "60"], timeout=90)


if __name__ == "__main__":
    main()
