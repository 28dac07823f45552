"""Which commit a merged pull request started from, asked of a clone: base plus patch is the merge's tree."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datasmith.github.git import Commit, Git
from datasmith.github.git_diffs import BATCH, Change, Pair
from datasmith.github.models import PR, FileChange

MOST_COMMITS = 30
"""A pull request that was merged by rebasing is looked for in so many commits, where nobody says how many it had."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Size:
    """What a change adds up to; files without counts (binary ones) count as no lines."""

    files: int
    additions: int
    deletions: int

    @classmethod
    def of(cls, files: Iterable[FileChange]) -> "Size":
        """The size of these files together."""
        listed = tuple(files)
        return cls(len(listed), sum(f.additions or 0 for f in listed), sum(f.deletions or 0 for f in listed))


@dataclass(frozen=True, slots=True)
class Told:
    """A pull request as a forge tells it, with what it says of its size; None where it does not."""

    pr: PR
    size: Size | None = None
    n_commits: int | None = None


def ground(git: Git, told: Sequence[Told]) -> list[PR]:
    """The pull requests with base, files and patch as the clone has them, in order.

    A forge's `base_sha` is where the target branch was at some time, and its patch is against the merge base; neither
    is what the merge changed. Here the base is the first parent of the merge commit, or, where a pull request was
    merged by rebasing its commits one by one, the first parent of the first of them: told from a squash by its size.
    A size that fits neither is a squash's. A pull request whose merge commit the clone lacks stays as it was told.
    """
    found: list[PR] = []
    for start in range(0, len(told), BATCH):
        found += _Grounding(git, told[start : start + BATCH]).run()
    return found


class _Grounding:
    """One batch."""

    def __init__(self, git: Git, told: Sequence[Told]) -> None:
        self._git = git
        self._told = told
        self._merges = git.commits(each.pr.merge_commit_sha for each in told)

    def run(self) -> list[PR]:
        pairs = {sha: (merge.parents[0], sha) for sha, merge in self._merges.items() if merge.parents}
        direct = dict(zip(pairs, self._git.changes(list(pairs.values())), strict=True))
        return [self._grounded(each, direct.get(each.pr.merge_commit_sha)) for each in self._told]

    def _grounded(self, told: Told, direct: Change | None) -> PR:
        pr = told.pr
        if direct is None:
            _log.info("%s: the clone does not hold its merge commit %r", pr.cache_key, pr.merge_commit_sha)
            return pr
        merge = self._merges[pr.merge_commit_sha]
        base, change = merge.parents[0], direct
        may_be_rebased = len(merge.parents) == 1 and told.n_commits != 1
        if told.size is not None and may_be_rebased and not self._fits(told.size, (base, merge.sha), direct):
            base, change = self._rebased(told.size, told.n_commits, merge) or (base, change)
        return pr.model_copy(update={"base_sha": base, "files": change.files, "patch": change.patch})

    def _rebased(self, size: Size, n_commits: int | None, merge: Commit) -> tuple[str, Change] | None:
        """Base and change of a pull request of this size of which `merge` is the last commit; None for a squash."""
        history = list(self._git.log(merge.sha, most=n_commits or MOST_COMMITS))
        bases = [commit.parents[0] for commit in history[1:] if commit.parents]
        if n_commits is not None:
            bases = bases[-1:] if len(bases) == n_commits - 1 else []
        for base in bases:
            change = self._git.changes([(base, merge.sha)])[0]
            if self._fits(size, (base, merge.sha), change):
                return base, change
        return None

    def _fits(self, size: Size, pair: Pair, change: Change) -> bool:
        """Whether the change between two commits has this size, with a renamed file as two or, as forges count, one."""
        if size == Size.of(change.files):
            return True
        if size.files >= len(change.files):
            return False
        counts = self._git.line_counts(*pair)
        return size == Size(len(counts), sum(added for added, _ in counts), sum(deleted for _, deleted in counts))


def grounded(git: Git, pr: PR) -> PR:
    """The pull request itself where its base plus its patch is the merge's tree, else as `ground` finds it."""
    held = git.commits([pr.base_sha, pr.merge_commit_sha])
    if pr.base_sha in held and pr.merge_commit_sha in held:
        change = git.changes([(pr.base_sha, pr.merge_commit_sha)])[0]
        if change.patch == pr.patch:
            return pr
    return ground(git, [Told(pr, Size.of(pr.files) if pr.files else None)])[0]
