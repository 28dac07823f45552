"""Classes of tasks, costs, attempts and duplicates."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.errors import ConfigError
from datasmith.metrics.attempts import pass_at_k
from datasmith.metrics.efficiency import cost_weighted, pareto
from datasmith.metrics.integrity import Duplicate, duplicates
from datasmith.metrics.strata import TEMPORAL_BINS, THREE_MONTHS_DAYS, ntile, temporal_bin

CUTOFF = datetime(2025, 4, 1, tzinfo=UTC)
FINITE = st.floats(-10, 10)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-100.0, "3-6 before"),
        (-182.62125, "6+ before"),
        (-91.310625, "3-6 before"),
        (-91.3, "0-3 before"),
        (0.0, "0-3 before"),
        (0.1, "0-3 after"),
        (91.310625, "0-3 after"),
        (182.62125, "3-6 after"),
        (182.7, "6+ after"),
    ],
)
def test_bins_end_inclusively(days: float, expected: str) -> None:
    """Case 71 and the edges: the merge on the cutoff itself is before it."""
    assert temporal_bin(CUTOFF + timedelta(days=days), CUTOFF) == expected


@given(st.integers(-4000, 4000))
def test_a_later_merge_is_in_no_earlier_bin(days: int) -> None:
    """Bins follow time."""
    at = CUTOFF + timedelta(days=days)
    places = [TEMPORAL_BINS.index(temporal_bin(when, CUTOFF)) for when in (at, at + timedelta(days=THREE_MONTHS_DAYS))]
    assert places[0] <= places[1] <= places[0] + 1


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 9), max_size=30))
def test_quintiles_are_as_even_as_they_can_be(stars: dict[str, int]) -> None:
    """As SQL's NTILE: sizes differ by one, larger first, and no less popular task stands in a higher quintile."""
    found = ntile(stars)
    sizes = [Counter(found.values())[number] for number in range(1, 6)]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == len(stars)
    assert all(found[a] <= found[b] for a in stars for b in stars if stars[a] < stars[b])


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.floats(0, 9), FINITE), min_size=1))
def test_the_frontier_is_what_nobody_beats(points: dict[str, tuple[float, float]]) -> None:
    """Somebody is on it, and whoever is not is beaten by somebody who is."""
    flags = pareto(points)
    front = [points[name] for name, flag in flags.items() if flag]
    assert front
    for name, flag in flags.items():
        cost, gain = points[name]
        assert flag or any(other[0] <= cost and other[1] >= gain and other != (cost, gain) for other in front)


def test_unknown_costs_are_not_compared() -> None:
    """Neither a weight nor a flag, and nobody is beaten by them."""
    assert pareto({"a": (1.0, 0.0), "b": (None, 9.0)}) == {"a": True, "b": None}
    assert cost_weighted(-0.2, 0.5) == pytest.approx(-0.4)
    for advantage, cost in ((None, 1.0), (0.1, None), (0.1, 0.0), (0.1, float("inf"))):
        assert cost_weighted(advantage, cost) is None


@given(st.integers(1, 12), st.data())
def test_more_tries_and_more_successes_help(n: int, data: st.DataObject) -> None:
    """pass@k rises with k and c; pass@1 is the share of successes."""
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, 1) == pytest.approx(c / n)
    assert pass_at_k(n, c, k) >= pass_at_k(n, c, 1) - 1e-12
    assert pass_at_k(n, min(n, c + 1), k) >= pass_at_k(n, c, k)


def test_more_successes_than_attempts_are_refused() -> None:
    """And known figures come out: of four attempts one or two succeeded."""
    assert (pass_at_k(4, 1, 2), pass_at_k(4, 2, 2)) == pytest.approx((0.5, 5 / 6))
    with pytest.raises(ConfigError, match="example"):
        pass_at_k(2, 3, 1)


def test_copies_are_found() -> None:
    """Pairs that agree on a task are told, and whether they agree on all."""
    runs = {
        "a": {"t1": (1.1, 0.9), "t2": (1.2, 1.0), "t4": (3.0, 3.0)},
        "b": {"t1": (1.1, 0.9), "t2": (1.2, 1.0 + 1e-13), "t3": (5.0, 5.0)},
        "c": {"t1": (1.1, 0.9), "t2": (1.2, 1.0 + 1e-6)},
        "d": {"t1": (1.1 + 1e-9, 0.9)},
    }
    found = duplicates(runs)
    assert found == (Duplicate("a", "b", 2, 2), Duplicate("a", "c", 1, 2), Duplicate("b", "c", 1, 2))
    assert [each.complete for each in found] == [True, False, False]
