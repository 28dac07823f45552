"""Take a patch out of a sandbox: what its tree holds now that it did not hold before."""

from collections.abc import Sequence
from dataclasses import dataclass

from datasmith.docker.engine import WORKDIR, Container, ExecResult
from datasmith.docker.worktree import GIT, GIT_ENV, GIT_TIMEOUT_S
from datasmith.errors import AgentFailed, ContainerError

INDEX = f"{WORKDIR}/.git/fc-index"
PATCH = f"{WORKDIR}/.git/fc-patch.diff"
"""Both lie where the sandbox's user can write in every engine, and where git never looks for files to add."""
MAX_PATCH_BYTES = 10_000_000
"""A larger patch is not taken out."""
_GIT = (
    *GIT,
    *("-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "core.quotePath=true"),
    *("-c", "diff.ignoreSubmodules=none", "-c", "diff.orderFile=/dev/null"),
)
NEVER_TAKEN = ("**/__pycache__/**", "**/*.pyc", "**/.pytest_cache/**", "**/.asv/**")
"""By-products of running code: never part of a patch."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A tree before anyone worked on it: its commit, and the untracked paths that a build had left there."""

    commit: str
    untracked: tuple[str, ...]


def baseline(container: Container) -> Baseline:
    """Note the state of a fresh sandbox; call it before the agent starts.

    Raises:
        ContainerError: the tree is no git repository with a commit.
    """
    head = _git(container, ["rev-parse", "--verify", "HEAD^{commit}"])
    others = _git(container, ["ls-files", "--others", "--exclude-standard", "--directory", "-z"])
    if not head.ok or not others.ok:
        raise ContainerError(f"the image's tree is no git repository: {(head.error_text or others.error_text)[-300:]}")
    names = others.stdout.decode("utf-8", "surrogateescape").split("\0")
    return Baseline(head.text.strip(), tuple(name for name in names if name))


def extract_patch(container: Container, start: Baseline) -> str:
    """The git diff from `start` to the tree as it is now, new files included, what git ignores left out.

    Whatever the sandbox's user did to the repository's git configuration can change this diff, and nothing else: git
    runs inside the sandbox, and the result is checked like any other text from there.

    Raises:
        AgentFailed: no diff can be taken: the repository was destroyed, or the diff is too large.
    """
    own_index = {"GIT_INDEX_FILE": INDEX}
    left_out = [f":(exclude,literal){name.rstrip('/')}" for name in start.untracked]
    left_out += [f":(exclude,glob){pattern}" for pattern in NEVER_TAKEN]
    steps: list[list[str]] = [
        ["read-tree", start.commit],
        ["add", "--all", "--", ".", *left_out],
        [
            *("diff", "--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
            *("--no-renames", "--src-prefix=a/", "--dst-prefix=b/", f"--output={PATCH}", start.commit, "--"),
        ],
    ]
    for step in steps:
        done = _git(container, step, own_index)
        if not done.ok:
            raise AgentFailed(f"no diff can be taken from the sandbox: git {step[0]}: {done.error_text.strip()[-300:]}")
    try:
        return container.read_file(PATCH, max_bytes=MAX_PATCH_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError as error:
        raise AgentFailed("no diff can be taken from the sandbox: git wrote none") from error
    except ContainerError as error:
        if error.exit_code != ContainerError.exit_code:
            raise
        raise AgentFailed(f"the diff is larger than {MAX_PATCH_BYTES} bytes") from error


def _git(container: Container, words: Sequence[str], extra: dict[str, str] | None = None) -> ExecResult:
    return container.exec([*_GIT, *words], timeout=GIT_TIMEOUT_S, env={**GIT_ENV, **(extra or {})})
