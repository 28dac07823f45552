"""What a loopback GitHub knows: repositories, issues and pull requests, and their JSON as GitHub writes it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)
_REPOSITORY_URLS = [
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
]
_USER_URLS = [
    "events",
    "followers",
    "following",
    "gists",
    "organizations",
    "received_events",
    "repos",
    "starred",
    "subscriptions",
]


def sha(*words: object) -> str:
    """A commit's name, the same each time."""
    return sha1(repr(words).encode(), usedforsecurity=False).hexdigest()


def when(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class ChangedFile:
    """One file of a pull request; `patch` None: binary."""

    name: str
    status: str = "modified"
    patch: str | None = "@@ -1 +1 @@\n-a = 1\n+a = 2"
    additions: int = 1
    deletions: int = 1


@dataclass
class LoopbackIssue:
    """An issue; `deleted` answers 410, `edited_at` is when its text was last changed."""

    number: int
    title: str = "Something is slow"
    body: str | None = "It takes long."
    author: str | None = "ann"
    labels: tuple[str, ...] = ()
    created_at: datetime = START
    updated_at: datetime | None = None
    closed_at: datetime | None = None
    comments: tuple[str, ...] = ()
    deleted: bool = False
    edited_at: datetime | None = None


@dataclass
class LoopbackPull(LoopbackIssue):
    """A pull request; merged where `merged_at` is set."""

    merged_at: datetime | None = None
    files: tuple[ChangedFile, ...] = (ChangedFile("src/a.py"),)
    events: int = 0
    base_sha: str = ""
    merge_commit_sha: str = ""


@dataclass
class LoopbackRepository:
    """A repository; `old_names` redirect to it, `code` are the paths that code search finds (path -> bytes).

    `forbidden` is what GraphQL says instead of telling of it.
    """

    full_name: str
    id: int = 1
    stars: int = 100
    fork: bool = False
    archived: bool = False
    private: bool = False
    description: str | None = "A library"
    language: str | None = "Python"
    topics: tuple[str, ...] = ("speed",)
    licence: str | None = "MIT"
    old_names: tuple[str, ...] = ()
    code: dict[str, int] = field(default_factory=dict)
    issues: dict[int, LoopbackIssue] = field(default_factory=dict)
    pushed_at: datetime = START
    forbidden: str = ""

    def add(self, *issues: LoopbackIssue) -> None:
        """Take in issues and pull requests."""
        self.issues |= {issue.number: issue for issue in issues}

    def pulls(self) -> list[LoopbackPull]:
        """The pull requests, oldest number first."""
        return [issue for _, issue in sorted(self.issues.items()) if isinstance(issue, LoopbackPull)]


def many_pulls(
    count: int, *, first: int = 1, start: datetime = START, step: timedelta = timedelta(minutes=10)
) -> Iterable[LoopbackPull]:
    """Pull requests merged `step` apart, each created three days before."""
    for index in range(count):
        merged = start + step * index
        created = merged - timedelta(days=3)
        yield LoopbackPull(
            number=first + index, title=f"Speed up part {index}", created_at=created, updated_at=merged,
            closed_at=merged, merged_at=merged,
        )  # fmt: skip


class Json:
    """Writes a repository's things as GitHub's REST API does, for a server at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def user(self, login: str | None) -> Any:
        if login is None:
            return None
        base = f"{self.url}/users/{login}"
        urls = {f"{name}_url": f"{base}/{name}" for name in _USER_URLS}
        return {
            "login": login, "id": len(login), "node_id": f"U_{login}", "avatar_url": f"{self.url}/u/{login}.png",
            "gravatar_id": "", "url": base, "html_url": f"https://github.com/{login}", "type": "User",
            "site_admin": False, **urls,
        }  # fmt: skip

    def licence(self, key: str | None) -> Any:
        if key is None:
            return None
        return {"key": key.lower(), "name": key, "spdx_id": key, "url": None, "node_id": f"L_{key}"}

    def minimal_repository(self, repository: LoopbackRepository) -> Any:
        owner, name = repository.full_name.split("/")
        base = f"{self.url}/repos/{repository.full_name}"
        urls = {f"{word}_url": f"{base}/{word}" for word in _REPOSITORY_URLS}
        return {
            "id": repository.id, "node_id": f"R_{repository.id}", "name": name, "full_name": repository.full_name,
            "owner": self.user(owner), "private": repository.private, "fork": repository.fork, "url": base,
            "html_url": f"https://github.com/{repository.full_name}", "description": repository.description, **urls,
        }  # fmt: skip

    def repository(self, repository: LoopbackRepository) -> Any:
        stars, when_pushed = repository.stars, when(repository.pushed_at)
        html = f"https://github.com/{repository.full_name}"
        flags = dict.fromkeys(("issues", "projects", "wiki", "pages", "discussions", "downloads"), True)
        return {
            **self.minimal_repository(repository), "clone_url": f"{html}.git",
            "git_url": f"git:{html.removeprefix('https:')}.git",
            "ssh_url": f"git@github.com:{repository.full_name}.git", "svn_url": html, "mirror_url": None,
            "homepage": None, "default_branch": "main", "language": repository.language,
            "archived": repository.archived,
            "disabled": False, "topics": list(repository.topics), "license": self.licence(repository.licence),
            "forks": 3, "forks_count": 3, "open_issues": 0, "open_issues_count": 0, "size": 10,
            "stargazers_count": stars,
            "watchers": stars, "watchers_count": stars, "network_count": 3, "subscribers_count": 2,
            "pushed_at": when_pushed, "created_at": when_pushed, "updated_at": when_pushed, "visibility": "public",
            **{f"has_{name}": value for name, value in flags.items()},
        }  # fmt: skip

    def label(self, repository: LoopbackRepository, name: str) -> Any:
        url = f"{self.url}/repos/{repository.full_name}/labels/{name}"
        return {
            "id": len(name), "node_id": f"LA_{name}", "url": url, "name": name, "description": "", "color": "ededed",
            "default": False,
        }  # fmt: skip

    def issue(self, repository: LoopbackRepository, issue: LoopbackIssue) -> Any:
        api, html = f"{self.url}/repos/{repository.full_name}", f"https://github.com/{repository.full_name}"
        base = f"{api}/issues/{issue.number}"
        kind = "pull" if isinstance(issue, LoopbackPull) else "issues"
        found = {
            "id": issue.number, "node_id": f"I_{issue.number}", "number": issue.number, "url": base,
            "repository_url": api, "labels_url": f"{base}/labels{{/name}}", "comments_url": f"{base}/comments",
            "events_url": f"{base}/events", "html_url": f"{html}/{kind}/{issue.number}", "title": issue.title,
            "body": issue.body, "user": self.user(issue.author), "assignee": None, "assignees": [], "milestone": None,
            "labels": [self.label(repository, name) for name in issue.labels], "locked": False,
            "state": "closed" if issue.closed_at else "open", "comments": len(issue.comments),
            "author_association": "NONE", "created_at": when(issue.created_at), "closed_at": when(issue.closed_at),
            "updated_at": when(issue.updated_at or issue.created_at),
        }  # fmt: skip
        if isinstance(issue, LoopbackPull):
            pull = f"{html}/pull/{issue.number}"
            found["pull_request"] = {
                "url": f"{api}/pulls/{issue.number}", "html_url": pull, "diff_url": f"{pull}.diff",
                "patch_url": f"{pull}.patch", "merged_at": when(issue.merged_at),
            }  # fmt: skip
        return found

    def pull_simple(self, repository: LoopbackRepository, pull: LoopbackPull) -> Any:
        issue = self.issue(repository, pull)
        del issue["pull_request"], issue["comments"], issue["labels_url"], issue["events_url"], issue["repository_url"]
        api = f"{self.url}/repos/{repository.full_name}"
        base, issue_url, html = f"{api}/pulls/{pull.number}", f"{api}/issues/{pull.number}", issue["html_url"]
        names = {
            "self": base, "html": html, "issue": issue_url, "comments": f"{issue_url}/comments",
            "review_comments": f"{base}/comments", "review_comment": f"{api}/pulls/comments{{/number}}",
            "commits": f"{base}/commits", "statuses": f"{api}/statuses/{self.head(repository, pull)}",
        }  # fmt: skip
        return {
            **issue, "url": base, "issue_url": issue_url, "diff_url": f"{html}.diff", "patch_url": f"{html}.patch",
            "review_comment_url": names["review_comment"], "review_comments_url": names["review_comments"],
            "commits_url": names["commits"], "statuses_url": names["statuses"], "draft": False, "auto_merge": None,
            "requested_reviewers": [], "requested_teams": [], "merged_at": when(pull.merged_at),
            "merge_commit_sha": pull.merge_commit_sha or sha(repository.full_name, pull.number, "merge"),
            "_links": {name: {"href": url} for name, url in names.items()},
            "base": self._side(repository, "main", pull.base_sha or sha(repository.full_name, pull.number, "base")),
            "head": self._side(repository, f"faster-{pull.number}", self.head(repository, pull)),
        }  # fmt: skip

    def pull(self, repository: LoopbackRepository, pull: LoopbackPull) -> Any:
        return {
            **self.pull_simple(repository, pull), "additions": sum(file.additions for file in pull.files),
            "deletions": sum(file.deletions for file in pull.files), "changed_files": len(pull.files), "commits": 1,
            "comments": len(pull.comments), "review_comments": 0, "merged": pull.merged_at is not None,
            "mergeable": None, "mergeable_state": "unknown", "rebaseable": None, "maintainer_can_modify": False,
            "merged_by": self.user("maintainer") if pull.merged_at else None,
        }  # fmt: skip

    def head(self, repository: LoopbackRepository, pull: LoopbackPull) -> str:
        return sha(repository.full_name, pull.number, "head")

    def _side(self, repository: LoopbackRepository, ref: str, commit: str) -> Any:
        owner = repository.full_name.split("/")[0]
        return {
            "label": f"{owner}:{ref}", "ref": ref, "sha": commit, "user": self.user(owner),
            "repo": self.repository(repository),
        }  # fmt: skip

    def file(self, repository: LoopbackRepository, pull: LoopbackPull, file: ChangedFile) -> Any:
        head = self.head(repository, pull)
        html = f"https://github.com/{repository.full_name}"
        found = {
            "sha": sha(file.name, pull.number), "filename": file.name, "status": file.status,
            "additions": file.additions, "deletions": file.deletions, "changes": file.additions + file.deletions,
            "blob_url": f"{html}/blob/{head}/{file.name}", "raw_url": f"{html}/raw/{head}/{file.name}",
            "contents_url": f"{self.url}/repos/{repository.full_name}/contents/{file.name}?ref={head}",
        }  # fmt: skip
        return found if file.patch is None else {**found, "patch": file.patch}

    def comment(self, repository: LoopbackRepository, issue: LoopbackIssue, index: int) -> Any:
        api, moment = f"{self.url}/repos/{repository.full_name}", when(issue.created_at)
        number = issue.number * 1000 + index
        return {
            "id": number, "node_id": f"C_{number}", "url": f"{api}/issues/comments/{number}",
            "html_url": f"https://github.com/{repository.full_name}/issues/{issue.number}#issuecomment-{number}",
            "issue_url": f"{api}/issues/{issue.number}", "user": self.user("bob"), "body": issue.comments[index],
            "author_association": "NONE", "created_at": moment, "updated_at": moment,
        }  # fmt: skip

    def event(self, repository: LoopbackRepository, issue: LoopbackIssue, index: int) -> Any:
        number = issue.number * 1000 + index
        return {
            "id": number, "node_id": f"E_{number}",
            "url": f"{self.url}/repos/{repository.full_name}/issues/events/{number}",
            "actor": self.user("bob"), "event": "labeled", "commit_id": None, "commit_url": None,
            "created_at": when(issue.created_at), "performed_via_github_app": None,
            "label": {"name": f"label-{index}", "color": "ededed"},
        }  # fmt: skip

    def code_hit(self, repository: LoopbackRepository, path: str) -> Any:
        head, name = sha(repository.full_name, path), path.rpartition("/")[2]
        return {
            "name": name, "path": path, "sha": head, "score": 1.0, "repository": self.minimal_repository(repository),
            "url": f"{self.url}/repositories/{repository.id}/contents/{path}?ref={head}",
            "git_url": f"{self.url}/repositories/{repository.id}/git/blobs/{head}",
            "html_url": f"https://github.com/{repository.full_name}/blob/{head}/{path}",
        }  # fmt: skip


def diff_of(pull: LoopbackPull) -> str:
    """The pull request as a git diff."""
    parts = []
    for file in pull.files:
        head = f"diff --git a/{file.name} b/{file.name}\n"
        body = "" if file.patch is None else f"--- a/{file.name}\n+++ b/{file.name}\n{file.patch}\n"
        parts.append(head + (body or f"Binary files a/{file.name} and b/{file.name} differ\n"))
    return "".join(parts)


def listed(repository: LoopbackRepository, query: dict[str, str]) -> list[LoopbackPull]:
    """The pull requests as the list of a repository gives them: by state, sorted."""
    state, key = query.get("state", "open"), query.get("sort", "created")
    found = [
        pull for pull in repository.pulls() if state == "all" or (pull.closed_at is not None) == (state == "closed")
    ]
    found.sort(
        key=lambda pull: (pull.created_at if key == "created" else pull.updated_at or pull.created_at, pull.number)
    )
    return found[::-1] if query.get("direction", "desc") == "desc" else found
