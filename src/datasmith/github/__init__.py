"""The forge: repositories, pull requests and what their text says."""

from datasmith.github.models import PR, Issue, Repository
from datasmith.github.render import render_problem_statement

__all__ = ["PR", "Issue", "Repository", "render_problem_statement"]
