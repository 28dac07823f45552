"""Task ids: one spelling is written, all known ones are read."""

import re

_REFERENCE = re.compile(r"(?P<owner>[A-Za-z0-9._-]+)/(?P<repo>[A-Za-z0-9._-]+)#(?P<number>[0-9]{1,18})")
_DOUBLE = re.compile(r"(?P<owner>[A-Za-z0-9.-]+)__(?P<repo>[A-Za-z0-9._-]+)-(?P<number>[0-9]{1,18})")


def task_id(owner: str, repo: str, pr_number: int) -> str:
    """`shapely_shapely_2283`: lower case, with the owner's and repository's own hyphens kept."""
    return f"{owner}_{repo}_{pr_number}".lower()


def legacy_task_id(owner: str, repo: str, pr_number: int) -> str:
    """The older spelling that cuts `owner-repo` in the middle: `pandas_dev-pandas_50643`."""
    words = f"{owner}-{repo}".lower().split("-")
    half = len(words) // 2
    return f"{'-'.join(words[:half])}_{'-'.join(words[half:])}_{pr_number}"


def canonical(pattern: str) -> str:
    """A user's id in the written spelling; what has no other known form, as a glob, is returned in lower case.

    Reads `owner/repo#pr` and `owner__repo-pr`. The older spelling cannot be told apart from the written one by its
    text alone: `spellings` lists it for a record whose owner and repository are known.
    """
    for form in (_REFERENCE, _DOUBLE):
        found = form.fullmatch(pattern)
        if found:
            return task_id(found["owner"], found["repo"], int(found["number"]))
    return pattern.lower()


def spellings(owner: str, repo: str, pr_number: int) -> tuple[str, ...]:
    """Every spelling by which this task may be asked for, the written one first."""
    names = (task_id(owner, repo, pr_number), legacy_task_id(owner, repo, pr_number))
    return tuple(dict.fromkeys(names))
