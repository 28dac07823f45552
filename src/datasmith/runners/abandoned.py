"""What processes of this machine held when they were killed: given back at once, not when its lease ends."""

from pathlib import Path
from socket import gethostname
from typing import cast

from datasmith.runners.agenda import abandoned
from datasmith.storage.base import ItemKind, Row, StageItem, Store, Verdict, utc_now


def release_abandoned(store: Store, window: str, stage: int) -> None:
    """Make items pending again whose worker was a process of this machine that is gone.

    Several may do so at once: what somebody has leased since then stays theirs, because its fence has grown.
    """
    where: Row = {"window": window, "stage": stage, "state": "leased"}
    rows = store.select("stage_items", where)
    gone = set(abandoned(rows, gethostname(), _is_alive))
    given_back = [Verdict(_item(row), "pending", "") for row in rows if row["item"] in gone]
    store.finish_many(given_back, utc_now())


def _item(row: Row) -> StageItem:
    """The ledger's item in a row that was selected."""
    kind, attempts, fence = cast("tuple[ItemKind, int, int]", (row["kind"], row["attempts"], row["fence"]))
    window, stage, item = cast("tuple[str, int, str]", (row["window"], row["stage"], row["item"]))
    return StageItem(window, stage, item, kind, "leased", str(row["reason"]), attempts, fence)


def _is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
