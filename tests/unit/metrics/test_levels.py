"""Benchmark names and levels."""

import itertools

import pytest

from datasmith.metrics.levels import LEVELS, BenchmarkName, group_key, split_name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("time_f", (None, None, "time_f")),
        ("mod.time_f", ("mod", None, "time_f")),
        ("mod.Cls.time_f", ("mod", "Cls", "time_f")),
        ("pkg.mod.Cls.time_f(1, 'a')", ("pkg.mod", "Cls", "time_f")),
        ("mod.cls.time_f", ("mod.cls", None, "time_f")),
        ("a.b.C.D.time_f", ("a.b.C", "D", "time_f")),
        ("Mod.time_f", ("Mod", None, "time_f")),
        ("", (None, None, None)),
        ("   ", (None, None, None)),
        ("m.time_f(1.5, 'x.Y.z(')", ("m", None, "time_f")),
    ],
)
def test_a_name_is_cut_at_its_class(name: str, parts: tuple[str | None, str | None, str | None]) -> None:
    """Cases 1-8: parameters never take part, and a class needs a module before it."""
    assert split_name(name) == BenchmarkName(*parts)


def test_each_level_groups_at_least_as_much_as_the_finer_one() -> None:
    """Two workloads that share a group at one level share it at every coarser level."""
    names = ["m.A.time_f(1)", "m.A.time_f(2)", "m.A.time_g", "m.B.time_f", "n.time_f", "time_f"]
    groups = [{name: group_key(name, level) for name in names} for level in LEVELS]
    for finer, coarser in itertools.pairwise(groups):
        together = [(a, b) for a in names for b in names if finer[a] == finer[b]]
        assert all(coarser[a] == coarser[b] for a, b in together)
    assert len(set(groups[0].values())) == len(names)
    assert len(set(groups[-1].values())) == 1
