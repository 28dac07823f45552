"""Answers to GraphQL queries: data, or which kind of error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from datasmith.errors import ForgeError, ForgeUnavailable, NotFound
from datasmith.github.replies import Json, JsonObject, QueryError, errors_of

NOT_FOUND = "NOT_FOUND"
TOO_MUCH = "RESOURCE_LIMITS_EXCEEDED"
"""GitHub had no time for all of the query; a smaller one may do."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Data of a query whose parts stand alone; `refused` says by alias why GitHub does not tell of a part.

    A part that is null and not refused does not exist.
    """

    data: JsonObject
    refused: Mapping[str, str]


def read_answer(value: Json, *, missing_ok: bool) -> JsonObject:
    """The data of an answer; with `missing_ok`, data in which null stands for what does not exist.

    Raises:
        NotFound: something that the query names does not exist.
        ForgeUnavailable: GitHub gave up halfway.
        ForgeError: the answer holds another error, or no data.
    """
    found, errors = _opened(value)
    others = [error for error in errors if error.kind != NOT_FOUND]
    if others:
        raise ForgeError(_in_words(others))
    if errors and not missing_ok:
        raise NotFound(f"GraphQL: {'; '.join(error.message for error in errors)[:500]}")
    return _object(found)


def read_parts(value: Json) -> Parts:
    """The parts of an answer, where an error about one of them is none of the others'.

    Raises:
        ForgeUnavailable: GitHub gave up halfway.
        ForgeError: the answer holds an error that is about no part, or no data.
    """
    found, errors = _opened(value)
    data = found if isinstance(found, dict) else {}
    others = [error for error in errors if error.kind != NOT_FOUND]
    of_all = [error for error in others if error.part not in data]
    if of_all:
        raise ForgeError(_in_words(of_all))
    return Parts(_object(found), {error.part: str(error)[:300] for error in others})


def _opened(value: Json) -> tuple[Json, list[QueryError]]:
    """What an answer holds as data, and its errors."""
    if not isinstance(value, dict):
        raise ForgeError("GitHub's answer to a GraphQL query is no object")
    errors = errors_of(value)
    if TOO_MUCH in {error.kind for error in errors}:
        raise ForgeUnavailable(_in_words(error for error in errors if error.kind != NOT_FOUND))
    return value.get("data"), errors


def _object(data: Json) -> JsonObject:
    if not isinstance(data, dict):
        raise ForgeError("GitHub's answer to a GraphQL query holds no data")
    return data


def _in_words(errors: Iterable[QueryError]) -> str:
    return f"GraphQL: {'; '.join(str(error) for error in errors)[:500]}"
