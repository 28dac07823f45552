"""A whole pull request from where it is known: the store first, then GitHub."""

import logging

from anyio import to_thread

from datasmith.errors import NotFound, StoreError
from datasmith.github.models import PR
from datasmith.settings import load_settings
from datasmith.storage import open_store
from datasmith.storage.base import Row, Value

_log = logging.getLogger(__name__)


async def fetch_pull_request(repository: str, number: int) -> PR:
    """See PR.fetch."""
    asked = PR(repository=repository, issue_number=number)
    try:
        stored = await to_thread.run_sync(_stored, asked)
    except StoreError as error:
        _log.warning("the store cannot be asked for %s: %s", asked.cache_key, error)
        stored = None
    return stored or await _from_github(asked)


def from_row(row: Row, repository: str) -> PR:
    """The pull request that a row of the table pull_requests holds."""
    fields = {key: value for key, value in row.items() if key in PR.model_fields and value is not None}
    return PR.model_validate({**fields, "repository": repository})


def _stored(asked: PR) -> PR | None:
    """What the store holds, if it knows the commits."""
    with open_store(load_settings(), create=False) as store:
        key: dict[str, Value] = {"owner": asked.owner, "repo": asked.repo, "issue_number": asked.issue_number}
        rows = store.select("pull_requests", key)
    return from_row(rows[0], asked.repository) if rows and rows[0]["merge_commit_sha"] else None


async def _from_github(asked: PR) -> PR:
    from datasmith.github.client import GitHubClient

    async with GitHubClient() as client:
        pr = await client.get_pr(asked.owner, asked.repo, asked.issue_number)
        if pr is None:
            raise NotFound(f"{asked.cache_key} is neither in the store nor on GitHub")
        return await client.with_changes(pr)
