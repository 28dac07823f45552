"""Answers to GraphQL queries: data, or which kind of error."""

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.github.replies import Json, JsonObject, errors_of

NOT_FOUND = "NOT_FOUND"
TOO_MUCH = "RESOURCE_LIMITS_EXCEEDED"
"""GitHub had no time for all of the query; a smaller one may do."""


def read_answer(value: Json, *, missing_ok: bool) -> JsonObject:
    """The data of an answer; with `missing_ok`, data in which null stands for what does not exist.

    Raises:
        NotFound: something that the query names does not exist.
        ForgeUnavailable: GitHub gave up halfway.
        ForgeError: the answer holds another error, or no data.
    """
    if not isinstance(value, dict):
        raise ForgeError("GitHub's answer to a GraphQL query is no object")
    errors = errors_of(value)
    others = [f"{kind}: {message}" if kind else message for kind, message in errors if kind != NOT_FOUND]
    if TOO_MUCH in {kind for kind, _ in errors}:
        raise ForgeUnavailable(f"GraphQL: {'; '.join(others)[:500]}")
    if others:
        raise ForgeError(f"GraphQL: {'; '.join(others)[:500]}")
    if errors and not missing_ok:
        raise NotFound(f"GraphQL: {'; '.join(message for _, message in errors)[:500]}")
    data = value.get("data")
    if not isinstance(data, dict):
        raise ForgeError("GitHub's answer to a GraphQL query holds no data")
    return data
