"""Make small git repositories, ordinary and hostile ones, for tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from datasmith.process import run

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class ScriptedRepository:
    """A bare repository whose commits are made from object to object, so that a tree may hold any name."""

    path: Path
    moment: datetime = START
    tip: str = ""
    files: dict[bytes, tuple[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.git("init", "-q", "--bare", "--initial-branch=main", "--template=", str(self.path))

    def git(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run git in the repository; returns what it printed, without the last newline."""
        names = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in self._who().items()}
        base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
        where = [] if words[0] == "init" else [f"--git-dir={self.path}"]
        done = run(["git", *where, *words], env=base | names | dict(env or {}), stdin=stdin)
        assert done.ok, f"git {words}: {done.error_text}"
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def _who(self) -> dict[str, str]:
        return {"NAME": "Mira Toll", "EMAIL": "mira@example.org", "DATE": self.moment.strftime("%s +0000")}

    def blob(self, content: bytes) -> str:
        """The id of a blob."""
        return self.git("hash-object", "-w", "--stdin", "--no-filters", stdin=content)

    def tree(self, entries: list[tuple[str, str, bytes]]) -> str:
        """The id of a tree of (mode, id, name), in the given order, however wrong."""
        raw = b"".join(
            mode.lstrip("0").encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, oid, name in entries
        )
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=raw)

    def commit(self, message: str, changes: Mapping[str | bytes, bytes | None], *, mode: str = "100644") -> str:
        """A commit on main; None deletes a file. Each commit is an hour after the last one."""
        for name, content in changes.items():
            path = name.encode() if isinstance(name, str) else name
            if content is None:
                self.files.pop(path)
            else:
                self.files[path] = (mode, content)
        return self.commit_tree(message, self._index_tree(), [self.tip] if self.tip else [])

    def merge(self, message: str, changes: Mapping[str | bytes, bytes | None]) -> str:
        """A merge commit on main of a branch with one commit that makes the changes."""
        base = self.tip
        branch = self.commit("work on a branch", changes)
        return self.commit_tree(message, self.git("rev-parse", f"{branch}^{{tree}}"), [base, branch])

    def commit_tree(self, message: str, tree: str, parents: list[str]) -> str:
        """A commit of any tree; it becomes main."""
        self.moment += timedelta(hours=1)
        words = [word for parent in parents for word in ("-p", parent)]
        self.tip = self.git("commit-tree", *words, tree, stdin=message.encode("utf-8", "surrogateescape"))
        self.git("update-ref", "refs/heads/main", self.tip)
        return self.tip

    def _index_tree(self) -> str:
        index = {"GIT_INDEX_FILE": str(self.path / "test-index")}
        self.git("read-tree", "--empty", env=index)
        lines = [
            f"{mode} {content.decode() if mode == '160000' else self.blob(content)}\t".encode() + path + b"\0"
            for path, (mode, content) in self.files.items()
        ]
        self.git("update-index", "-z", "--index-info", stdin=b"".join(lines), env=index)
        return self.git("write-tree", env=index)
