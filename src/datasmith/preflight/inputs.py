"""Checks of what a run is given: clones and files of pull requests, and the package index."""

from datetime import UTC, datetime

from datasmith.github.clones import without_password
from datasmith.github.forges import local_names, open_forge
from datasmith.preflight.base import Answer, Facts
from datasmith.resolution.index import SimpleIndex

ANY_PROJECT = "pip"
"""A project that every mirror of the package index has."""


def sources(facts: Facts) -> Answer:
    """The clones and files are there and can be read; GitHub is asked by its own check."""
    given = facts.sources
    if given is None or not (given.clones or given.files or given.names):
        return Answer("SKIP", "none named", "name them as the run will get them (example: --repo ./packaging)")
    names = local_names(given) or ()
    if given.forge == "offline":
        open_forge(given, facts.settings)
    files = ", ".join(str(path) for path in given.files)
    return Answer("OK", "; ".join(filter(None, [", ".join(names), files])))


def package_index(facts: Facts) -> Answer:
    """The index of the settings answers as the resolver asks it."""
    settings = facts.settings
    if not settings.index_url:
        return Answer("SKIP", "not set; https://pypi.org/simple")
    shown = without_password(settings.index_url)
    index = SimpleIndex(settings.index_url, ca_bundle=settings.certificates)
    if index.files(ANY_PROJECT, before=datetime.now(UTC)):
        return Answer("OK", shown)
    return Answer(
        "FAIL",
        f"{shown} lists no files of {ANY_PROJECT}",
        "give the address of a simple index that tells when files were uploaded"
        " (example: FC_INDEX_URL=https://pypi.org/simple)",
    )
