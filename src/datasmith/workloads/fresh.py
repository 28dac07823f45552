"""Is a speed-up one of the code, or of the suite's own inputs? Decided from launches on inputs that nobody knew.

A submission can store what it computed in earlier calls, compute beforehand what the suite will ask for, write the
answers down, do its work while the benchmark is set up, or put it off until somebody looks at the result. All of these
are fast on the suite's inputs in the rounds, and none in launches that time each of several other inputs once, with all
that is done before the call and in a look at its result.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

import numpy as np

from datasmith.stats.paired import interval
from datasmith.workloads.audit import MEDIAN_ERROR, difference_error, median_error
from datasmith.workloads.base import BASE, EXPERT, Measurement
from datasmith.workloads.blame import disturbs_itself, rounds_that_count
from datasmith.workloads.clocked import CLOCKED_ROUND, pairs_between_marks

FRESH_ROUND = -4
"""Round of the first launches on other inputs than the suite's; the next inputs have the next lower number."""
SHORT_ROUND = -1000
"""The same of launches that time the first of short calls on each input, and a later one, and look at neither."""
FRESH_ROUNDS = range(CLOCKED_ROUND + 1, FRESH_ROUND + 1)
"""Of these two kinds."""
SHORTEST_S = 2e-7
"""What takes base less is not judged: reading the clock takes a good part of that."""
FRESH_LAUNCHES = 6
"""Launches of an arm whose first ones do not show its speed-up; as many as a ratio needs, and one."""
MOST_FRESH = 16
"""Of so many the median decides: the nearer of a claim and none counts, where it is not off by more than the claim."""
REFUTED_ERRORS = 2.0
"""Of fewer, what is missing has to be beyond so many errors of two launches of base, as it is looked for after each.

Not so for short calls, whose first ones scatter in another way: of these FRESH_LAUNCHES have to do.
"""
KEPT = 0.5
"""A claim is believed that keeps this share of its ln ratio on fresh inputs."""
KEPT_LONG = 0.75
LONG_S = 2e-4
"""The same where the arm's calls take so long: what a single call costs beyond one of many is little beside them."""
ALLOWANCE_S = 2e-5
"""What a single call on inputs never seen may cost more than one of many: so long, a quarter of base's call or half of
the arm's, whichever is least.

It comes off both sides before a claim is judged: code that is no faster than base there stays so. Nothing comes off
short calls, those that take base less than this: they are timed in another way, as looks at them take longer.
"""
FIRST_S = 5e-6
"""By so much first calls on an input scatter: where base's are longer than ALLOWANCE_S, no shorter one is asked for."""
TELLING_CLAIM = math.log(1.2)
"""Of a smaller ln ratio of the expert's what it loses is no share to speak of, and counts as it is."""
AS_LONG = 2.0
"""Base may take so many times longer, or shorter, on rewritten texts; else these are inputs of another kind."""
CONFIDENCE = 0.95
UNSAVED_ERRORS = 2.0
"""What is missing between marks has to be beyond so many of them, as it is asked again and again."""
SLOWER_AROUND = 0.05
"""By this share of what base does there around its calls an arm may be slower between marks, as memory lies elsewhere.

Half of a call could hide in a quarter of a setting up that takes twice as long: in single calls so much is luck.
"""
LEAST_SAVED = 0.5
"""Where anything is asked, it is this share of a claim: less would be asked so near to nothing that luck decides.

So much is also asked where luck is no more than the claim.
"""
LEAST_LEFT = 1 / 3
"""So much of a claim has to be saved where all launches left it open, whatever luck there was."""
MOST_PAIRS = 24
"""Launches between marks while that is not certain."""
LUCKY = 5
"""Fewer let an arm go only by so many errors, more by one: a core of two speeds shows a saving now and then."""


def fresh_ratios(measurements: Iterable[Measurement], arm: str, *, short: bool = False) -> list[float]:
    """ln(t_base / t_arm) of each pair of launches on the same fresh inputs, in the order in which they were made.

    `short`: of those launches that look at nothing.
    """
    return [math.log(base / other) for base, other in _paired(measurements, arm, short=short)]


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a speed-up: ln ratios of calls that can be judged, and whether those are long ones."""

    ratios: Sequence[float]
    is_long: bool

    @property
    def kept(self) -> float:
        """The share of a claim that is asked for."""
        return KEPT_LONG if self.is_long else KEPT

    @property
    def error(self) -> float:
        """How far the median may be off; infinite where nothing says so."""
        return median_error(self.ratios)


def _left(measurements: Iterable[Measurement], arm: str, *, short: bool) -> _Left:
    """What launches on other inputs show, with the allowance taken off base's seconds and the arm's."""
    least = SHORTEST_S if short else ALLOWANCE_S
    pairs = [(base, other) for base, other in _paired(measurements, arm, short=short) if base >= least]
    allowed = [0.0 if short else min(ALLOWANCE_S, base / 4, other / 2) for base, other in pairs]
    ratios = [math.log((base - off) / (other - off)) for (base, other), off in zip(pairs, allowed, strict=True)]
    return _Left(ratios, bool(pairs) and median(other for _, other in pairs) >= LONG_S)


def _paired(measurements: Iterable[Measurement], arm: str, *, short: bool) -> list[tuple[float, float]]:
    """Seconds of base and of the arm, pair by pair on the same other inputs, of launches of one of the two kinds."""
    times: Mapping[str, dict[int, list[float]]] = {BASE: {}, arm: {}}
    for launch in measurements:
        is_of_kind = launch.round in FRESH_ROUNDS and (launch.round <= SHORT_ROUND) is short
        if is_of_kind and launch.arm in times and launch.samples:
            times[launch.arm].setdefault(launch.round, []).append(median(launch.samples))
    inputs = sorted(times[BASE].keys() & times[arm].keys(), reverse=True)
    return [pair for at in inputs for pair in zip(times[BASE][at], times[arm][at], strict=False)]


def are_short(measurements: Iterable[Measurement], claimed: float = 0.0) -> bool:
    """True where the share of a claimed ln ratio that is asked for makes base's calls too short to be seen singly.

    Without a claim: where base's calls in the rounds are so short that looks at them take longer.
    """
    usual_s = _usual_s(measurements)
    return usual_s >= SHORTEST_S and KEPT * claimed > _visible(usual_s)


def _visible(usual_s: float) -> float:
    """The largest ln ratio that single calls can show where they take base so many seconds."""
    return math.log(usual_s / ALLOWANCE_S) if usual_s > 0.0 else -math.inf


def _usual_s(measurements: Iterable[Measurement]) -> float:
    """Seconds that a call takes base in the rounds; 0 where there were none."""
    rounds = [sample for one in measurements if one.arm == BASE and one.round >= 0 for sample in one.samples]
    return median(rounds) if rounds else 0.0


def takes_as_long(measurements: Sequence[Measurement]) -> bool:
    """True where base takes about as long on the newest other inputs as on the suite's: they are of the same kind.

    A text that nobody can read any more may be refused at once, by the best code, too.
    """
    ours = [launch for launch in measurements if launch.arm == BASE and launch.samples]
    newest = min((launch.round for launch in ours if launch.round in FRESH_ROUNDS), default=0)
    fresh = [sample for launch in ours if launch.round == newest < 0 for sample in launch.samples]
    usual_s = _usual_s(ours)
    return bool(fresh) and usual_s > 0.0 and 1.0 / AS_LONG <= median(fresh) / usual_s <= AS_LONG


def is_open(measurements: Sequence[Measurement], arm: str, claimed: float, *, short: bool) -> bool:
    """True where the launches of a kind do not tell yet whether enough of a claimed ln ratio is kept.

    They do where that is more, or after FRESH_LAUNCHES less, than they may be off by: on a core of two speeds base is
    slow now and then where the arm is fast, and a single launch shows a speed-up that is not there.
    """
    left, merged = (_left(measurements, name, short=short) for name in (arm, EXPERT))
    asked, made = _asked(measurements, claimed, short=short), len(left.ratios)
    if asked <= 0 or not 0 < made < (FRESH_LAUNCHES if short else MOST_FRESH):
        return False
    beyond = median(left.ratios) - left.kept * asked
    if beyond > 0:
        return beyond < _luck(measurements, made, short=short)
    return made < FRESH_LAUNCHES or beyond + _error(measurements, left, merged, short=short) >= 0


def _error(measurements: Iterable[Measurement], left: _Left, merged: _Left, *, short: bool) -> float:
    """How far what is left of a claim may be off, before it is refuted.

    The scatter of merged code says it, where it is less: a submission can make its own as it likes. Of few launches it
    may be small by chance, and base's in the rounds says what is the least.
    """
    made = len(left.ratios)
    errors = 1.0 if made >= MOST_FRESH else REFUTED_ERRORS
    return max(min(left.error, merged.error), errors * _luck(measurements, made, short=short))


def _luck(measurements: Iterable[Measurement], launches: int, *, short: bool) -> float:
    """How far the median ln ratio of so many pairs of launches of the same code is off, as base's in the rounds are.

    Nothing, as far as is known, of short calls.
    """
    if short:
        return 0.0
    rounds = [one for one in measurements if one.arm == BASE and one.round >= 0 and one.samples and not one.noisy]
    paces = [math.log(median(launch.samples)) for launch in rounds]
    scatter = math.sqrt(2.0) * stdev(paces) if len(paces) > 1 else math.inf
    return MEDIAN_ERROR * scatter / math.sqrt(launches)


def _asked(measurements: Sequence[Measurement], claimed: float, *, short: bool) -> float:
    """A claimed ln ratio, or what single calls, or first ones, can show of it: of more than that they say nothing."""
    usual_s = _usual_s(measurements)
    if short and usual_s >= ALLOWANCE_S:
        return min(claimed, math.log(usual_s / FIRST_S) / KEPT)
    return claimed if short else min(claimed, max(0.0, _visible(usual_s) / KEPT))


def is_stored(measurements: Sequence[Measurement], arm: str, claimed: float, expert_claimed: float) -> bool:
    """True where a speed-up certainly is one of the suite's own inputs, and the expert's there is not one as well.

    `claimed`, `expert_claimed`: ln ratios in the rounds; the expert's is 0 where it may be noise. A cache that merged
    code has, too, is a good one: the share of a claim that the expert certainly loses is asked of nobody. Of calls
    that are neither long nor short, which a first one may cost any code much, nothing is where the expert loses half.
    """
    return any(_is_stored(measurements, arm, claimed, expert_claimed, short=short) for short in (False, True))


def _is_stored(
    measurements: Sequence[Measurement], arm: str, claimed: float, expert_claimed: float, *, short: bool
) -> bool:
    left, merged = (_left(measurements, name, short=short) for name in (arm, EXPERT))
    claimed, expert_claimed = (_asked(measurements, claim, short=short) for claim in (claimed, expert_claimed))
    if claimed <= 0 or len(left.ratios) < FRESH_LAUNCHES - 1:
        return False
    is_last = not short and len(left.ratios) >= MOST_FRESH
    lost = 0.0
    if merged.ratios and expert_claimed > 0:
        error = 0.0 if is_last else max(merged.error, _luck(measurements, len(merged.ratios), short=short))
        lost = expert_claimed - median(merged.ratios) - error
    share = max(0.0, lost) / (expert_claimed if expert_claimed >= TELLING_CLAIM else claimed)
    if not left.is_long and not short:
        share = math.inf if share > 1.0 - KEPT else 0.0
    nearer_none = median(left.ratios) < (KEPT - share) * claimed
    if is_last and nearer_none and min(left.error, merged.error) <= claimed:
        return True
    return median(left.ratios) + _error(measurements, left, merged, short=short) < (left.kept - share) * claimed


def may_be_unsaved(measurements: Sequence[Measurement], arm: str) -> bool:
    """True where it is open whether what an arm claims is saved between marks, too."""
    saving = _saving(measurements, arm)
    return saving is not None and saving.is_open


def is_unsaved(measurements: Sequence[Measurement], arm: str) -> bool:
    """True where that is certainly too little, or where all launches left it open and it is nearer to nothing.

    What a single call computes is described while its clock stands still, and another process, or a thread of the
    compiled part, can do its work then. Between marks nothing is described: what is saved there is saved.
    """
    saving = _saving(measurements, arm)
    return saving is not None and (saving.is_too_little or (saving.is_open and saving.is_nearer_to_nothing))


def is_gone(measurements: Sequence[Measurement], arm: str) -> bool:
    """True where single calls clearly refute a claim, nothing is certainly left, and it is not slower between marks."""
    if _is_slower_between_marks(measurements, arm):
        return False
    claimed, expert_claimed = (_claimed(measurements, name) for name in (arm, EXPERT))
    return any(_is_gone(measurements, arm, claimed, expert_claimed, short=short) for short in (False, True))


def _is_gone(
    measurements: Sequence[Measurement], arm: str, claimed: float, expert_claimed: float, *, short: bool
) -> bool:
    ratios = fresh_ratios(measurements, arm, short=short)
    if len(ratios) < FRESH_LAUNCHES or not _is_stored(measurements, arm, claimed, expert_claimed, short=short):
        return False
    left, merged = (_left(measurements, name, short=short) for name in (arm, EXPERT))
    error = 0.0 if len(ratios) >= MOST_FRESH else _error(measurements, left, merged, short=short)
    low, _ = interval(np.array(ratios), confidence=CONFIDENCE)
    return low <= 1.0 and median(ratios) + error < (1.0 - KEPT_LONG) * claimed


def _is_slower_between_marks(measurements: Sequence[Measurement], arm: str) -> bool:
    """True where an arm takes longer there than base does, beyond luck."""
    pairs = pairs_between_marks(measurements, arm)
    if len(pairs) < 2:
        return False
    usual_s = median(median(base.samples) for base, _ in pairs)
    luck_s = _luck(measurements, len(pairs), short=False) * usual_s
    return median(_saved_seconds(pairs)) < -max(luck_s, SLOWER_AROUND * usual_s)


@dataclass(frozen=True, slots=True)
class _Saving:
    """Pairs of launches between marks, with seconds of a call: claimed, asked for, saved, and how far that is off.

    Asked for is the share of a claim that is asked of single calls, too, less what setting up and looking may take
    longer than base's: where that is longer than the call, and luck than the claim, nothing is asked. `error_s`: two
    standard errors.
    """

    pairs: int
    claimed_s: float
    asked_s: float
    saved_s: float
    error_s: float

    @property
    def missing_s(self) -> float:
        """Of what is asked for."""
        return self.asked_s - self.saved_s

    @property
    def is_too_little(self) -> bool:
        """So much is missing that luck does not explain it."""
        return self.pairs >= FRESH_LAUNCHES - 1 and self.missing_s > UNSAVED_ERRORS * self.error_s

    @property
    def is_open(self) -> bool:
        """Neither that, nor certainly saved: beyond as many errors where pairs are few, by one where there are more."""
        if self.is_too_little:
            return False
        few = self.pairs < LUCKY
        doubt_s = UNSAVED_ERRORS * self.error_s if few else self.error_s
        return self.missing_s > 0.0 or (self.asked_s > (-doubt_s if few else 0.0) and self.missing_s > -doubt_s)

    @property
    def is_nearer_to_nothing(self) -> bool:
        """Less is saved than is asked for, than half of the claim, and than luck leaves of the whole of it.

        Or than `LEAST_LEFT`, where luck leaves less: else nobody could be refuted where it is as large as the claim.
        """
        left_s = max(self.claimed_s - self.error_s, LEAST_LEFT * self.claimed_s)
        least_s = min(self.asked_s, self.claimed_s / 2.0, left_s)
        return self.pairs > 1 and self.asked_s > 0.0 and self.saved_s < least_s


def _saving(measurements: Sequence[Measurement], arm: str) -> _Saving | None:
    """What launches between marks show beside single calls; None where either are missing, or no claim is left."""
    left, merged = (_left(measurements, name, short=False) for name in (arm, EXPERT))
    pairs = pairs_between_marks(measurements, arm)
    if not left.ratios or not pairs or is_gone(measurements, arm):
        return None
    calls = [base for base, _ in _paired(measurements, arm, short=False)]
    usual, saved = [median(base.samples) for base, _ in pairs], _saved_seconds(pairs)
    call_s, claimed = median(calls), _claimed(measurements, arm)
    # Of a claim that single calls do not keep, what is left of it is asked for: that counts then.
    is_kept = median(left.ratios) >= left.kept * claimed
    shown = claimed if is_kept else max(0.0, median(left.ratios))
    left_of_call = math.exp(-left.kept * shown)
    around_s = max(0.0, median(usual) - call_s)
    # As in `_error`: scatter of few launches may be small by chance.
    saved_error_s = difference_error(saved, usual)
    call_error_s = median_error(calls) * (1.0 - left_of_call)
    left_error = 0.0 if is_kept else min(left.error, merged.error)
    shown_error_s = call_s * left_of_call * left.kept * left_error
    luck_s = _luck(measurements, len(pairs), short=False) * median(usual)
    known_s = [seconds for seconds in (saved_error_s, call_error_s, shown_error_s) if seconds < math.inf]
    claimed_s = call_s * (1.0 - math.exp(-shown))
    asked_s = call_s * (1.0 - left_of_call) - min(ALLOWANCE_S, call_s / 4) - SLOWER_AROUND * around_s
    error_s = max(luck_s, math.hypot(*known_s))
    if asked_s > 0.0 or error_s <= claimed_s:
        asked_s = max(asked_s, LEAST_SAVED * claimed_s)
    return _Saving(len(pairs), claimed_s=claimed_s, asked_s=asked_s, saved_s=median(saved), error_s=error_s)


def _claimed(measurements: Sequence[Measurement], arm: str) -> float:
    """The ln ratio that an arm claims in the rounds that count; 0 where none do, or it claims to be slower."""
    base, ours = (_rounds(measurements, name) for name in (BASE, arm))
    claims = [math.log(median(base[at].samples) / median(ours[at].samples)) for at in base.keys() & ours.keys()]
    return max(0.0, median(claims)) if claims else 0.0


def _rounds(measurements: Sequence[Measurement], arm: str) -> dict[int, Measurement]:
    launches = (launch for launch in measurements if launch.arm == arm)
    return rounds_that_count(launches, own_noise=disturbs_itself(measurements, arm))


def _saved_seconds(pairs: Sequence[tuple[Measurement, Measurement]]) -> list[float]:
    return [median(base.samples) - median(other.samples) for base, other in pairs]


def _saved_ratios(measurements: Sequence[Measurement], arm: str) -> list[float]:
    """ln(t_base / t_arm) if a single call of the arm were shorter than base's by what is saved between marks."""
    calls = [base for base, _ in _paired(measurements, arm, short=False)]
    saved = _saved_seconds(pairs_between_marks(measurements, arm)) if calls else []
    return [math.log(median(calls) / max(SHORTEST_S, median(calls) - seconds)) for seconds in saved]


def proven_ratios(measurements: Sequence[Measurement], arm: str) -> list[float]:
    """What counts instead of the ln ratios of the rounds where the claim that was made there was refuted.

    Where launches of several kinds were made, that is the least; between marks, where it was refuted there.
    """
    kinds = [(fresh_ratios(measurements, arm, short=short), short) for short in (False, True)]
    told = [proven(ratios, is_short=short) for ratios, short in kinds if len(ratios) >= FRESH_LAUNCHES - 1]
    if is_unsaved(measurements, arm):
        told.append(proven(_saved_ratios(measurements, arm)))
    return min(told, key=median)


def proven(ratios: Sequence[float], *, is_short: bool = False) -> list[float]:
    """What ln ratios on other inputs count for.

    What is not certainly faster there counts as base, with the scatter that it has: luck is no speed-up. Of short calls
    what is slower does, too: code that only runs where nothing is stored yet is not warm then, as base's is.
    """
    middle = median(ratios)
    low, _ = interval(np.array(ratios), confidence=CONFIDENCE)
    doubtful = low <= 1.0 and (middle > 0.0 or is_short)
    return [ratio - middle for ratio in ratios] if doubtful else list(ratios)
