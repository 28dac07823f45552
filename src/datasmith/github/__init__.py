"""The forge: repositories, pull requests and what their text says."""

from datasmith.github.hooks import HookRegistry
from datasmith.github.links import scrape_links
from datasmith.github.models import PR, Comment, Issue, Repository
from datasmith.github.render import render_problem_statement

__all__ = ["PR", "Comment", "HookRegistry", "Issue", "Repository", "render_problem_statement", "scrape_links"]
