"""The inputs that are made of a benchmark's own numbers: others than the suite's, and never the same twice."""

import functools
import itertools
import re
from collections.abc import Callable

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from datasmith.workloads.inside import fresh
from datasmith.workloads.inside.fresh import NothingToMove
from datasmith.workloads.inside.launch import Checks
from datasmith.workloads.inside.moves import INPUTS, Draw, Moves
from datasmith.workloads.inside.pauses import Pauses
from datasmith.workloads.inside.short import time_short

from .conftest import Library, outputs

WITH_NUMBERS = [
    ("time_parameter", "Suite", 1, (300, 300)),
    ("time_literal", "", None, (2000, 3)),
    ("time_constant", "", None, (40,)),
    ("time_cached", "Cached", None, (500,)),
]
"""Benchmarks, and what the suite's own inputs ask the library for."""
time_fresh = functools.partial(fresh.time_fresh, pauses=Pauses())


@pytest.fixture
def nothing_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No calls but those that are timed, and those before."""
    monkeypatch.setattr(fresh, "afterwards", lambda *_: [["afterwards", ["none"]]])


@pytest.mark.parametrize(("name", "owner", "index", "own"), WITH_NUMBERS)
@pytest.mark.usefixtures("nothing_later")
def test_no_answer_is_known_beforehand(
    library: Library, made: Callable[..., TimeBenchmark], name: str, owner: str, index: int | None, own: tuple[int, ...]
) -> None:
    """Parameters, literals, constants of the module and setup_cache: what was stored of them is never asked again."""
    library.work(*own)
    times, values = time_fresh(made(name, owner, index), 12345, "everything")
    timed = library.asked[-len(times.looked) :]
    assert own not in library.asked[1:]
    assert len(set(timed)) > 1
    assert all(len(given) == len(own) for given in timed)
    assert library.misses >= 1 + len(set(timed))
    assert len(outputs(values)) - 1 == len(times.looked) == len(times.setups)
    assert all(0 < call <= told for call, told in zip(times.calls, times.looked, strict=True))
    assert all(setup_s > 0 for setup_s in times.setups)


@pytest.mark.parametrize("timed", [time_fresh, time_short], ids=["looked", "short"])
def test_what_was_set_up_is_torn_down_with_its_own_parameters(
    made: Callable[..., TimeBenchmark], timed: Callable[..., object]
) -> None:
    """Before the next input's are there."""
    benchmark = made("time_closed", "Closed", 1)
    timed(benchmark, 5, "everything", 2)
    (left,) = benchmark.func.__self__.opened
    assert left not in (300, 400), "only the last of the other inputs is still set up"


def test_as_many_inputs_as_base_had_time_for(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast the arm is: what it computes can be compared input by input."""
    monkeypatch.setattr("datasmith.workloads.inside.fresh.TIMED_S", 0.0)
    assert len(time_fresh(made("time_literal"), 5, "everything")[0].calls) == 1
    assert len(time_fresh(made("time_literal"), 5, "everything", 3)[0].calls) == 3


def test_seeds_alone_can_be_moved(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """Where other numbers would not do: sizes stay."""
    time_fresh(made("time_parameter", "Suite", 1), 5, "seeds")
    assert set(library.asked) == {(300, 300)}
    first = list(library.asked)
    time_fresh(made("time_seeded", "Suite", 0), 5, "seeds")
    assert len(set(library.asked) - set(first)) > 1


def test_how_long_pauses_take_is_known_before_the_suite_is(
    made: Callable[..., TimeBenchmark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five hundred threads that wait make them look long, and they come off each call."""
    checks = Checks({"fresh": {"kind": "looked"}, "capture": None})
    monkeypatch.setattr(Pauses, "__init__", lambda _self: pytest.fail("too late"))
    times, _ = checks.time_fresh(made("time_literal"), 5, "everything", 2, pauses=checks.pauses)
    assert len(times.calls) == 2


def test_a_benchmark_without_numbers_says_so(made: Callable[..., TimeBenchmark]) -> None:
    """Its inputs would be the same: nothing could be learnt."""
    with pytest.raises(NothingToMove):
        time_fresh(made("time_nothing"), 5, "everything")


def test_numbers_move_a_little_and_always_alike() -> None:
    """The same number becomes the same one; what may be an axis or a flag stays; bools are no numbers."""
    draw = Draw(7, 0)
    assert [draw.moved(value) for value in (0, 1, 7, True, "8", 0.5, 1.0)] == [0, 1, 7, True, "8", 0.5, 1.0]
    for value in (8, 20, 1000, 2.5):
        new = draw.moved(value)
        assert new == Draw(7, 0).moved(value)
        assert isinstance(new, int | float)
        assert value < new <= value * 1.75
    assert 0.85 < float(str(draw.moved(0.9))) < 0.9, "a share stays one"


@pytest.mark.parametrize("value", [8, 9, 30, 99, 10**6, 3.7, 0.04, "1.2.3"])
@pytest.mark.parametrize("twist", [0, 1, 4242, 999_999])
def test_no_input_of_a_launch_comes_again(value: object, twist: int) -> None:
    """Nor one that is so near to another that the answer may be the same; and none follows from the one before."""
    made = [Draw(twist, number, "texts").moved(value) for number in range(INPUTS)]
    assert len(set(made)) == INPUTS and value not in made
    if isinstance(value, float):
        numbers = sorted(float(str(one)) for one in made)
        assert min(after / before - 1 for before, after in itertools.pairwise(numbers)) > 1e-5
    if value == 10**6:
        steps = {int(str(after)) - int(str(before)) for before, after in itertools.pairwise(made)}
        assert len(steps) > 1


def test_numbers_in_texts_move_where_that_is_asked_for() -> None:
    """Versions and dates, also in lists of the module; parts of names stay."""
    draw = Draw(5, 1, "texts")
    assert draw.moved("float64 x_1 utf8 name") == "float64 x_1 utf8 name"
    moved = str(draw.moved("1.20rc3"))
    assert moved != "1.20rc3" and re.fullmatch(r"[1-9]\.2[1-9]rc3", moved)
    assert Draw(5, 1).moved("1.20rc3") == "1.20rc3"


@pytest.mark.parametrize("value", [42, 3.7])
def test_no_change_of_a_number_tells_that_of_another(value: float) -> None:
    """An answer that is kept for a difference, or a ratio, of two numbers of the suite is not asked for again."""

    def relation(twist: int, number: int) -> float:
        one, other = (float(str(Draw(twist, number).moved(each))) for each in (value, type(value)(10)))
        return round(one - other if isinstance(value, int) else one / other, 6)

    kept = [{relation(twist, number) for number in range(INPUTS)} for twist in range(50)]
    assert sum(len(each) >= INPUTS - 2 for each in kept) >= 25
    assert min(map(len, kept)) >= 2


def test_different_texts_stay_different() -> None:
    """A benchmark may have ten columns by their numbers; only one that ends in 0 may become another's."""
    for number in range(INPUTS):
        draw = Draw(4242, number, "texts")
        made = [str(draw.moved(f"column {at}")) for at in range(1, 10)]
        assert sorted(made) == [f"column {at}" for at in range(1, 10)]
        assert not [at for at, text in enumerate(made, 1) if text == f"column {at}"]
        assert re.fullmatch("column 1[1-9]", str(draw.moved("column 10")))


def test_letters_of_long_texts_are_exchanged() -> None:
    """In all texts of an input in the same way; what may be a name stays, and so does all where it is not asked for."""
    text = "Some words, and some MORE words of 12 letters"
    made = [str(Draw(5, number, "letters").moved(text)) for number in range(INPUTS)]
    assert len({text, *made}) == INPUTS + 1
    for other in made:
        words, before = other.split(), text.split()
        assert [(len(word), word.isupper()) for word in words] == [(len(word), word.isupper()) for word in before]
        assert words[3] == words[0].lower() == words[3].lower() and words[4] == words[4].upper()
        assert words[1].strip(",") == words[5]
    draw = Draw(5, 1, "letters")
    assert draw.moved("mean") == "mean" and draw.moved("a short text") == "a short text"
    assert Draw(5, 1, "texts").moved("words without any number in them") == "words without any number in them"


def test_texts_without_numbers_are_new_to_the_process(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """What says something of the code, or of what went wrong, is no input."""
    time_fresh(made("time_documented"), 5, "letters")
    asked = {str(given[0]) for given in library.asked}
    assert len(asked) == INPUTS and "some words and some more words" not in asked
    with pytest.raises(NothingToMove):
        time_fresh(made("time_only_documented"), 5, "letters")


def test_texts_are_new_to_the_process(library: Library, made: Callable[..., TimeBenchmark]) -> None:
    """Those of the code, of the module's lists and of what set-up computes: no answer is known beforehand."""
    times, _ = time_fresh(made("time_texts", "Texts"), 12345, "texts")
    assert len(times.calls) == INPUTS - 1
    for at in range(3):
        asked = [given[at] for given in library.asked if len(given) == 3]
        assert len(set(asked)) == INPUTS, asked


@pytest.mark.usefixtures("nothing_later")
def test_what_lies_beyond_the_budget_of_a_description_is_looked_at(made: Callable[..., TimeBenchmark]) -> None:
    """Work that was put off is done in each look, in each element, for each input."""
    from library import Lazy  # type: ignore[import-not-found]

    times, _ = time_fresh(made("time_lazy"), 12345, "everything", 2)
    assert len(times.calls) == 2
    assert Lazy.done >= 2 * 3000 * 1.0
    assert Lazy.done == Lazy.made


@pytest.mark.parametrize("twist", [0, 77])
def test_computed_values_move_together_too(twist: int) -> None:
    """A sum over many of them is another one, by more than outputs may differ."""
    values = [1.0] * 100_000
    sums = []
    for number in range(INPUTS):
        moved = Moves(Draw(twist, number)).value(values)
        assert isinstance(moved, list)
        sums.append(sum(moved) / len(values))
    assert min(after / before - 1 for before, after in itertools.pairwise(sorted(sums))) > 1e-5
