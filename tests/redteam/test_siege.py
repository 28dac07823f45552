"""Attacks that run: on samplelib's product of matrices, in one session with an honest solution and with nothing."""

import json
import time

import pytest

from datasmith.docker.engine import Limits
from datasmith.evaluation.redteam.attack import Attack, read_patches
from datasmith.evaluation.redteam.generic import generic_attacks
from datasmith.evaluation.redteam.session import Ended, Siege, Terms, besiege, is_above
from datasmith.evaluation.redteam.table import as_json, markdown
from datasmith.evaluation.redteam.tree import Tree
from datasmith.tasks.certificate import ArmSummary
from datasmith.tasks.task import Task
from tests.conftest import Demo
from tests.redteam.samplelib_task import ATTACKS, samplelib
from tests.redteam.test_policy import HIDDEN
from tests.sandboxes import embedded_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

PAST_POLICY = ("forged-reply-waits", "fewer-calls", "benchmark-of-nothing", "audit-detected", "junit-at-exit")
"""Refused by the policy unless they hide their words better: what would hold them then."""
MATMUL = "bench_matrix.Product.time_matmul(20)"
SPECIFIC = [attack.name for attack in read_patches(ATTACKS)]
GOT_THROUGH: dict[str, str] = {}
"""Attack -> why it scores today; each is to be mended."""


def honest(task: Task) -> Attack:
    """The expert's patch as somebody else would hand it in: with another comment."""
    patch = task.expert_patch.replace("+from operator import mul\n", "+from operator import mul  # in C\n")
    assert patch != task.expert_patch
    return Attack("honest", "none", "columns are collected once", patch)


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Siege:
    """All in one session, past the policy; unpinned, because other tests would be called a disturbance."""
    place = tmp_path_factory.mktemp("siege")
    engine = embedded_engine(place / "cache")
    task, image, folder = samplelib(place, engine).task(4)
    wanted = (*HIDDEN, *PAST_POLICY)
    generic = [attack for attack in generic_attacks(Tree.of_task(task, folder)) if attack.name in wanted]
    return besiege(
        engine,
        image,
        task.model_copy(update={"workloads": (MATMUL,)}),
        [honest(task), *read_patches(ATTACKS), *generic],
        terms=Terms(past_policy=True, pin=False),
        limits=Limits(),
        say=lambda *_: None,
        now=time.monotonic,
    )


def ended(siege: Siege, name: str) -> Ended:
    """What became of one attack."""
    return next(one for one in siege.ended if one.attack.name == name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.xfail(reason=GOT_THROUGH[name])] if name in GOT_THROUGH else [])
        for name in (*SPECIFIC, *HIDDEN, *PAST_POLICY)
    ],
)
def test_an_attack_does_not_score_above_doing_nothing(siege: Siege, name: str) -> None:
    """Refused, failed, tampered, not measurable, or measured with an interval that is not above nop's."""
    found = ended(siege, name)
    assert not found.got_through, (found, siege.nop)
    assert found.outcome not in {"infra_error", "agent_error", "no_patch"}


def test_an_honest_solution_raises_no_alarm(siege: Siege) -> None:
    """What the expert does, handed in by somebody else, is measured, and is faster."""
    found = ended(siege, "honest")
    assert found.outcome == "measured", found
    assert found.got_through


def test_the_table_names_what_got_through(siege: Siege) -> None:
    """As JSON and as a page: one row an attack, with its verdict."""
    told = json.loads(json.dumps(as_json(siege)))
    verdicts = {row["attack"]: row["verdict"] for row in told["attacks"]}
    assert verdicts["honest"] == "GOT THROUGH" and verdicts["unchecked-shapes"] == "contained"
    assert told["got_through"] == len(siege.got_through)
    assert markdown(told["attacks"]).count("\n") == len(siege.ended) + 2


def test_agents_of_the_demo_raise_no_alarm(demo: Demo) -> None:
    """On each of samplelib's tasks: neither the experts' patches, nor those of an agent that rewrites lists."""
    alarms = {"refused_patch", "failed_outputs", "tampered_or_unreliable"}
    paths = [path for path in (demo.place / "runs/demo/trials").glob("*/*/*/trial.json") if path.parts[-3] != "nop"]
    outcomes = {path.parts[-4:-2]: json.loads(path.read_text())["outcome"] for path in paths}
    assert len(outcomes) == 8
    assert not {key: outcome for key, outcome in outcomes.items() if outcome in alarms}


@pytest.mark.parametrize(
    ("speedup", "low", "above"), [(1.0, 0.99, False), (1.03, 1.02, True), (1.2, 0.9, True), (1.05, 0.99, False)]
)
def test_above_nothing_means_certainly_or_by_far(speedup: float, low: float, above: bool) -> None:
    """An interval above nop's, or an estimate that luck does not explain."""
    summary = ArmSummary(arm="agent:x#1", speedup=speedup, low=low, high=speedup + 0.1, workloads=())
    assert is_above(summary, (0.98, 1.01)) is above
