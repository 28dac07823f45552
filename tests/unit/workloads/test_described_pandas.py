"""Frames, series and indexes of the real pandas are equal exactly where their values, dtypes and labels are."""

from collections.abc import Callable

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from tests.unit.workloads.test_outputs import differ

DAYS = pd.date_range("2024-01-01", periods=3, tz="UTC")


def frame(**changes: object) -> object:
    """A frame with columns of seven kinds; changes replace some."""
    columns = {
        "number": [1.0, 2.0, np.nan],
        "whole": [1, 2, 3],
        "text": ["a", "b", None],
        "day": DAYS,
        "span": DAYS - DAYS[0],
        "kind": pd.Categorical(["x", "y", "x"]),
        "maybe": pd.array([1, None, 3], dtype="Int64"),
    }
    return pd.DataFrame({**columns, **changes}, index=["i", "j", "k"])


BY_KIND = pd.Series([1.0, 2.0], index=pd.CategoricalIndex(["x", "y"], name="kind"), name="number")
PAIRS = [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
EQUAL: list[Callable[[], tuple[object, object]]] = [
    lambda: (frame(), frame()),
    lambda: (frame(), frame(number=[1.0, 2.0 + 1e-9, np.nan])),
    lambda: (pd.RangeIndex(3), pd.Index([0, 1, 2])),
    lambda: (pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0 * (1 + 1e-7)])),
    lambda: (frame().groupby("kind", observed=True).number.sum(), BY_KIND),  # type: ignore[attr-defined]
    lambda: (pd.MultiIndex.from_product([[1, 2], ["a", "b"]]), pd.MultiIndex.from_tuples(PAIRS)),
    lambda: (pd.interval_range(0, 3), pd.IntervalIndex.from_breaks([0, 1, 2, 3])),
]
UNLIKE: list[Callable[[], tuple[object, object]]] = [
    lambda: (frame(), frame(number=[1.0, 2.001, np.nan])),
    lambda: (frame(), frame(number=[1.0, 2.0, 3.0])),
    lambda: (frame(), frame(whole=[1.0, 2.0, 3.0])),
    lambda: (frame(), frame(whole=np.array([1, 2, 3], dtype="int32"))),
    lambda: (frame(), frame(text=["a", "b", "None"])),
    lambda: (frame(), frame(day=DAYS + pd.Timedelta(1, "ns"))),
    lambda: (frame(), frame(day=DAYS.tz_localize(None))),
    lambda: (frame(), frame(span=DAYS - DAYS[1])),
    lambda: (frame(), frame(kind=pd.Categorical(["x", "y", "y"]))),
    lambda: (frame(), frame(kind=pd.Categorical(["x", "y", "x"], categories=["y", "x"]))),
    lambda: (frame(), frame(kind=pd.Categorical(["x", "y", "x"], ordered=True))),
    lambda: (frame(), frame(maybe=pd.array([1, 0, 3], dtype="Int64"))),
    lambda: (frame(), frame().rename(columns={"whole": "hole"})),  # type: ignore[attr-defined]
    lambda: (frame(), frame().rename(index={"k": "l"})),  # type: ignore[attr-defined]
    lambda: (frame(), frame().iloc[::-1]),  # type: ignore[attr-defined]
    lambda: (frame(), frame().iloc[:2]),  # type: ignore[attr-defined]
    lambda: (pd.Series([1.0], name="a"), pd.Series([1.0], name="b")),
    lambda: (pd.Series([1.0]), pd.Series([1.0], index=[1])),
    lambda: (pd.Series([1.0]), pd.DataFrame({0: [1.0]})),
    lambda: (pd.interval_range(0, 3), pd.interval_range(0, 3, closed="left")),
    lambda: (pd.MultiIndex.from_product([[1, 2], ["a", "b"]]), pd.MultiIndex.from_product([[1, 3], ["a", "b"]])),
]


@pytest.mark.parametrize("made", EQUAL)
def test_the_same_data_is_equal(made: Callable[[], tuple[object, object]]) -> None:
    """However it was computed, and floating numbers to the fifth digit."""
    one, other = made()
    assert not differ(one, other) and not differ(other, one)


@pytest.mark.parametrize("made", UNLIKE)
def test_other_data_is_not(made: Callable[[], tuple[object, object]]) -> None:
    """A value, a missing one, a dtype, a label, an order."""
    one, other = made()
    assert differ(one, other) and differ(other, one)
