"""Records out of a store: which pull requests, and what their rows say."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasmith.errors import ConfigError, StoreError
from datasmith.publish import records_from_supabase
from datasmith.publish.records import record, write_parquet
from datasmith.storage.base import Row, Store
from tests.conformance.stores import open_store
from tests.unit.tasks.samples import PATCH, certificate, sample_task

FEBRUARY = {"start_date": "2026-02-01", "end_date": "2026-03-01"}
DIGEST = "sha256:" + "d" * 64


@pytest.fixture(scope="module", params=["memory", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Pull requests of one repository, by number; 1 to 4 are the ones that are wanted."""
    with open_store(request.param, tmp_path_factory.mktemp("store")) as opened:
        opened.upsert("pull_requests", [pull(number, **changes) for number, changes in PULLS.items()])
        proof = certificate("acme_calc_1", DIGEST)
        (row_of_expert,) = proof.expert.workloads
        faster = (row_of_expert.model_copy(update={"ratio": 3.0, "high": 3.1}),)
        newer = proof.model_copy(
            update={
                "issued_at": datetime(2026, 4, 1, tzinfo=UTC),
                "expert": proof.expert.model_copy(update={"speedup": 3.0, "workloads": faster}),
            }
        )
        gone = newer.model_copy(update={"issued_at": datetime(2026, 5, 1, tzinfo=UTC), "status": "withdrawn"})
        for issued in (proof, newer, gone):
            row: Row = {
                "task_id": issued.task_id, "image_digest": DIGEST, "machine": "m", "issued_at": issued.issued_at,
                "status": issued.status, "certificate": issued.model_dump(mode="json"),
            }  # fmt: skip
            opened.upsert("certificates", [row])
        opened.upsert("repositories", [{"owner": "acme", "repo": "calc", "licence": "MIT"}])
        yield opened


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


PULLS: dict[int, Row] = {
    1: {"merged_at": at("2026-02-01T00:00:00Z"), "licence": "BSD-3-Clause"},
    2: {"merged_at": at("2026-02-28T23:59:59.999999Z"), "task_id": None},
    3: {"merged_at": at("2026-03-01T00:30:00+01:00")},
    4: {"patch": PATCH + "\udce9"},
    5: {"merged_at": at("2026-03-01T00:00:00Z")},
    6: {"merged_at": at("2026-01-31T23:59:59Z")},
    7: {"merged_at": None},
    8: {"is_performance_commit": False},
    9: {"is_performance_commit": None},
    10: {"certificate_status": "fragile"},
    11: {"certificate_status": None},
    12: {"container_name": None},
    13: {"image_digest": None},
    14: {"published_at": at("2026-03-02T00:00:00Z")},
}
"""By number: how each differs from one that is verified, unpublished, about speed, and merged in February."""


def pull(number: int, **changes: object) -> Row:
    row: dict[str, object] = {
        "owner": "acme", "repo": "calc", "issue_number": number, "task_id": f"acme_calc_{number}",
        "is_performance_commit": True, "certificate_status": "valid", "container_name": "x", "image_name": "x",
        "image_digest": DIGEST, "difficulty": "easy", "classification": "cache_and_reuse", "patch": PATCH,
        "final_md": "Make it fast.", "merged_at": at("2026-02-14T00:00:00Z"), "merge_commit_sha": "b" * 40,
        "base_sha": "a" * 40,
    }  # fmt: skip
    return row | changes  # type: ignore[return-value]


def test_the_window_is_half_open_and_only_verified_unpublished_ones_are_in_it(store: Store) -> None:
    """By the moment of the merge, in UTC; ordered by task id."""
    found = records_from_supabase(**FEBRUARY, store=store)
    assert [row.pr_number for row in found] == [1, 2, 3, 4]
    assert [row.task_id for row in found] == [f"acme_calc_{number}" for number in (1, 2, 3, 4)]


def test_a_record_is_complete(store: Store, tmp_path: Path) -> None:
    """Typed as a task's; the expert's figures are the newest valid certificate's; what nobody says is None."""
    first, second, _, broken = records_from_supabase(**FEBRUARY, store=store)
    assert (first.repo_name, first.licence, first.patch, first.n_workloads) == ("acme/calc", "BSD-3-Clause", PATCH, 1)
    assert (first.expert_speedup, first.expert_speedup_low, first.expert_speedup_high) == (3.0, 1.9, 2.1)
    assert first.pr_merged_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert (second.expert_speedup, second.n_workloads, second.licence) == (None, None, "MIT")
    assert broken.patch is None
    assert list(asdict(first)) == list(asdict(record(sample_task())))
    write_parquet([first, replace(second, licence=None)], tmp_path / "x.parquet")


def test_a_window_must_be_one(store: Store) -> None:
    """The message names the date and gives an example."""
    with pytest.raises(ConfigError, match=r"2026-13-45.*2026-02-01"):
        records_from_supabase(start_date="2026-13-45", end_date="2026-03-01", store=store)
    with pytest.raises(ConfigError, match="after"):
        records_from_supabase(start_date="2026-03-01", end_date="2026-03-01", store=store)


def test_an_empty_month_has_no_records(store: Store) -> None:
    """None is an answer."""
    assert records_from_supabase(start_date="2020-01-01", end_date="2020-02-01", store=store) == []


def test_a_certificate_that_cannot_be_read_is_named(store: Store) -> None:
    """Nothing is published on its word, and the line says whose it is."""
    merged_at = at("2021-01-05T00:00:00Z")
    key: Row = {"task_id": "acme_calc_99", "image_digest": DIGEST, "machine": "m", "issued_at": merged_at}
    store.upsert("pull_requests", [pull(99, merged_at=merged_at)])
    store.upsert("certificates", [{**key, "status": "valid", "certificate": {"task_id": "acme_calc_99"}}])
    with pytest.raises(StoreError, match="certificate of acme_calc_99 cannot be read: image"):
        records_from_supabase(start_date="2021-01-01", end_date="2021-02-01", store=store)
