"""The forge: repositories, pull requests and what their text says."""

from typing import TYPE_CHECKING

from datasmith.github.models import PR, Issue, Repository
from datasmith.github.render import render_problem_statement

if TYPE_CHECKING:
    from datasmith.github.client import GitHubClient

__all__ = ["PR", "GitHubClient", "Issue", "Repository", "render_problem_statement"]


def __getattr__(name: str) -> object:
    """GitHubClient, imported where it is asked for."""
    if name == "GitHubClient":
        from datasmith.github.client import GitHubClient

        return GitHubClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
