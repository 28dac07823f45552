"""The git forge: a clone with 5,000 pull requests, mined whole (target: 10 s)."""

import asyncio
import tempfile
import time
from pathlib import Path

from datasmith.github.base import Window
from datasmith.github.git_forge import GitForge
from datasmith.process import run

PULL_REQUESTS = 5_000
FILES = 200
LINES = 120
START = 1_700_000_000


def history() -> bytes:
    """A stream for `git fast-import`: one squash commit per pull request, each changing one of 200 files."""
    contents = [[f"value_{line} = {line}" for line in range(LINES)] for _ in range(FILES)]
    parts: list[bytes] = []
    for number in range(PULL_REQUESTS + 1):
        which = number % FILES
        for step in range(8):
            contents[which][(number * 7 + step * 13) % LINES] = f"value_{step} = {number}  # changed by {number}"
        title = f"Speed up part {which} (#{number})" if number else "The first commit"
        message = f"{title}\n\nThe loop is gone.\n".encode()
        blob = ("\n".join(contents[which]) + "\n").encode()
        parts.append(b"commit refs/heads/main\n")
        parts.append(b"committer A Person <a@example.org> %d +0000\n" % (START + number * 600))
        parts.append(b"data %d\n%s\n" % (len(message), message))
        parts.append(b"M 100644 inline package/part_%d.py\ndata %d\n%s\n" % (which, len(blob), blob))
    return b"".join(parts)


async def mine(clone: Path) -> tuple[int, int]:
    """Number of pull requests in the clone, and the characters of their patches."""
    forge = GitForge(clone, "example/history")
    window = Window.parse("2020-01-01", "2030-01-01")
    patches = [len(pr.patch or "") async for pr in forge.merged_pull_requests(forge.repository, window)]
    return len(patches), sum(patches)


def main() -> None:
    """Make the history, mine it, and print the time."""
    with tempfile.TemporaryDirectory() as directory:
        clone = Path(directory) / "clone.git"
        run(["git", "init", "-q", "--bare", "--initial-branch=main", clone])
        made = run(["git", f"--git-dir={clone}", "fast-import", "--quiet"], stdin=history())
        if not made.ok:
            raise SystemExit(made.error_text)
        started = time.perf_counter()
        count, characters = asyncio.run(mine(clone))
        seconds = time.perf_counter() - started
    if count != PULL_REQUESTS:
        raise SystemExit(f"found {count} pull requests of {PULL_REQUESTS}")
    print(f"{count} pull requests, {characters / 1e6:.1f} MB of patches: {seconds:.2f} s (target 10 s)")


if __name__ == "__main__":
    main()
