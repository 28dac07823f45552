"""Is an image sealed: nothing in it leads to the fix. The host asks, inside a fresh sandbox of the image."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ExecResult
from datasmith.docker.environment import HOME
from datasmith.errors import ContainerError

TIMEOUT_S = 300.0
ASKED_AT_ONCE = 10_000
SHOWN = 5
_GIT = (
    *("git", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("--no-optional-locks", "--no-replace-objects", "-C", WORKDIR),
)
_GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
_LEFTOVERS = (
    *("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "packed-refs", "logs", "hooks", "shallow"),
    *("modules", "worktrees", "svn", "lfs", "rr-cache", "refs/tags/*", "refs/remotes", "refs/stash", "refs/notes"),
    *("refs/replace", "objects/info/alternates", "objects/info/http-alternates", "info/grafts"),
)
_FIND_LEFTOVERS = (
    'cd "$0"/.git && for name do for path in $name; do if [ -e "$path" ]; then echo "$path"; fi; done; done'
)
# Every place by name: what is mounted by itself is not entered by a walk that stays on one file system.
_FIND_CACHES = (
    *("find", "/", "/root", "/home", HOME, "/opt", ENV_PREFIX, "/workspace", "/var", "/srv", "-xdev"),
    *("(", "-path", "/proc", "-o", "-path", "/dev", "-o", "-path", "/sys", "-o", "-path", "/usr"),
    *("-o", "-path", WORKDIR, "-o", "-path", "*/ensurepip/_bundled", ")", "-prune", "-o", "-type", "f"),
    *("(", "-name", "*.whl", "-o", "-name", "*.crate", "-o", "-name", "*.tar.gz", "-o", "-name", "*.egg"),
    *("-o", "-path", "*/.cache/pip/*", "-o", "-path", "*/.cache/uv/*", ")", "-print"),
)
_FIND_COPIES = 'for name do ls -d "$0"/lib/python3*/site-packages/"$name"/__init__.py 2>/dev/null; done; true'


@dataclass(frozen=True, slots=True)
class SealReport:
    """What was looked at, and what was found against the seal; sealed where nothing was found."""

    looked_at: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True where nothing was found."""
        return not self.problems


def check(
    container: Container,
    *,
    forbidden: Sequence[str] = (),
    base_tree: str | None = None,
    import_names: Sequence[str] = (),
) -> SealReport:
    """Look for ways from the image to the fix.

    `forbidden` are git object ids of the fix (its commit, trees and blobs); `base_tree` is the tree that the one
    commit must have; `import_names` are the package's modules, of which the environment may hold no copy beside the
    tree.

    Raises:
        ContainerError: a question could not be asked; nothing is known then.
        EngineUnavailable: the engine is gone.
    """
    tree = _Tree(container)
    problems = [
        *tree.about_objects(),
        *tree.about_commit(base_tree),
        *tree.about_fix(sorted(set(forbidden))),
        *tree.about_refs(),
        *tree.about_files(),
        *_caches(container),
        *_copies(container, import_names),
    ]
    looked_at = (
        "commits and their trees",
        f"every git object: reachable, and none of {len(set(forbidden))} of the fix",
        "refs, remotes, logs, hooks, alternates and heads of earlier operations",
        "files that differ from the commit",
        f"wheel, sdist and download caches outside /usr and {WORKDIR}",
        f"copies of {', '.join(import_names) or 'no named module'} in {ENV_PREFIX}",
    )
    return SealReport(looked_at, tuple(problems))


class _Tree:
    """The repository in WORKDIR, each thing asked once."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def _git(self, *words: str) -> str:
        return _asked(self._container, [*_GIT, *words]).text

    def about_objects(self) -> Iterator[str]:
        """One commit, and nothing that it does not need: what nothing refers to counts as well."""
        script = files("datasmith.docker").joinpath("templates", "seal_objects.sh").read_text(encoding="utf-8")
        commits, extra, *ids = _asked(self._container, ["bash", "-c", script], cwd=WORKDIR).text.splitlines()
        if commits != "commits 1":
            yield f"the object database holds {commits}, not 1"
        if extra != "extra 0":
            yield f"{extra.partition(' ')[2]} objects do not belong to the commit: {_some(ids)}"

    def about_commit(self, base_tree: str | None) -> Iterator[str]:
        """The commit has no parent, and the right tree."""
        tree, *parents = self._git("log", "-1", "--format=%T %P").split() or [""]
        if parents:
            yield "the commit has a parent"
        if base_tree and tree != base_tree:
            yield f"the commit's tree is {tree}, not base's {base_tree}"

    def about_fix(self, forbidden: Sequence[str]) -> Iterator[str]:
        """Nothing of the fix can be read from the object database, by whatever way git finds its objects."""
        present: list[str] = []
        for at in range(0, len(forbidden), ASKED_AT_ONCE):
            asked = "".join(f"{name}\n" for name in forbidden[at : at + ASKED_AT_ONCE])
            words = [*_GIT, "cat-file", "--batch-check=%(objectname)"]
            answer = _asked(self._container, words, stdin=asked.encode()).text.splitlines()
            if len(answer) != len(asked.splitlines()):
                raise ContainerError("cannot check the seal: git did not answer for every object of the fix")
            present += [line for line in answer if " " not in line]
        if present:
            yield f"{len(present)} objects of the fix are present: {_some(present)}"

    def about_refs(self) -> Iterator[str]:
        """One branch, which HEAD is on, and no remote."""
        refs = self._git("for-each-ref", "--format=%(refname)").split()
        head = self._git("rev-parse", "--symbolic-full-name", "HEAD").strip()
        for name in refs:
            if name != head:
                yield f"ref {name}"
        for name in self._git("remote").split():
            yield f"remote {name}"
        found = _asked(self._container, ["sh", "-c", _FIND_LEFTOVERS, WORKDIR, *_LEFTOVERS]).text
        for name in found.split():
            yield f".git/{name} is there"

    def about_files(self) -> Iterator[str]:
        """What an agent's diff would show before the agent has done anything."""
        changed = self._git("status", "--porcelain", "--untracked-files=normal").splitlines()
        if changed:
            yield f"{len(changed)} paths differ from the commit: {_some(changed)}"


def _asked(container: Container, argv: Sequence[str], *, stdin: bytes = b"", cwd: str = "/") -> ExecResult:
    done = container.exec(argv, timeout=TIMEOUT_S, cwd=cwd, env=_GIT_ENV, stdin=stdin)
    if not done.ok:
        raise ContainerError(f"cannot check the seal: {' '.join(argv)[:120]}: {done.error_text.strip()[-300:]}")
    return done


def _caches(container: Container) -> Iterator[str]:
    # find ends with 1 where it may not enter a directory or a place does not exist: what it printed still counts.
    listed = container.exec(["sh", "-c", '"$@" 2>/dev/null; true', "sh", *_FIND_CACHES], timeout=TIMEOUT_S, cwd="/")
    if not listed.ok:
        raise ContainerError(f"cannot check the seal: find: {listed.error_text.strip()[-300:]}")
    found = {path for path in listed.text.splitlines() if not path.startswith(f"{ENV_PREFIX}/lib")}
    yield from (f"cached package {path}" for path in sorted(found))


def _copies(container: Container, import_names: Sequence[str]) -> Iterator[str]:
    tops = sorted({name.partition(".")[0] for name in import_names})
    found = _asked(container, ["sh", "-c", _FIND_COPIES, ENV_PREFIX, *tops]).text.splitlines() if tops else []
    yield from (f"a second copy of the package: {path}" for path in found)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
