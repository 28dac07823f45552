"""The one way to read a git clone: nothing in the clone, not even its configuration, can make git run anything."""

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from datasmith.errors import ConfigError, ForgeError, ForgeUnavailable, NotFound
from datasmith.github import git_diffs, git_source
from datasmith.github.models import FileChange
from datasmith.process import Completed, clean_environment, run

TIMEOUT_S = 600.0
MAX_OUTPUT = 1_000_000_000
"""No single answer of git is held in memory beyond this many bytes."""
BLOBS_AT_ONCE = 1_000
MAX_PATCH = 5_000_000
"""A larger patch is not read: nobody would review it, and no model."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOG_FORMAT = "%H%x00%T%x00%P%x00%an%x00%at%x00%ct%x00%B"
_LOG_FIELDS = 7
_MOMENTS = (-62_135_596_800, 253_402_300_799)
"""First and last second that a datetime can hold; a commit may claim any."""

OPTIONS = (
    "--literal-pathspecs",
    "--no-replace-objects",
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
    *("-c", "core.attributesFile=/dev/null", "-c", "core.commitGraph=false", "-c", "core.quotePath=true"),
    *("-c", "protocol.allow=never", "-c", "protocol.ext.allow=never", "-c", "safe.directory=*"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "credential.helper=", "-c", "log.showSignature=false"),
)
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; dates are aware UTC, `message` is the whole text, undecodable bytes replaced."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    authored_at: datetime
    committed_at: datetime
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a tree: a blob or, where `mode` is 160000, a submodule's commit. `path` is relative, undecoded."""

    mode: str
    oid: str
    path: bytes


class Git:
    """A local clone, bare or not, opened for reading.

    Objects are read through an empty git directory of our own that borrows the clone's object store: the clone's
    configuration, hooks, attributes, grafts and replacements do not exist for it. Only three questions are put to
    the clone itself, none of which runs anything: where its objects are, what HEAD is, and the URL of `origin`.
    Objects that a partial clone left out are never fetched: they are an error.
    """

    def __init__(self, path: Path, flag: str = "--repo") -> None:
        """Open the clone at `path`, which somebody gave with `flag`.

        Raises:
            ConfigError: `path` is not a git clone.
        """
        self.path = path
        problem = f"{flag} {path} is not a git clone (example: {flag} ./packaging)"
        if not path.is_dir():
            address = re.sub(r"^([a-z+]+:/)(?=[^/])", r"\1/", str(path))
            if re.match(r"[a-z+]+://|[\w.-]+@[\w.-]+:", address):
                problem = (
                    f"{flag} {address} is an address: clone it first (example: git clone --mirror {address} it.git)"
                )
            raise ConfigError(problem)
        found = self._ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
        objects = Path(found.stdout.removesuffix(b"\n").decode("utf-8", "surrogateescape"))
        if not found.ok or not objects.is_dir():
            raise ConfigError(problem)
        self._own = Path(tempfile.mkdtemp(prefix="fc-git-"))
        self._close = weakref.finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        lay_git_dir(self._own / "git", objects, sha256=self._is_sha256())

    def close(self) -> None:
        """Delete what this object keeps on disk; it also happens when nobody holds it any more."""
        self._close()

    def _ask(self, *words: str) -> Completed:
        """Put a question to the clone itself; a parent directory's repository is never taken for it.

        Raises:
            ConfigError: there is no git. Nothing else of a clone is asked before this.
        """
        ceiling = {"GIT_CEILING_DIRECTORIES": str(self.path.resolve().parent)}
        env = clean_environment(ENVIRONMENT | ceiling)
        try:
            return run(["git", *OPTIONS, *words], cwd=self.path, env=env, timeout=TIMEOUT_S)
        except FileNotFoundError as error:
            raise ConfigError("git is not installed, or not on the PATH (example: apt-get install git)") from error

    def is_shallow(self) -> bool:
        """True where the clone was made with a depth: commits name parents that it does not have."""
        return self._ask("rev-parse", "--is-shallow-repository").text.strip() == "true"

    def _is_sha256(self) -> bool:
        return self._ask("rev-parse", "--show-object-format").text.strip() == "sha256"

    def git(
        self,
        *words: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        kept_bytes: int = MAX_OUTPUT,
        git_dir: Path | None = None,
    ) -> Completed:
        """Run one git command on the clone's objects; a non-zero exit code is a value.

        Raises:
            ForgeUnavailable: git did not end in time.
        """
        full = clean_environment(ENVIRONMENT | {"HOME": str(self._own)} | dict(env or {}))
        argv = ["git", *OPTIONS, f"--git-dir={git_dir or self._own / 'git'}", *words]
        done = run(argv, cwd=self._own, env=full, stdin=stdin, timeout=TIMEOUT_S, kept_bytes=kept_bytes)
        if done.timed_out:
            raise ForgeUnavailable(f"git {words[0]} on {self.path} did not end within {TIMEOUT_S:.0f} s")
        return done

    def output(self, *words: str, stdin: bytes = b"") -> bytes:
        """What a git command prints.

        Raises:
            ForgeError: it failed, or printed more than can be held.
        """
        done = self.git(*words, stdin=stdin)
        if not done.ok:
            raise ForgeError(f"git {words[0]} on {self.path}: {done.error_text.strip()[-300:]}")
        if len(done.stdout) > MAX_OUTPUT:
            raise ForgeError(f"git {words[0]} on {self.path} printed more than {MAX_OUTPUT} bytes")
        return done.stdout

    # What the clone says about itself

    def head(self) -> str:
        """The commit id of HEAD.

        Raises:
            ConfigError: the clone has no commit yet.
        """
        found = self._ask("rev-parse", "--verify", "--quiet", "HEAD")
        sha = found.text.strip()
        if not found.ok or not _SHA.fullmatch(sha):
            raise ConfigError(f"--repo {self.path} has no commits (example: --repo ./packaging)")
        return sha

    def holds(self, reference: str) -> bool:
        """Whether a branch, tag or commit id names a commit of this clone."""
        return self._named(reference) is not None

    def commit_named(self, reference: str) -> str:
        """The commit id of a branch, tag or (also shortened) commit id of this clone.

        Raises:
            ConfigError: there is none of this name.
        """
        sha = self._named(reference)
        if sha is None:
            raise ConfigError(f"{self.path} holds no commit {reference[:100]!r} (example: --suite-from main)")
        return sha

    def _named(self, reference: str) -> str | None:
        found = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
        sha = found.text.strip()
        return sha if found.ok and _SHA.fullmatch(sha) else None

    def default_branch(self) -> str:
        """The branch that HEAD names ("main"), or "HEAD" where it names a commit."""
        found = self._ask("symbolic-ref", "--quiet", "HEAD")
        return found.text.strip().removeprefix("refs/heads/") if found.ok else "HEAD"

    def origin(self) -> str | None:
        """The URL of the remote `origin`, or None."""
        found = self._ask("config", "--local", "--no-includes", "--get", "remote.origin.url")
        return found.text.strip() or None if found.ok else None

    # Commits

    def tree_id(self, sha: str) -> str:
        """The id of a commit's tree.

        Raises:
            NotFound: the clone does not hold this commit.
        """
        done = self.git("rev-parse", "--verify", "--quiet", f"{full_sha(sha)}^{{tree}}")
        if not done.ok:
            raise NotFound(f"{self.path} does not hold the commit {sha}")
        return done.text.strip()

    def commit(self, sha: str) -> Commit:
        """One commit.

        Raises:
            NotFound: the clone does not hold it.
        """
        self.tree_id(sha)
        return next(self._commits("--no-walk", sha))

    def log(self, tip: str, most: int | None = None, *, touching: str = "") -> Iterator[Commit]:
        """The history of `tip` along first parents, newest first; at most `most` commits.

        `touching` is a pathspec, globs included: only the commits that change what it names.
        """
        limit = [] if most is None else [f"-n{most}"]
        return self._commits("--first-parent", *limit, full_sha(tip), pathspec=touching)

    def commits(self, shas: Iterable[str]) -> dict[str, Commit]:
        """Those of these commits that the clone holds, by id; what is no full commit id is not held."""
        asked = [sha for sha in dict.fromkeys(shas) if _SHA.fullmatch(sha)]
        if not asked:
            return {}
        kinds = self.output(
            "cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{sha}\n" for sha in asked).encode()
        )
        held = [sha for sha, kind in zip(asked, kinds.splitlines(), strict=True) if kind == b"commit"]
        if not held:
            return {}
        listed = "".join(f"{sha}\n" for sha in held).encode()
        return {commit.sha: commit for commit in self._commits("--no-walk=unsorted", "--stdin", stdin=listed)}

    def _commits(self, *words: str, stdin: bytes = b"", pathspec: str = "") -> Iterator[Commit]:
        glob = ("--no-literal-pathspecs",) if pathspec else ()
        paths = () if stdin else ("--", *([pathspec] if pathspec else []))
        options = (*glob, "log", "-z", f"--format={_LOG_FORMAT}", "--no-color", *words, *paths)
        fields = self.output(*options, stdin=stdin).split(b"\0")
        for start in range(0, len(fields) - _LOG_FIELDS + 1, _LOG_FIELDS):
            yield _commit([field.decode("utf-8", "replace") for field in fields[start : start + _LOG_FIELDS]])

    def objects_between(self, base: str, merge: str) -> frozenset[str]:
        """Ids of every commit, tree and blob that `merge` has and the tree of `base` does not need.

        These are what a sealed image at `base` must not hold; a blob of older history that the fix brings back is
        among them.
        """
        sealed = self._tree_objects(base)
        listed = self.output("rev-list", "--objects", "--no-object-names", full_sha(merge), f"^{full_sha(base)}")
        return frozenset(listed.decode().split()) | self._tree_objects(merge) - sealed

    def _tree_objects(self, sha: str) -> frozenset[str]:
        lines = self.output("ls-tree", "-r", "-t", "-z", full_sha(sha)).split(b"\0")
        return frozenset(line.split(b"\t")[0].split()[2].decode() for line in lines if line) | {self.tree_id(sha)}

    # Files

    def entries(self, sha: str) -> Iterator[Entry]:
        """Every file, link and submodule of a commit's tree, in git's order."""
        for line in self.output("ls-tree", "-r", "-z", full_sha(sha)).split(b"\0"):
            if line:
                meta, _, path = line.partition(b"\t")
                mode, _, oid = meta.decode().split()
                yield Entry(mode, oid, path)

    def paths(self, sha: str) -> tuple[str, ...]:
        """Paths of everything in a commit's tree; undecodable bytes are kept as surrogates."""
        return tuple(entry.path.decode("utf-8", "surrogateescape") for entry in self.entries(sha))

    def read(self, sha: str, path: str) -> bytes | None:
        """The content of a regular file at a commit; None where there is none (a link is not one).

        Raises:
            ForgeError: the file exists, and the clone does not hold its content.
        """
        return self.read_many(sha, [path]).get(path)

    def read_many(self, sha: str, paths: Sequence[str]) -> dict[str, bytes]:
        """The contents of those of `paths` that are regular files at a commit.

        Raises:
            ForgeError: the clone does not hold one of them.
        """
        wanted = {path.encode("utf-8", "surrogateescape"): path for path in paths}
        found = [entry for entry in self.entries(sha) if entry.path in wanted and entry.mode.startswith("100")]
        contents = self.contents([entry.oid for entry in found])
        return {wanted[entry.path]: content for entry, content in zip(found, contents, strict=True)}

    def contents(self, oids: Sequence[str]) -> Iterator[bytes]:
        """The contents of blobs by id, in order; a part of them is held in memory at once.

        Raises:
            ForgeError: the clone does not hold one of them.
        """
        for start in range(0, len(oids), BLOBS_AT_ONCE):
            part = oids[start : start + BLOBS_AT_ONCE]
            answer = self.output("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in part).encode())
            yield from git_source.split_batch(answer, len(part))

    # Differences

    def diff(self, base: str, head: str) -> str:
        """A git patch that turns `base`'s tree into `head`'s: full ids, binary files included, no renames.

        Raises:
            ForgeError: it is larger than MAX_PATCH.
        """
        change = self.changes([(base, head)])[0]
        if change.patch is None:
            raise ForgeError(f"the patch from {base} to {head} is larger than {MAX_PATCH} bytes")
        return change.patch

    def numstat(self, base: str, head: str) -> tuple[FileChange, ...]:
        """The files that differ, with lines added and deleted (None for binary files)."""
        return self.changes([(base, head)])[0].files

    def line_counts(self, base: str, head: str) -> list[tuple[int, int]]:
        """Lines added and deleted of each changed file (0 for binary ones); a renamed file is one, as on a forge."""
        words = ("diff-tree", "-r", "-M", "--numstat", "--no-ext-diff", "--no-textconv")
        rows = [row.split(b"\t") for row in self.output(*words, full_sha(base), full_sha(head)).splitlines()]
        return [(0, 0) if added == b"-" else (int(added), int(deleted)) for added, deleted, *_ in rows]

    def changes(self, pairs: Sequence[tuple[str, str]]) -> list[git_diffs.Change]:
        """Files and patch of each pair (base, head), in order; a patch larger than MAX_PATCH is None."""
        checked = [(full_sha(base), full_sha(head)) for base, head in pairs]
        return git_diffs.DiffReader(self.git, MAX_PATCH).changes(checked)

    def sealed_source(self, sha: str, target: Path, *, commit_date: datetime) -> str:
        """Write the tree of `sha` to the tar `target` with a `.git` of exactly one commit; returns the tree's id.

        See `git_source.write_sealed_source`.
        """
        return git_source.write_sealed_source(self, sha, target, commit_date=commit_date)

    def scratch_git_dir(self, target: Path) -> None:
        """Make an empty, writable git directory at `target` that can read this clone's objects."""
        objects = (self._own / "git" / "borrowed").resolve()
        lay_git_dir(target, objects, sha256="sha256" in (self._own / "git" / "config").read_text())


def full_sha(sha: str) -> str:
    """`sha` itself where it is a full commit id in lower case, so that it can never be an option or a path.

    Raises:
        NotFound: it is not.
    """
    if not _SHA.fullmatch(sha):
        raise NotFound(f"{sha[:80]!r} is not a full commit id")
    return sha


def lay_git_dir(target: Path, objects: Path, *, sha256: bool) -> None:
    """Make a bare git directory without any object of its own that borrows the store `objects`."""
    (target / "objects" / "info").mkdir(parents=True)
    (target / "refs").mkdir()
    (target / "borrowed").symlink_to(objects)
    # A link, because a path with a newline or a quote could not be written into the list of alternates.
    (target / "objects" / "info" / "alternates").write_text(f"{target / 'borrowed'}\n")
    (target / "HEAD").write_text("ref: refs/heads/none\n")
    (target / "config").write_text(git_source.config_text(bare=True, sha256=sha256))


def _moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(min(max(int(seconds or 0), _MOMENTS[0]), _MOMENTS[1]), UTC)


def _commit(fields: list[str]) -> Commit:
    sha, tree, parents, author, authored, committed, message = fields
    return Commit(sha, tree, tuple(parents.split()), author, _moment(authored), _moment(committed), message)
