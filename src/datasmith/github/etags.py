"""Replies that GitHub can be asked about again for free: bounded stores of bodies by address, with their ETags."""

import hashlib
import json
import logging
import os
import tempfile
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anyio import to_thread

_log = logging.getLogger(__name__)
MAX_BYTES = 64 * 2**20
"""What a store keeps, bodies compressed; the entries that were not used for the longest time go first."""
_HEADERS = ("link", "content-type", "etag")


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply with status 200: its ETag, the headers that matter, and its body."""

    etag: str
    headers: dict[str, str]
    body: bytes


class ReplyStore(Protocol):
    """Remembers replies; may forget any of them at any time. Never fails: what cannot be kept is not kept."""

    async def get(self, key: str) -> Kept | None:
        """The reply kept for `key`."""

    async def put(self, key: str, kept: Kept) -> None:
        """Keep a reply in the place of an older one."""


def worth_keeping(headers: Mapping[str, str], body: bytes) -> Kept | None:
    """The reply as it is kept; None where GitHub gave no ETag."""
    etag = headers.get("etag", "")
    return Kept(etag, {name: headers[name] for name in _HEADERS if name in headers}, body) if etag else None


class MemoryReplies:
    """Replies in memory."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._packed: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    async def get(self, key: str) -> Kept | None:
        """See ReplyStore."""
        packed = self._packed.get(key)
        if packed is None:
            return None
        self._packed.move_to_end(key)
        return _unpack(packed)

    async def put(self, key: str, kept: Kept) -> None:
        """See ReplyStore."""
        packed = _pack(kept)
        self._bytes += len(packed) - len(self._packed.pop(key, b""))
        self._packed[key] = packed
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._packed.popitem(last=False)[1])


class DirectoryReplies:
    """Replies as files, each written by an atomic rename; several processes may share the directory."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._bytes: int | None = None

    async def get(self, key: str) -> Kept | None:
        """See ReplyStore."""
        return await to_thread.run_sync(self._read, key)

    async def put(self, key: str, kept: Kept) -> None:
        """See ReplyStore."""
        await to_thread.run_sync(self._write, key, kept)

    def _read(self, key: str) -> Kept | None:
        path = self._path(key)
        try:
            packed = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return _unpack(packed)

    def _write(self, key: str, kept: Kept) -> None:
        packed = _pack(kept)
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=self._directory, prefix=".", delete=False) as file:
                file.write(packed)
            Path(file.name).replace(self._path(key))
            self._bytes = (self._bytes or 0) + len(packed) if self._bytes is not None else None
            if self._bytes is None or self._bytes > self._max_bytes:
                self._forget_oldest()
        except OSError as error:
            _log.warning("%s: a reply could not be kept: %s", self._directory, error.strerror)

    def _path(self, key: str) -> Path:
        return self._directory / hashlib.sha256(key.encode()).hexdigest()

    def _forget_oldest(self) -> None:
        """Count what is there, and keep nine tenths of what is permitted."""
        found = [(path.stat(), path) for path in self._directory.iterdir() if path.is_file()]
        found.sort(key=lambda one: one[0].st_mtime_ns)
        total = sum(status.st_size for status, _ in found)
        if total > self._max_bytes:
            for status, path in found:
                if total <= self._max_bytes * 0.9:
                    break
                path.unlink(missing_ok=True)
                total -= status.st_size
        self._bytes = total


def _pack(kept: Kept) -> bytes:
    head = json.dumps([kept.etag, kept.headers]).encode()
    return len(head).to_bytes(4, "big") + head + zlib.compress(kept.body, 1)


def _unpack(packed: bytes) -> Kept | None:
    """None where the bytes are damaged."""
    size = int.from_bytes(packed[:4], "big")
    try:
        etag, headers = json.loads(packed[4 : 4 + size])
        names = {str(name): str(value) for name, value in headers.items()}
        return Kept(str(etag), names, zlib.decompress(packed[4 + size :]))
    except (ValueError, AttributeError, zlib.error):
        return None
