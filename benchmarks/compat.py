"""The acceptance cases of the reference's figures beside ours: python -m benchmarks.compat.

The digits are those that the cases give; a row agrees where ours is off by no more than 0.6 of the last one (case 70 is
computed from rounded figures). Exit code 1 where one does not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from datasmith.metrics import compat
from datasmith.metrics.attempts import pass_at_k, reported_ks
from datasmith.metrics.levels import split_name
from datasmith.metrics.ranking import margins, ranked_pairs
from datasmith.metrics.speedup import Pair
from datasmith.metrics.strata import temporal_bin
from datasmith.stats.asv_decision import is_different, u_statistic, u_test, weight

FOUR = (
    Pair("bench.ModA.time_f(1)", 2.0, 4.0),
    Pair("bench.ModA.time_f(2)", 2.0, 1.0),
    Pair("bench.time_g", 1.0, 2.0),
    Pair("other.time_h", 3.0, 1.5),
)
TWO = (Pair("m.time_a", 1.5, 1.2), Pair("m.time_b", 0.5, 1.2))
NAMES = {
    1: ("time_f", "None None time_f"),
    2: ("mod.time_f", "mod None time_f"),
    3: ("mod.Cls.time_f", "mod Cls time_f"),
    4: ("pkg.mod.Cls.time_f(1, 'a')", "pkg.mod Cls time_f"),
    5: ("mod.cls.time_f", "mod.cls None time_f"),
    6: ("a.b.C.D.time_f", "a.b.C D time_f"),
    7: ("Mod.time_f", "Mod None time_f"),
    8: (" ", "None None None"),
}
SEPARATED = {
    (5, 5): "0.007937", (5, 6): "0.004329", (5, 7): "0.002525", (6, 6): "0.002165", (4, 10): "0.001998",
    (6, 7): "0.001166", (7, 7): "0.000583", (10, 10): "0.0000108",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of a case: what it is of, as the case gives it, and ours."""

    case: int
    what: str
    given: str
    ours: object

    @property
    def shown(self) -> str:
        """Ours with as many digits."""
        if not isinstance(self.ours, float):
            return str(self.ours)
        digits = len(self.given.partition(".")[2])
        return f"{round(self.ours, digits) + 0.0:.{digits}f}"

    @property
    def agrees(self) -> bool:
        """True where both are the same, as far as the case tells."""
        if not isinstance(self.ours, float):
            return str(self.ours) == self.given
        return abs(self.ours - float(self.given)) <= 0.6 * 0.1 ** len(self.given.partition(".")[2])


def _levels(case: int, what: str, score: compat.ReferenceScore, *given: str) -> Iterator[Row]:
    yield Row(case, f"{what}: task_speedup", given[0], score.task_speedup)
    for name, digits in zip(("L1", "L2", "L3", "L4"), given[1:], strict=True):
        yield Row(case, f"{what}: {name}", digits, score.levels[name])


def _tasks() -> Iterator[Row]:
    for case, (name, parts) in NAMES.items():
        found = split_name(name)
        yield Row(case, f"parts of {name!r}", parts, f"{found.module} {found.cls} {found.function}")
    score = compat.reference_score
    yield from _levels(9, "four workloads", score(FOUR), "1.861210", "0.543701", "0.166667", "0.166667", "0.0")
    failed = score(FOUR, passed=False)
    yield from _levels(10, "a failed test", failed, "1.0", "-0.75", "-0.833333", "-0.833333", "-0.861210")
    yield from _levels(11, "two workloads", score(TWO), "0.866025", "-0.333975", "-0.333975", "-0.2", "-0.333975")
    for agent, expert in ((0.0, 1.2), (1.2, math.inf), (None, 1.2)):
        lost = score((Pair("m.time_a", agent, expert),))
        yield from _levels(12, f"ratios {agent} and {expert}", lost, "1.0", "0.0", "0.0", "0.0", "0.0")
    yield from _levels(13, "no workload", score(()), "1.0", "0.0", "0.0", "0.0", "0.0")
    block = compat.legacy_block({"b1": (0.5, "+"), "b2": (-0.2, "-"), "b3": (9.0, "x"), "b4": (200.0, "~")})
    yield Row(14, "a legacy block", "-0.15", block.speedup)
    names = [*(f"mod.Suite.time_f({at})" for at in range(4)), "mod.time_g"]
    base = [[4.0, 4, 40], [4.0, 4, 4], [8.0, 8, 8], [8.0, 8, 8], [10.0, 10, 10]]
    expert_s = [[2.0] * 3, [2.0] * 3, [4.0] * 3, [8.0] * 3, [10.0] * 3]
    agent_s = [[1.0] * 3, [4.0] * 3, [8.0, 8, 9], [8.0, math.nan, 8], [5.0, 5, 50]]
    arms = [dict(zip(names, arm, strict=True)) for arm in (base, expert_s, agent_s)]
    found_levels = score(compat.pairs_from_samples(*arms)).levels
    for name, digits in {"L1": "0.0", "L2": "0.366210", "L3": "0.366210", "L4": "0.0"}.items():
        yield Row(15, f"asv's samples: {name}", digits, found_levels[name])
    yield Row(16, "median of 4, 4, 40", "4.0", compat.median_sample([4.0, 4.0, 40.0]))


def _runs() -> Iterator[Row]:
    advantages = [0.21, -0.4, 0.0]
    yield Row(29, "advantage of a run", "-0.101236", compat.run_advantage(advantages))
    yield Row(30, "where that has no root", "-0.5", compat.run_advantage([-1.2, 0.2]))
    yield Row(31, "mean speedup", "1.0", compat.mean_speedup([1.5, 1.0, 0.5]))
    yield Row(32, "weighted by cost", "-0.063333", compat.cost_weighted(advantages, [2.0, 1.0, 0.0]))
    yield Row(32, "where nothing was paid", "0.0", compat.cost_weighted(advantages, [0.0] * 3))
    for (n, c, k), digits in {
        (1, 1, 1): "1.0", (4, 0, 2): "0.0", (4, 1, 2): "0.5", (4, 2, 2): "0.833333", (10, 3, 5): "0.916667",
        (5, 3, 5): "1.0",
    }.items():  # fmt: skip
        yield Row(33, f"pass@{k} of {c} in {n}", digits, float(pass_at_k(n, c, k)))
    for least, ks in ((1, ()), (2, (2,)), (4, (2, 4)), (5, (2, 4, 5)), (10, (2, 4, 5, 8, 10))):
        yield Row(34, f"k's of {least} attempts", str(ks), tuple(reported_ks(least)))
    models = ["terminus-2:anthropic-claude-sonnet-4", "terminus-2:gpt-5"]
    yield Row(35, "the row of openai/gpt-5", models[1], compat.row_of(models, "terminus-2:openai/gpt-5"))


def _asv() -> Iterator[Row]:
    def apart(m: int, n: int) -> tuple[list[float], list[float]]:
        return [float(at) for at in range(m)], [100.0 + at for at in range(n)]

    for (m, n), digits in SEPARATED.items():
        yield Row(36, f"p of {m} against {n}, apart", digits, u_test(*apart(m, n)))
    same = [1.0, 2.0, 3.0]
    yield Row(36, "U and p of equal samples", "4 1.0", f"{u_statistic(same, same)} {u_test(same, same)}")
    overlapping, disjoint = ((1.0, 2.0), (1.5, 3.0)), ((1.0, 2.0), (2.5, 3.0))
    for n, ends, what, given in (
        (5, overlapping, "overlapping", "False False"), (5, disjoint, "disjoint", "True True"),
        (6, disjoint, "disjoint", "True False"), (7, overlapping, "overlapping", "True True"),
    ):  # fmt: skip
        told = (is_different(*apart(n, n), ends), is_different(*apart(n, n), ends, like_asv=True))
        yield Row(37, f"{n} against {n}, {what}: ours, asv's", given, "{} {}".format(*told))
    for right, given in (((2.0, 3.0), "False"), ((2.01, 3.0), "True"), ((2.5, math.inf), "False")):
        yield Row(38, f"(1, 2) and {right}, no samples", given, is_different([], [], ((1.0, 2.0), right)))
    for interval, given in (((1.0, 2.0), "2.0"), ((1.0, math.inf), "None"), ((2.0, 2.0), "None")):
        yield Row(39, f"weight of {interval}", given, weight(interval))


def _others() -> Iterator[Row]:
    pairs = [(10.0, 5.0), (10.0, 8.0), (12.0, 6.0), (9.0, 9.0)]
    yield Row(63, "paired speedup", "1.581139", compat.paired_speedup(pairs, 4))
    for rounds, usable, given in ((4, 1, "None"), (4, 2, "2.0"), (5, 2, "None"), (5, 3, "2.0")):
        made = [(2.0, 1.0)] * usable + [(2.0, math.nan)] * (rounds - usable)
        yield Row(64, f"{usable} of {rounds} rounds", given, compat.paired_speedup(made, rounds))
    for speedup, digits in ((0.5, "0.625"), (1.0, "1.0"), (1.04, "2.2740"), (1.08, "3.5"), (1.1664, "6.0")):
        yield Row(65, f"reward of {speedup}", digits, compat.shaped_reward(speedup))
    yield Row(65, "reward of failed tests", "-1.0", compat.shaped_reward(2.0, passed=False))
    yield Row(66, "older advantage", "1.0", compat.relative_advantage(oracle_s=2.0, agent_s=1.0))
    overall = compat.reference_score([Pair("m.time_a", 4 / 1, 4 / 2)]).levels["L4"]
    yield Row(66, "difference of speedups", "2.0", overall)
    ballots = [dict(zip(names, (3.0, 2.0, 1.0), strict=True)) for names in ["ABC"] * 4 + ["BCA"] * 3 + ["CAB"] * 2]
    ranks = ranked_pairs(ballots)
    yield Row(67, "ranked pairs", "A B C", " ".join(sorted(ranks, key=lambda name: ranks[name])))
    alone = margins([{"A": 2.0, "B": 1.0}, {"C": 1.0}])
    yield Row(68, "pairs where C is alone", "[('A', 'B')]", str(list(alone)))
    for agent, oracle, digits in ((1.2, 1.0, "0.141421"), (1.0, 1.5, "-0.353553"), (1.3, 1.3, "0.0")):
        yield Row(69, f"distance of {agent} and {oracle}", digits, compat.distance(agent, oracle))
    for advantage, cost, digits in ((-0.046208, 0.484116, "-0.095448"), (-0.009606, 7.590425, "-0.0012656")):
        yield Row(70, f"{advantage} for {cost} USD", digits, compat.cost_weighted([advantage], [cost]))
    cutoff = datetime(2025, 3, 31, tzinfo=UTC)
    yield Row(71, "merged 100 days before, months", "3-6 before", temporal_bin(cutoff - timedelta(days=100), cutoff))


def rows() -> list[Row]:
    """All figures, in the order of their cases."""
    return [*_tasks(), *_runs(), *_asv(), *_others()]


def table() -> str:
    """The figures as a table of a page, and how many agree."""
    lines = ["| case | of | reference | ours |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.case} | {row.what} | {row.given} | {row.shown} |" for row in rows()]
    cases = {row.case for row in rows()}
    wrong = sum(not row.agrees for row in rows())
    return "\n".join([*lines, "", f"{len(rows())} figures of {len(cases)} cases, {wrong} unlike the reference's."])


if __name__ == "__main__":
    print(table())
    raise SystemExit(0 if all(row.agrees for row in rows()) else 1)
