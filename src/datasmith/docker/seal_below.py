"""Lay into a sandbox what only who pulls the image can read, so that the seal searches it like all else."""

import io
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator

from datasmith.docker.below import CONFIGURATION, Hidden
from datasmith.docker.engine import CACHE_DIR, Container
from datasmith.docker.environment import SYSTEM_PATH
from datasmith.errors import ContainerError

PLACE = f"{CACHE_DIR}/.fc-below"
"""Where it lies meanwhile: a directory for each layer, in which a file has its whole path."""
_TIMEOUT_S = 300.0
_AT_ONCE = 2**25
_FILE = re.compile(rf"{re.escape(PLACE)}/\d+/")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,64}(?![0-9a-f])", re.IGNORECASE)
"""Also behind a letter, as versions that are made of git's state have it: `1.2.dev3+gdeadbee`."""
_UNPACK = 'mkdir -p "$1" && tar -xf - -C "$1"'


class Below:
    """What was laid out: how many files, and what of it speaks against the seal by itself."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self.files = 0
        self.unread: list[str] = []
        self.configuration = ""

    def lay_out(self, hidden: Iterable[Hidden]) -> None:
        """Write it into the container.

        Raises:
            ContainerError: it cannot be written there.
        """
        self.take_away()
        for tar in self._tars(hidden):
            self._run(["sh", "-c", _UNPACK, "unpack", PLACE], tar)

    def take_away(self) -> None:
        """Leave the container as it was."""
        self._run(["rm", "-rf", PLACE])

    def problems(self, objects: Collection[str]) -> Iterator[str]:
        """What could not be read, and ids of the fix in the configuration, which may be shortened there or here."""
        yield from (f"cannot be read to its end: {path}, in a lower layer" for path in self.unread)
        for name in named_in(self.configuration, objects):
            yield f"the image's configuration names {name}, an object of the fix"

    def _tars(self, hidden: Iterable[Hidden]) -> Iterator[bytes]:
        waiting, size = list[tuple[str, bytes]](), 0
        for path, content in hidden:
            if content is None:
                self.unread.append(path)
                continue
            if path == CONFIGURATION:
                self.configuration = content.decode("utf-8", "replace")
            else:
                self.files += 1
            waiting.append((path, content))
            size += len(content)
            if size >= _AT_ONCE:
                yield _tar(waiting)
                waiting, size = [], 0
        yield _tar(waiting)

    def _run(self, words: list[str], stdin: bytes = b"") -> None:
        done = self._container.exec(words, timeout=_TIMEOUT_S, cwd="/", env={"PATH": SYSTEM_PATH}, stdin=stdin)
        if not done.ok:
            said = done.error_text.strip()[-300:]
            raise ContainerError(f"cannot check the seal: what lower layers hold cannot be laid out: {said}")


def named_in(text: str, objects: Iterable[str]) -> list[str]:
    """The ids (hex, whole or shortened) that a text names, itself whole or shortened."""
    words = {word.lower() for word in _ID.findall(text)}
    return [name for name in sorted(objects) if any(word.startswith(name) or name.startswith(word) for word in words)]


def is_below(path: str) -> bool:
    """Whether a path of the sandbox is one of what was laid into it."""
    return path.startswith(f"{PLACE}/")


def shown(problem: str) -> str:
    """A problem as it concerns the image."""
    return _FILE.sub("in a lower layer: /", problem.replace(f"{PLACE}/{CONFIGURATION}", "the image's configuration"))


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in files:
            member = tarfile.TarInfo("/".join(part for part in path.split("/") if part not in {"", ".", ".."}))
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return target.getvalue()
