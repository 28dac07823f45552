"""Problem statements: what somebody who is to speed the repository up may know, and never how it was done."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from datasmith.github.anonymize import Anonymizer
from datasmith.github.dated import as_of, body_before_merge, fix_known_at, names_the_fix
from datasmith.github.models import PR, Issue

MOST_WORKLOADS = 60
"""As many workloads are listed by name in an instruction."""
MOST_CHARS = 20_000
"""As much of one text is shown."""
MOST_COMMENTS = 20
"""So many comments of one issue are shown."""

_CONTROL = bytes(sorted({*range(32), 127} - {9, 10}))
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HEADING = re.compile(r"^#{1,4}[ \t]+(.*)$", re.MULTILINE)
_PROBLEM = re.compile(r"problem|motivation|background|current behaviou?r|observed|bottleneck|profil|symptom", re.I)


@dataclass(frozen=True, slots=True)
class _Shown:
    """An issue as the templates see it: its texts stand quoted, so that they cannot pass for ours."""

    title: str
    quoted: str
    comments: list[str]


def render_problem_statement(
    pr: PR,
    *,
    issues: Sequence[Issue] = (),
    repo_description: str = "",
    anonymize: bool = False,
    initial_observations: str | None = None,
) -> str:
    """Objective, Process, Task Description, and what is known about the problem.

    `initial_observations` is text that somebody extracted; without it, sections of the body whose heading announces a
    problem are shown, unless it was changed after the merge. The title and the rest of the body are not: they tell the
    fix. Of `issues` and their comments nothing is shown that is dated after the pull request was opened, or that points
    to it.
    """
    known = [issue for issue in _known(issues, pr, undated=True) if issue.body or not issue.is_pull_request]
    hide = _anonymizer(pr, known) if anonymize else clean
    observations = stated_problem(body_before_merge(pr)) if initial_observations is None else initial_observations
    return _template("problem_statement.md.jinja")(
        repository=pr.repository,
        repo_description=hide(repo_description).strip(),
        observations=hide(observations).strip(),
        issues=[_shown(issue, hide) for issue in known],
    )


def render_instruction(
    pr: PR,
    *,
    repository: str,
    benchmark_dir: str,
    workloads: Sequence[str],
    issues: Sequence[Issue] = (),
    repo_description: str = "",
    test_command: str = "python -m pytest",
    unseen: Sequence[str] = (),
) -> str:
    """The instruction of a task: goal, `repository` ("owner/repo"), how to measure and test, and the rules.

    `unseen` are files of the suite that are measured in another version than the one in the tree.

    Of `issues` only those are shown that were opened before the pull request and do not name it. Nothing else that
    the pull request says gets in.
    """
    known = _known(issues, pr) if fix_known_at(pr) else []
    hide = _anonymizer(pr, known)
    return _template("instruction.md.jinja")(
        repository=repository,
        repo_description=hide(repo_description).strip(),
        benchmark_dir=benchmark_dir.strip("/"),
        suite_parent=_suite_parent(benchmark_dir),
        suite=benchmark_dir.strip("/").rpartition("/")[2],
        module=workloads[0].partition(".")[0] if workloads else "",
        workloads=[_one_line(workload) for workload in workloads[:MOST_WORKLOADS]],
        n_workloads=len(workloads),
        test_command=test_command,
        unseen=[_one_line(path) for path in unseen[:MOST_WORKLOADS]],
        issues=[_shown(issue, hide) for issue in known],
    )


def clean(text: str) -> str:
    """Text that every store, page and terminal takes: no control characters, no bidirectional overrides."""
    if text.isascii():
        return text.encode().translate(None, _CONTROL).decode()
    return _UNPRINTABLE.sub("", text)


def stated_problem(body: str) -> str:
    """The sections of a body whose heading announces a problem, without their headings; "" where there is none."""
    headings = list(_HEADING.finditer(body))
    ends = [heading.start() for heading in headings[1:]] + [len(body)]
    sections = zip(headings, ends, strict=False)
    wanted = [body[heading.end() : end].strip() for heading, end in sections if _PROBLEM.search(heading[1][:200])]
    return "\n\n".join(wanted)


def _known(issues: Sequence[Issue], pr: PR, *, undated: bool = False) -> list[Issue]:
    """The issues as they stood when `pr` was opened, without those that point to it; see `as_of` for `undated`."""
    then = (as_of(issue, fix_known_at(pr), undated=undated) for issue in issues)
    return [issue for issue in then if issue is not None and not names_the_fix(issue, pr)]


def _shown(issue: Issue, hide: Callable[[str], str]) -> _Shown:
    title = _one_line(hide(issue.title)) or f"Issue {issue.issue_number}"
    comments = [_quoted(hide(comment.body[:MOST_CHARS])) for comment in issue.comments[:MOST_COMMENTS]]
    return _Shown(title, _quoted(hide(issue.body[:MOST_CHARS])), comments)


def _quoted(text: str) -> str:
    return "> " + text.strip().replace("\n", "\n> ") if text.strip() else "> (no text)"


def _one_line(text: str) -> str:
    return " ".join(clean(text).split()).replace("`", "'")


def _anonymizer(pr: PR, issues: Sequence[Issue]) -> Callable[[str], str]:
    commenters = (comment.author for issue in issues for comment in issue.comments)
    authors = [pr.author, *(issue.author for issue in issues), *commenters]
    hide = Anonymizer(keep=(pr.owner,), names=[name for name in authors if len(name) > 2])
    return lambda text: hide(clean(text))


def _suite_parent(benchmark_dir: str) -> str:
    return f"/workspace/repo/{benchmark_dir.strip('/').rpartition('/')[0]}".rstrip("/")


@cache
def _template(name: str) -> Callable[..., str]:
    """What renders a template; Jinja is loaded when the first one is."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("datasmith.github")
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template(name).render
