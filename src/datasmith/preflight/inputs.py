"""Checks of what a run is given: clones and files of pull requests, and the package index."""

from datetime import UTC, datetime

from datasmith.errors import IndexUnavailable
from datasmith.github.clones import without_password
from datasmith.github.forges import local_names, open_forge
from datasmith.github.repos_csv import VALID
from datasmith.preflight.base import Answer, Facts
from datasmith.resolution import index

ANY_PROJECT = "pip"
"""A project that every mirror of the package index has."""


def sources(facts: Facts) -> Answer:
    """The clones and files are there and can be read; GitHub is asked by its own check."""
    given = facts.sources
    if given is None or not (given.clones or given.files or given.names):
        return _listed(facts)
    names = local_names(given) or ()
    if given.forge == "offline":
        open_forge(given, facts.settings)
    files = ", ".join(str(path) for path in given.files)
    return Answer("OK", "; ".join(filter(None, [", ".join(names), files])))


def _listed(facts: Facts) -> Answer:
    """No source was named: GitHub's may stand in repos_valid.csv, any other run needs some."""
    listed = facts.settings.data_dir / VALID
    if facts.forge == "github" and listed.is_file():
        return Answer("OK", f"those of {listed}")
    todo = "name them as the run will get them (example: --repo ./packaging)"
    if facts.forge != "github":
        return Answer("SKIP", "none named, and a run needs some", todo)
    return Answer("SKIP", f"none named, and a run needs some, or {listed}", f"{todo}, or run fc-data discover")


def package_index(facts: Facts) -> Answer:
    """The index of the settings, or PyPI, answers as the resolver asks it."""
    settings = facts.settings
    address = settings.index_url or index.PYPI
    shown = without_password(address)
    asked = index.SimpleIndex(address, ca_bundle=settings.certificates)
    try:
        found = asked.files(ANY_PROJECT, before=datetime.now(UTC))
    except IndexUnavailable as error:
        todo = f"reach it, or name a mirror that can be reached (example: FC_INDEX_URL={index.PYPI})"
        return Answer("FAIL", f"{shown}: {error}", todo)
    if found:
        return Answer("OK", shown)
    return Answer(
        "FAIL",
        f"{shown} lists no files of {ANY_PROJECT}",
        f"give the address of a simple index that tells when files were uploaded (example: FC_INDEX_URL={index.PYPI})",
    )
