"""What an instruction must not say: the names by which its solution can be found."""

import re

from datasmith.tasks.task import Task

LEAST_TITLE_WORDS = 4
"""A shorter title ("Performance", "Make it faster") is ordinary language: finding it says nothing about its source."""
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])", re.IGNORECASE)
_REPOSITORY = r"(?P<{}>[\w.-]+/[\w.-]+)?"


def leaks(task: Task) -> tuple[str, ...]:
    """The words of the instruction that lead to the solution; empty where there are none.

    They are: the merge commit, also cut to seven digits or more; the pull request's number as the forge writes it
    (`#12`, `owner/repo#12`, `/pull/12`, `GH-12`), not that of another repository; and the title of LEAST_TITLE_WORDS
    or more words, whatever its case, blanks and line breaks.
    """
    found = [word for word in _HEX.findall(task.instruction) if task.merge_commit.lower().startswith(word.lower())]
    found += _numbers(task)
    title = _plain(task.title)
    if len(title.split()) >= LEAST_TITLE_WORDS and f" {title} " in f" {_plain(task.instruction)} ":
        found.append(task.title)
    return tuple(dict.fromkeys(found))


def _numbers(task: Task) -> list[str]:
    kinds = (rf"{_REPOSITORY.format('short')}#", rf"{_REPOSITORY.format('long')}/(?:pull|issues)/", r"\bGH-")
    form = re.compile(rf"(?:{'|'.join(kinds)}){task.pr_number}(?!\d)", re.IGNORECASE)
    ours = {"", task.repository.lower()}
    return [
        match[0] for match in form.finditer(task.instruction) if (match["short"] or match["long"] or "").lower() in ours
    ]


def _plain(text: str) -> str:
    """Words only, in one case, with single blanks."""
    return " ".join(re.findall(r"\w+", text.casefold()))
