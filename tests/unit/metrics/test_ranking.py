"""Orders of configurations: properties that hold for any ballots."""

import random
from collections.abc import Sequence
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.metrics.ranking import (
    RULES,
    heaviest_share,
    margins,
    ranked_pairs,
    ranks,
    stability,
    tie_groups,
    win_rates,
)

NAMES = ["a", "b", "c", "d", "e"]
BALLOTS = st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3).map(float), max_size=5), max_size=12)
FULL = st.lists(
    st.permutations(NAMES).map(lambda names: {name: float(at) for at, name in enumerate(names)}), max_size=9
)


def order(*names: str) -> dict[str, float]:
    return {name: -float(at) for at, name in enumerate(names)}


def test_the_published_check() -> None:
    """Case 67: margins B>C 5, A>B 3, C>A 1, so the smallest one gives way."""
    ballots = [order("A", "B", "C")] * 4 + [order("B", "C", "A")] * 3 + [order("C", "A", "B")] * 2
    assert margins(ballots) == {("B", "C"): 5, ("A", "B"): 3, ("C", "A"): 1}
    assert ranked_pairs(ballots) == {"A": 1, "B": 2, "C": 3}


def test_who_is_missing_is_not_compared() -> None:
    """Case 68: a configuration without a value on a task neither wins nor loses there."""
    ballots = [order("A", "B"), order("B", "C"), {"C": 1.0}]
    assert margins(ballots) == {("A", "B"): 1, ("B", "C"): 1}
    assert ranked_pairs(ballots) == {"A": 1, "B": 2, "C": 3}


def test_a_plain_cycle_is_a_tie() -> None:
    """Three ballots that go round in a circle say nothing, whoever is named first."""
    ballots = [order("A", "B", "C"), order("B", "C", "A"), order("C", "A", "B")]
    assert ranked_pairs(ballots) == {"A": 1, "B": 1, "C": 1}


def test_a_pair_that_larger_margins_refute_takes_no_other_with_it() -> None:
    """C>A closes a cycle with A>B>C, so it is out before A>D and D>C of its margin are judged, which stay."""
    said = {("A", "B"): 5, ("B", "C"): 5, ("C", "A"): 3, ("A", "D"): 3, ("D", "C"): 3}
    ballots = [order(*pair) for pair, times in said.items() for _ in range(times)]
    assert margins(ballots) == said
    assert ranked_pairs(ballots) == {"A": 1, "B": 2, "C": 4, "D": 2}


def locked_one_by_one(names: str, pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Ranks where pairs are locked in this order, each unless the worse one already stands above the better one."""
    above: dict[str, set[str]] = {name: set() for name in names}
    for better, worse in pairs:
        if worse not in above[better]:
            below = {name for name in names if name == worse or worse in above[name]}
            above |= {name: above[name] | above[better] | {better} for name in below}
    return {name: 1 + sum(len(other) < len(above[name]) for other in above.values()) for name in names}


def every_tie_break(names: str, ballots: list[dict[str, float]]) -> list[dict[str, int]]:
    """The different results of Tideman's rule, over all orders of the pairs of one margin."""
    by_margin: dict[int, list[tuple[str, str]]] = {}
    for pair in permutations(names, 2):
        margin = sum(ballot[pair[0]] > ballot[pair[1]] for ballot in ballots) * 2 - len(ballots)
        if margin > 0:
            by_margin.setdefault(margin, []).append(pair)
    turns = [permutations(by_margin[margin]) for margin in sorted(by_margin, reverse=True)]
    found: list[dict[str, int]] = []
    for groups in product(*turns):
        ranks_of = locked_one_by_one(names, [pair for group in groups for pair in group])
        found += [ranks_of] if ranks_of not in found else []
    return found


def test_where_no_tie_break_decides_the_order_is_tidemans() -> None:
    """Of random elections, those in which every order of equal margins gives one result: ours is that one."""
    rng, names, firm = random.Random(3), "ABCD", 0
    for _ in range(200):
        ballots = [order(*rng.sample(names, 4)) for _ in range(9)]
        results = every_tie_break(names, ballots)
        firm += len(results) == 1
        assert len(results) > 1 or ranked_pairs(ballots) == results[0]
    assert firm > 100


@given(BALLOTS, st.randoms(use_true_random=False), st.permutations(NAMES))
def test_names_and_the_order_of_ballots_do_not_decide(
    ballots: list[dict[str, float]], rng: random.Random, renamed: list[str]
) -> None:
    """Renaming the configurations renames the ranks, and shuffling the ballots changes nothing."""
    other = dict(zip(NAMES, renamed, strict=True))
    shuffled = [{other[name]: value for name, value in ballot.items()} for ballot in ballots]
    rng.shuffle(shuffled)
    ours, theirs = ranked_pairs(ballots), ranked_pairs(shuffled)
    assert {other[name]: rank for name, rank in ours.items()} == theirs


@given(BALLOTS)
def test_who_beats_everybody_is_first(ballots: list[dict[str, float]]) -> None:
    """A Condorcet winner has rank 1 alone, a Condorcet loser the last one."""
    wins = margins(ballots)
    found = ranked_pairs(ballots)
    for name in NAMES:
        others = set(NAMES) - {name}
        if all((name, other) in wins for other in others):
            assert [each for each, rank in found.items() if rank == 1] == [name]
        if all((other, name) in wins for other in others):
            assert found[name] == len(NAMES)


@given(FULL)
def test_unanimity_is_kept(ballots: list[dict[str, float]]) -> None:
    """Where every ballot has A before B, so has the result."""
    found = ranked_pairs(ballots)
    for first, second in combinations(NAMES, 2):
        if ballots and all(ballot[first] > ballot[second] for ballot in ballots):
            assert found[first] < found[second]


@given(BALLOTS)
def test_win_rates_add_up(ballots: list[dict[str, float]]) -> None:
    """Between 0 and 1, and two who meet share one comparison between them."""
    rates = win_rates(ballots)
    assert all(rate is None or 0.0 <= rate <= 1.0 for rate in rates.values())
    pair = [{name: ballot[name] for name in ("a", "b")} for ballot in ballots if {"a", "b"} <= ballot.keys()]
    if pair:
        both = win_rates(pair)
        assert (both["a"] or 0.0) + (both["b"] or 0.0) == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10))
def test_letters_are_shared_exactly_by_those_that_do_not_differ(pairs: list[tuple[int, int]]) -> None:
    """The property that a compact letter display is for, for any relation of differing."""
    names = [str(at) for at in range(6)]
    apart = {frozenset(map(str, pair)) for pair in pairs if pair[0] != pair[1]}
    letters = tie_groups(names, lambda first, second: frozenset((first, second)) in apart)
    for first, second in combinations(names, 2):
        assert bool(set(letters[first]) & set(letters[second])) == (frozenset((first, second)) not in apart)
    assert letters["0"].startswith("a")


def test_a_chain_of_ties_has_overlapping_letters() -> None:
    """Who cannot be told from either neighbour has both letters."""
    apart = {("A", "C")}
    assert tie_groups(["A", "B", "C"], lambda a, b: (a, b) in apart) == {"A": "a", "B": "ab", "C": "b"}
    assert tie_groups([], lambda a, b: True) == {}


def test_ranks_count_who_stands_higher() -> None:
    """Two that were never compared share a rank, and the next one is two further down."""
    assert ranked_pairs([order("A", "C"), order("B", "C")]) == {"A": 1, "B": 1, "C": 3}
    assert ranked_pairs([]) == {}


def test_one_heavy_task_makes_the_rules_disagree() -> None:
    """A leads by its mean alone: the other rules see that B is better on most tasks, and the agreement says so."""
    ballots = [{"A": 9.0, "B": 0.1}] + [{"A": 0.0, "B": 0.1}] * 4
    logs = [{"A": 0.3, "B": 0.1}] + [{"A": 0.0, "B": 0.1}] * 4
    found = stability(ballots, logs, ["A", "B", "never"])
    assert tuple(found.ranks) == RULES
    assert found.ranks["advantage"] == {"A": 1, "B": 2}
    assert found.ranks["median"] == found.ranks["win rate"] == found.ranks["ranked pairs"] == {"A": 2, "B": 1}
    assert (found.agreement, found.span("A"), found.span("never")) == (0.0, (1, 2), None)
    assert stability([{"A": 2.0, "B": 1.0}], [{"A": 2.0, "B": 1.0}], ["A", "B"]).agreement == 1.0


def test_weight_of_the_heaviest() -> None:
    """Ten of eleven equal tasks carry ten elevenths; nothing has no share."""
    assert heaviest_share([1.0, -1.0] * 5 + [1.0]) == pytest.approx(10 / 11)
    assert heaviest_share([5.0]) == 1.0
    assert heaviest_share([]) is None
    assert heaviest_share([0.0]) is None


def test_a_missing_value_has_no_rank() -> None:
    """Equal values share a rank, and the next one is further down."""
    assert ranks({"a": 1.0, "b": 2.0, "c": None, "d": 2.0}) == {"b": 1, "d": 1, "a": 3}


def test_what_is_within_the_errors_is_a_tie() -> None:
    """Doing nothing is not better than failing for 0.004 +- 0.03 on two tasks, where the third says the reverse."""
    ballots = [{"nop": 0.004, "agent": 0.0}, {"nop": 0.01, "agent": 0.0}, {"nop": 0.0, "agent": 0.4}]
    errors = [{"nop": 0.03, "agent": 0.0}, {"nop": 0.03}, {"nop": 0.03, "agent": 0.04}]
    assert ranked_pairs(ballots) == {"nop": 1, "agent": 2}
    assert ranked_pairs(ballots, errors) == {"agent": 1, "nop": 2}
    assert margins(ballots, errors) == {("agent", "nop"): 1}
    assert win_rates(ballots, errors) == {"agent": pytest.approx(2 / 3), "nop": pytest.approx(1 / 3)}
    assert stability(ballots, ballots, ["nop", "agent"], errors).ranks["ranked pairs"]["agent"] == 1
    at_the_edge = [{"a": 0.05, "b": 0.0}]
    assert margins(at_the_edge, [{"a": 0.03, "b": 0.04}]) == {}
    assert margins(at_the_edge, [{"a": 0.03, "b": 0.0399}]) == {("a", "b"): 1}
