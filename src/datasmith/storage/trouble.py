"""What went wrong in a database, in our own words: an outage, a wrong schema, or a row that does not fit."""

import sqlite3

from sqlalchemy import exc

from datasmith.errors import SchemaMismatch, StoreError, StoreUnavailable
from datasmith.storage.schema import REVISION

_CONFLICTS = {"40001", "40P01"}
"""PostgreSQL ended the transaction for another's sake (serialization, deadlock): the same again will do."""
_ABSENT = {"42P01", "42703", "3F000"}
"""PostgreSQL knows no such table, column or schema."""
_OUTAGES = ("08", "25", "28", "40", "53", "55", "57", "58", "F0", "XX")
"""Classes of PostgreSQL's codes that say nothing about the row: connection, log-in, disk, shutdown, damage."""


def in_our_words(error: Exception, location: str) -> StoreError:
    """A StoreError that names the database's `location`, and what it said in one line."""
    cause = _cause(error)
    text = f"{location}: {' '.join(str(cause).split())}"
    code = sqlstate(error)
    if code in _ABSENT or (isinstance(cause, sqlite3.OperationalError) and _says_absent(text)):
        return SchemaMismatch(f"not that of this version ({text})", REVISION)
    return StoreUnavailable(text) if _is_outage(error, cause, code) else StoreError(text)


def is_conflict(error: BaseException | None) -> bool:
    """True where the same transaction, tried again, may well succeed."""
    return error is not None and sqlstate(error) in _CONFLICTS


def sqlstate(error: BaseException) -> str:
    """PostgreSQL's five-character code; "" where there is none (a connection that was never made, SQLite)."""
    return str(getattr(_cause(error), "sqlstate", None) or "")


def _cause(error: BaseException) -> BaseException:
    """The driver's own error."""
    return error.orig if isinstance(error, exc.StatementError) and error.orig else error


def _says_absent(text: str) -> bool:
    return "no such table" in text or "no such column" in text


def _is_outage(error: Exception, cause: BaseException, code: str) -> bool:
    if code:
        return code.startswith(_OUTAGES)
    if isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return False  # the statement is wrong, not the database
    outage = isinstance(error, (exc.OperationalError, exc.InterfaceError, exc.TimeoutError, sqlite3.Error))
    return outage or type(error) is exc.DatabaseError
