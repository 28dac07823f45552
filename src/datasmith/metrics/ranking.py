"""Orders of configurations: Ranked Pairs over one ballot per task, tie groups, and how firm an order is."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase

Ballot = Mapping[str, float]
"""Configuration -> its value on one task; higher is better. Equal values are a tie; who is missing is not compared."""
RULES = ("ranked pairs", "advantage", "log advantage", "median", "win rate")
"""The orders that are compared with each other: the first is the one that the tables use."""
HEAVIEST = 10


def margins(ballots: Sequence[Ballot], errors: Sequence[Ballot] = ()) -> dict[tuple[str, str], int]:
    """(better, worse) -> ballots that say so, less those that say the reverse; only pairs where that is above zero.

    `errors`: to each ballot, how far its values may be off, where that is known. What differs by no more than both
    together (the root of the sum of their squares) is a tie.
    """
    found: dict[tuple[str, str], int] = {}
    for at, ballot in enumerate(ballots):
        for first, second in combinations(sorted(ballot), 2):
            said = _said(ballot, errors[at] if errors else {}, first, second)
            found[first, second] = found.get((first, second), 0) + said
    directed = {pair if margin > 0 else pair[::-1]: abs(margin) for pair, margin in found.items()}
    return {pair: margin for pair, margin in directed.items() if margin > 0}


def _said(ballot: Ballot, errors: Ballot, first: str, second: str) -> int:
    """1 where the first is better, -1 where the second is, 0 for a tie."""
    difference = ballot[first] - ballot[second]
    within = math.hypot(errors.get(first, 0.0), errors.get(second, 0.0))
    return 0 if abs(difference) <= within else _sign(difference)


def ranked_pairs(ballots: Sequence[Ballot], errors: Sequence[Ballot] = ()) -> dict[str, int]:
    """Tideman's Ranked Pairs: the rank of each configuration that is on a ballot; equal ranks are ties.

    `errors`: see `margins`.

    Pairs are locked from the largest margin down, unless that would close a cycle. A pair that closes one with larger
    margins is left out first; the others of its margin are judged together: those that would close a cycle with one
    another are all left out, so that names and the order of the ballots never decide. In a plain cycle (A>B, B>C, C>A
    by one ballot each) everybody is tied. Who has fewer locked above it stands higher.
    """
    wins = margins(ballots, errors)
    above: dict[str, frozenset[str]] = {name: frozenset() for ballot in ballots for name in ballot}
    for margin in sorted(set(wins.values()), reverse=True):
        group = [
            (better, worse) for (better, worse), value in wins.items() if value == margin and worse not in above[better]
        ]
        together = _locked(above, group)
        above = _locked(above, [(better, worse) for better, worse in group if worse not in together[better]])
    return ranks({name: -float(len(higher)) for name, higher in above.items()})


def _locked(above: Mapping[str, frozenset[str]], pairs: Sequence[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Who stands above whom once `pairs` (better, worse) are locked too, at any number of steps."""
    closed = dict(above)
    for better, worse in pairs:
        higher = closed[better] | {better}
        for name, present in closed.items():
            if name == worse or worse in present:
                closed[name] = present | higher
    return closed


def ranks(values: Mapping[str, float | None]) -> dict[str, int]:
    """Configuration -> 1 + how many have a higher value; one without a value has no rank."""
    there = {name: value for name, value in values.items() if value is not None}
    return {name: 1 + sum(other > value for other in there.values()) for name, value in there.items()}


def win_rates(ballots: Sequence[Ballot], errors: Sequence[Ballot] = ()) -> dict[str, float | None]:
    """The share of comparisons on shared tasks that a configuration wins, a tie being half; None: never compared.

    `errors`: see `margins`.
    """
    won: dict[str, float] = {}
    met: dict[str, int] = {}
    for at, ballot in enumerate(ballots):
        for name in ballot:
            said = [_said(ballot, errors[at] if errors else {}, name, rival) for rival in ballot if rival != name]
            met[name] = met.get(name, 0) + len(said)
            won[name] = won.get(name, 0.0) + sum(0.5 + 0.5 * each for each in said)
    return {name: won[name] / met[name] if met[name] else None for name in met}


@dataclass(frozen=True, slots=True)
class Stability:
    """Ranks of each configuration under each rule of `RULES`.

    agreement: the share of pairs of configurations that all rules put into the same order, ties not counting
    against it; None for fewer than two.
    """

    ranks: Mapping[str, Mapping[str, int]]
    agreement: float | None

    def span(self, name: str) -> tuple[int, int] | None:
        """A configuration's best and worst rank; None where no rule ranks it."""
        mine = [rule[name] for rule in self.ranks.values() if name in rule]
        return (min(mine), max(mine)) if mine else None


def stability(
    advantages: Sequence[Ballot], logs: Sequence[Ballot], configurations: Sequence[str], errors: Sequence[Ballot] = ()
) -> Stability:
    """The order under every rule, from one ballot per task of advantages and one of log advantages.

    `errors`: of the advantages, see `margins`.
    """
    found = {
        "ranked pairs": ranked_pairs(advantages, errors),
        "advantage": ranks(_summed_up(advantages, configurations, statistics.fmean)),
        "log advantage": ranks(_summed_up(logs, configurations, statistics.fmean)),
        "median": ranks(_summed_up(advantages, configurations, statistics.median)),
        "win rate": ranks(win_rates(advantages, errors)),
    }
    return Stability(found, _agreement(list(found.values()), sorted(found[RULES[0]])))


def _summed_up(
    ballots: Sequence[Ballot], configurations: Sequence[str], rule: Callable[[list[float]], float]
) -> dict[str, float | None]:
    values = {name: [ballot[name] for ballot in ballots if name in ballot] for name in configurations}
    return {name: rule(mine) if mine else None for name, mine in values.items()}


def _agreement(orders: Sequence[Mapping[str, int]], names: Sequence[str]) -> float | None:
    same = []
    for first, second in combinations(names, 2):
        said = {_sign(order[first] - order[second]) for order in orders if first in order and second in order}
        same.append(not {-1, 1} <= said)
    return sum(same) / len(same) if same else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def heaviest_share(values: Iterable[float], count: int = HEAVIEST) -> float | None:
    """The share of the sum of |value| that the `count` largest carry: near 1, few tasks decide the mean.

    None where all values are 0 or there is none.
    """
    sizes = sorted(map(abs, values), reverse=True)
    total = math.fsum(sizes)
    return math.fsum(sizes[:count]) / total if total > 0.0 else None


def tie_groups(names: Sequence[str], differ: Callable[[str, str], bool]) -> dict[str, str]:
    """Letters per name, best name first: two names share a letter exactly where they do not `differ`.

    Differing is not transitive, so a name may have several letters: A "a", B "ab", C "b" reads A and B cannot be told
    apart, B and C neither, A and C can. (Insert and absorb: a compact letter display.)
    """
    groups: list[frozenset[str]] = [frozenset(names)] if names else []
    for first, second in combinations(names, 2):
        if differ(first, second):
            parts = [part for group in groups for part in _without_either(group, first, second)]
            groups = [part for at, part in enumerate(parts) if not _absorbed(part, at, parts)]
    place = {name: at for at, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {name: "".join(_letter(at) for at, group in enumerate(groups) if name in group) for name in names}


def _without_either(group: frozenset[str], first: str, second: str) -> tuple[frozenset[str], ...]:
    return (group - {second}, group - {first}) if {first, second} <= group else (group,)


def _absorbed(part: frozenset[str], at: int, parts: Sequence[frozenset[str]]) -> bool:
    return any(part < other or (part == other and place < at) for place, other in enumerate(parts))


def _letter(at: int) -> str:
    """Letter by letter; after z come a1, b1 and so on."""
    turn, letter = divmod(at, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(turn) if turn else "")
