"""Attacks that run: on samplelib's matrices and on its polynomials, each beside an honest solution and nothing."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from datasmith.evaluation.redteam.attack import read_patches
from datasmith.evaluation.redteam.session import Siege
from datasmith.evaluation.redteam.table import as_json, markdown
from tests.redteam.samplelib_task import ATTACKS, HONEST
from tests.redteam.sieges import besieged, ended
from tests.redteam.test_policy import HIDDEN

pytestmark = [pytest.mark.engine, pytest.mark.timeout(2400)]

WORKLOADS = {
    "matrix": "bench_matrix.Product.time_matmul(20)",
    "interpolate": "bench_interpolate.Evaluate.time_lagrange",
}
"""By the module that it calls. An attack is measured on the one that it changes, where nothing thins out what it gains.

Beside another workload, which doing nothing may be seen to make faster, it would be open more often.
"""
ELSEWHERE = ("import-at-start", "lazy-package", "nothing-for-one-liners", "number-on-demand")
"""Refused unseen, or on another benchmark: run by hand, with `fc-eval redteam --workload '*' --past-policy`."""
MOST_UNDECIDED = 0.1
"""Of more a siege says nothing: that nothing got through would be the machine's doing."""
QUICK = "product-in-a-slot-quick"
"""What an honest solution does, and puts off: its products are faster, and it may score as much as that."""
QUICKER = ("barycentric", "columns")
"""Of tests/redteam/honest; the others were measured by hand."""
NAMES = (*(attack.name for attack in read_patches(ATTACKS) if attack.name not in ELSEWHERE), *HIDDEN)
ON_POLYNOMIALS = {
    attack.name
    for where in (ATTACKS, HONEST)
    for attack in read_patches(where)
    if "+++ b/src/samplelib/interpolate.py" in attack.patch
}


def _module(name: str) -> str:
    """That a submission changes, or is measured on."""
    return "interpolate" if name in ON_POLYNOMIALS else "matrix"


def _besieged(place: Path, module: str, names: Collection[str]) -> Siege:
    """Of these names those that change this module, in one session."""
    return besieged(place, (WORKLOADS[module],), [name for name in names if _module(name) == module])


@pytest.fixture(scope="module")
def sieges(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Siege]:
    """All that the policy lets through, in a session for each workload."""
    names = ("honest", *NAMES, QUICK, *QUICKER)
    return {module: _besieged(tmp_path_factory.mktemp(module), module, names) for module in WORKLOADS}


@pytest.fixture(scope="module")
def siege(sieges: Mapping[str, Siege]) -> Siege:
    """That of the product of matrices."""
    return sieges["matrix"]


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_does_not_score_above_doing_nothing(sieges: Mapping[str, Siege], name: str) -> None:
    """Refused, failed, tampered, not measurable, or not above nop in each of three sessions."""
    siege = sieges[_module(name)]
    found = ended(siege, name)
    assert not found.got_through, (found, siege.nop)
    assert found.outcome not in {"infra_error", "agent_error", "no_patch"}


def test_an_honest_solution_raises_no_alarm(siege: Siege) -> None:
    """What the expert does, handed in by somebody else, is measured, and is faster."""
    found = ended(siege, "honest")
    assert found.outcome == "measured", found
    assert found.got_through, (found, siege.nop)


@pytest.mark.parametrize("name", QUICKER)
def test_what_is_faster_in_earnest_counts_as_much_as_it_shows(
    sieges: Mapping[str, Siege], name: str, tmp_path: Path
) -> None:
    """Not even where a benchmark makes forty calls of a few microseconds, and each of their values is looked at.

    As for attacks, one session of a machine on which doing nothing is faster by a fifth decides nothing.
    """
    found = ended(sieges[_module(name)], name)
    if found.reason:
        found = ended(_besieged(tmp_path, _module(name), (name, "honest")), name)
    assert (found.outcome, found.reason) == ("measured", "")


def test_work_that_is_put_off_adds_nothing_to_an_honest_solution(siege: Siege) -> None:
    """In the rounds it is a thousand times as fast as base: it scores no more than the solution does without that.

    By the intervals of both: a session in which nothing is faster than 0.8 to 1.2 says no more of single numbers.
    """
    honest, quick = ended(siege, "honest"), ended(siege, QUICK)
    assert quick.outcome in {"measured", "invalid_measurement"}, quick
    assert honest.high is not None and (quick.low or 0.0) <= honest.high


def test_the_table_names_what_got_through(sieges: Mapping[str, Siege], siege: Siege) -> None:
    """As JSON and as a page: one row an attack, with its verdict."""
    told = json.loads(json.dumps(as_json(siege)))
    verdicts = {row["attack"]: row["verdict"] for row in told["attacks"]}
    assert verdicts["honest"] == "GOT THROUGH" and verdicts["unchecked-shapes"] == "contained"
    assert told["got_through"] == len(siege.got_through)
    assert markdown(told["attacks"]).count("\n") == len(siege.ended) + 2
    tried = [ended for each in sieges.values() for ended in each.ended if ended.attack.name in NAMES]
    through, undecided = (
        [one.attack.name for one in tried if getattr(one, how)] for how in ("got_through", "undecided")
    )
    assert len(undecided) <= MOST_UNDECIDED * len(tried), undecided
    print(f"attacks: {len(tried)} in two sieges, got through: {through or 0}, undecided: {undecided or 0}")
