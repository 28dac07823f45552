"""Lay into a sandbox what only who pulls the image can read, so that the seal searches it like all else."""

import io
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator

from datasmith.docker.below import CONFIGURATION, COVERED, PART, Hidden
from datasmith.docker.engine import CACHE_DIR, Container
from datasmith.docker.environment import SYSTEM_PATH
from datasmith.errors import ContainerError

PLACE = f"{CACHE_DIR}/.fc-below"
"""Where it lies meanwhile: a directory for each layer, in which a file has its whole path."""
_TIMEOUT_S = 300.0
_FILE = re.compile(rf"{re.escape(PLACE)}/\d+/")
_COVERED = re.compile(rf"{re.escape(PLACE)}/{COVERED}/")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,64}(?![0-9a-f])", re.IGNORECASE)
"""Also behind a letter, as versions that are made of git's state have it: `1.2.dev3+gdeadbee`."""
_UNPACK = 'mkdir -p "$1" && tar -xf - -C "$1"'
_APPEND = 'cat >>"$1"'
_File = tuple[str, bytes]


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
        for files, rest in self._portions(hidden):
            if files:
                self._run(["sh", "-c", _UNPACK, "unpack", PLACE], _tar(files))
            for path, part in rest:
                self._run(["sh", "-c", _APPEND, "append", f"{PLACE}/{_safe(path)}"], part)

    def take_away(self) -> None:
        """Leave the container as it was."""
        self._run(["rm", "-rf", PLACE])

    def problems(self, objects: Collection[str]) -> Iterator[str]:
        """What could not be read, and ids of the fix in the configuration, which may be shortened there or here."""
        yield from (shown(f"cannot be read to its end: {PLACE}/{path}") for path in self.unread)
        for name in named_in(self.configuration, objects):
            yield f"the image's configuration names {name}, an object of the fix"

    def _portions(self, hidden: Iterable[Hidden]) -> Iterator[tuple[list[_File], list[_File]]]:
        """Files to be written, and what one of them goes on with; little more than PART bytes at a time."""
        waiting, size, last = list[_File](), 0, ""
        for path, content in hidden:
            if content is None:
                self.unread.append(path)
            elif path == last:
                yield waiting, [(path, content)]
                waiting, size = [], 0
            else:
                waiting.append((path, content))
                size, last = size + len(content), path
                self._count(path, content)
            if size >= PART:
                yield waiting, []
                waiting, size = [], 0
        yield waiting, []

    def _count(self, path: str, content: bytes) -> None:
        if path == CONFIGURATION:
            self.configuration = content.decode("utf-8", "replace")
        else:
            self.files += 1

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
    text = _COVERED.sub("where a sandbox has its own: /", problem)
    return _FILE.sub("in a lower layer: /", text.replace(f"{PLACE}/{CONFIGURATION}", "the image's configuration"))


def _safe(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in {"", ".", ".."})


def _tar(files: Iterable[_File]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in files:
            member = tarfile.TarInfo(_safe(path))
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return target.getvalue()
