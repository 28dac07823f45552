"""Whose programs a tier runs: those that ship, which run nothing of what they download, or somebody else's."""

from datasmith.docker.cli_build import template
from datasmith.docker.context import FETCH_SOURCES, SCRIPTS
from datasmith.docker.engine import Tier
from datasmith.docker.layers import content

_DATA = (".txt",)
"""Ends of the names of files that no program of ours runs."""


def runs_only_ours(tier: Tier) -> bool:
    """Whether everything that a tier runs is, word by word, what ships; False for a Dockerfile of its own.

    Only such a tier may share anything with other builds, or be told a password of the index.
    """
    if tier.dockerfile:
        return False
    programs = {name: data for name, data in tier.files.items() if not name.endswith(_DATA)}
    return set(tier.scripts) <= set(programs) <= {*SCRIPTS, FETCH_SOURCES} and all(
        content(data) == template(name).encode() for name, data in programs.items()
    )
