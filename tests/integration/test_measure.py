"""Discovery, launches and whole measurements of a suite of our own, in the embedded engine."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from datasmith.docker.bubblewrap import BubblewrapEngine
from datasmith.docker.engine import Container, ImageRef
from datasmith.errors import MeasurementFailed
from datasmith.workloads.arms import prepare, start_arm
from datasmith.workloads.base import BASE, CONTROL, EXPERT, Measurement, Workload
from datasmith.workloads.calibrate import CALIBRATING, LaunchSize
from datasmith.workloads.discover import Discovery, discover
from datasmith.workloads.launch import Launched, Order, launch
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.mounts import inside_mounts
from datasmith.workloads.plan import MeasurePlan
from tests.integration.planted import patch, planted_image
from tests.sandboxes import embedded_engine

pytestmark = pytest.mark.engine

SLOWER = patch("FACTOR = 100", "FACTOR = 400")
HALVED_CLOCK = patch(
    "FACTOR = 100",
    "import time, timeit; _now = time.perf_counter; timeit.default_timer = lambda: _now() / 2; FACTOR = 100; "
    "import asv_runner.benchmarks.time as _t; _t.wall_timer = timeit.default_timer",
)
FAKED_SAMPLES = patch(
    "FACTOR = 100",
    "import asv_runner.benchmarks.time as _t; _real = _t.TimeBenchmark.run; FACTOR = 100; _t.TimeBenchmark.run = "
    "lambda *a: (lambda r: dict(r, samples=[s / 3 for s in r['samples']]))(_real(*a))",
)
ADDED_SOURCE = "diff --git a/x.c b/x.c\nnew file mode 100644\n--- /dev/null\n+++ b/x.c\n@@ -0,0 +1 @@\n+int x;\n"
TIMED = ("plain.time_work", "sub.deep.time_deep")


@dataclass(frozen=True)
class Planted:
    """The image, and what discovery found in it."""

    engine: BubblewrapEngine
    image: ImageRef
    found: Discovery

    def workload(self, wanted: str) -> Workload:
        """The workload with this id."""
        return next(workload for workload in self.found.workloads if workload.id == wanted)

    def arm(self, change: str = "") -> Container:
        """A frozen arm with a patch."""
        started = start_arm(
            self.engine, self.image, patch=change, rebuild_script=None, build_args={}, limits=None, timeout=60
        )
        return prepare(started, self.found.workloads, "benchmarks")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Built once."""
    place = tmp_path_factory.mktemp("planted")
    engine = embedded_engine(place / "cache")
    image = planted_image(engine, place)
    with engine.start(image, mounts=inside_mounts()) as container:
        return Planted(engine, image, discover(container, "benchmarks"))


@pytest.fixture(scope="module")
def base(planted: Planted) -> Iterator[Container]:
    """The unpatched arm."""
    with planted.arm() as container:
        yield container


def once(planted: Planted, base: Container, name: str, size: LaunchSize = CALIBRATING) -> Launched:
    return launch(base, planted.workload(name), size, Order("benchmarks", BASE, 0, None))


def test_a_suite_is_listed_with_its_parameters_and_without_its_broken_parts(planted: Planted) -> None:
    """Kinds, parameters, nested packages; a module that cannot be imported hides nothing but itself."""
    kinds = {workload.id: workload.kind for workload in planted.found.workloads}
    assert kinds["plain.Sized.time_sized(2000, 'b')"] == "time"
    assert (kinds["plain.timeraw_statement"], kinds["plain.peakmem_list"]) == ("timeraw", "peakmem")
    assert (kinds["plain.track_answer"], kinds["sub.deep.time_deep"]) == ("track", "time")
    assert len(kinds) == 14
    assert planted.found.refused == ()
    assert [error.split(":")[0] for error in planted.found.errors] == [
        "benchmarks.missing",
        "benchmarks.faulty.BadConstructor.time_nothing",
    ]
    assert [module for module, _ in planted.found.broken] == ["benchmarks.missing"]


def test_a_directory_that_is_no_suite_says_so(planted: Planted) -> None:
    """No workloads, and an error."""
    with planted.engine.start(planted.image, mounts=inside_mounts()) as container:
        found = discover(container, "no/such/directory")
    assert found.workloads == ()
    assert found.errors


@pytest.mark.parametrize(
    "name",
    [
        "plain.time_work",
        "plain.Sized.time_sized(1000, 'b')",
        "plain.Cached.time_cached",
        "plain.timeraw_statement",
        "plain.track_answer",
        "plain.peakmem_list",
        "sub.deep.time_deep",
    ],
)
def test_every_kind_of_benchmark_can_be_launched(planted: Planted, base: Container, name: str) -> None:
    """Parameters, setup, setup_cache with its files, subprocesses, nested modules."""
    launched = once(planted, base, name)
    assert launched.measurement.reason is None
    assert launched.reply is not None
    assert all(sample > 0 for sample in launched.reply.samples)


def test_the_host_s_numbers_are_the_ones_used(planted: Planted, base: Container) -> None:
    """Seven samples of eleven calls are asked for, and made."""
    made = once(planted, base, "plain.time_work", LaunchSize(11, 7, 0.0)).measurement
    assert (made.number, len(made.samples)) == (11, 7)


def test_a_benchmark_s_own_numbers_are_told(planted: Planted, base: Container) -> None:
    """The attributes number, repeat and warmup_time of the class."""
    pace = once(planted, base, "plain.Told.time_told").pace(planted.workload("plain.Told.time_told"))
    assert pace is not None
    assert (pace.own_number, pace.own_repeat, pace.own_warmup_s) == (3, 4, 0.02)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("plain.Sized.time_sized(2000, 'b')", "skipped: NotImplementedError('b is never that large')"),
        ("faulty.time_raises", "failed: ValueError: this never worked"),
        ("faulty.BadCache.time_nothing", "failed: setup_cache failed: OSError: no data"),
    ],
)
def test_what_cannot_be_measured_has_its_reason(planted: Planted, base: Container, name: str, reason: str) -> None:
    """Skips, failures and failures of setup_cache, in the suite's own words."""
    made = once(planted, base, name).measurement
    assert (made.samples, made.reason) == ((), reason)


def test_a_benchmark_that_hangs_is_ended(planted: Planted, base: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit and the allowance for starting are all it gets."""
    monkeypatch.setattr("datasmith.workloads.launch.START_ALLOWANCE_S", 1.0)
    made = once(planted, base, "faulty.time_hangs").measurement
    assert made.reason == "timed out after 1.5 s"
    assert made.wall_s < 5.0


def test_a_patch_that_does_not_apply_is_told(planted: Planted) -> None:
    """And leaves no container behind."""
    wrong = SLOWER.replace("-FACTOR = 100", "-FACTOR = 999")
    with pytest.raises(MeasurementFailed, match="the patch does not apply"):
        planted.arm(wrong)


@pytest.mark.parametrize(
    ("script", "said"), [("exit 3", "does not build"), ("sleep 60", "does not build: not done after 2 s")]
)
def test_a_patch_that_does_not_build_is_told(planted: Planted, script: str, said: str) -> None:
    """A compiled source was added, and the build fails or takes too long."""
    with pytest.raises(MeasurementFailed, match=said):
        start_arm(
            planted.engine,
            planted.image,
            patch=ADDED_SOURCE,
            rebuild_script=script,
            build_args={},
            limits=None,
            timeout=2,
        )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("rm $FC_ENV/bin/python && cp /bin/true $FC_ENV/bin/python", "bin/python"),
        ("touch $(echo $FC_ENV/lib/python3*/site-packages)/evil.pth", "evil.pth"),
        ("mkdir -p $FC_WORKDIR/tests; echo 'def test_it(): pass' > $FC_WORKDIR/tests/test_it.py", "the tests"),
        (
            "for f in $FC_ENV/lib/python3*/site-packages; do echo 'import os' > $f/__editable__.planted-1.pth; done",
            "__editable__.planted-1.pth",
        ),
        (
            "for f in $FC_ENV/lib/python3*/site-packages; do mkdir $f/planted-1.dist-info;"
            " echo '[pytest11]' > $f/planted-1.dist-info/entry_points.txt; done",
            "planted-1.dist-info/entry_points.txt",
        ),
        ("printf '[pytest]\\naddopts = --co\\n' > $FC_WORKDIR/pytest.ini", "the tests or their configuration"),
    ],
)
def test_a_build_that_changes_more_than_its_package_is_told(planted: Planted, script: str, said: str) -> None:
    """Code of the patch runs while it builds: no other interpreter, start-up file or test comes out of that."""
    with pytest.raises(MeasurementFailed, match=f"changed what is not its own: .*{said}"):
        start_arm(
            planted.engine, planted.image, patch=ADDED_SOURCE, rebuild_script=script, build_args={}, limits=None,
            timeout=60,
        )  # fmt: skip


def test_a_build_may_change_its_package(planted: Planted) -> None:
    """Its extension, and what its installation notes."""
    script = "cd $FC_ENV/lib/python3*/site-packages && touch planted.abi3.so __editable__.x; mkdir p-2.dist-info"
    with start_arm(
        planted.engine, planted.image, patch=ADDED_SOURCE, rebuild_script=script,
        build_args={"FC_IMPORT_NAMES": "planted"}, limits=None, timeout=60,
    ) as built:  # fmt: skip
        assert built.exec(["sh", "-c", "ls /opt/env/lib/python3*/site-packages/planted.abi3.so"], timeout=60).ok


def compare(
    planted: Planted, base: Container, changes: dict[str, str], names: tuple[str, ...], rounds: int
) -> Measured:
    """Measure some workloads, not pinned: the tests beside this one would be called a disturbance."""
    with ExitStack() as stack:
        arms = {BASE: base, **{arm: stack.enter_context(planted.arm(change)) for arm, change in changes.items()}}
        kept: list[Measurement] = []
        plan = MeasurePlan(min_rounds=rounds, max_rounds=rounds, seed=7)
        workloads = [planted.workload(name) for name in names]
        measured = measure(arms, workloads, plan, benchmark_dir="benchmarks", sink=kept.append)
    assert tuple(kept) == measured.measurements
    return measured


def test_a_planted_slow_down_is_found_and_the_same_code_is_not(planted: Planted, base: Container) -> None:
    """Four times the work is seen in every workload; base2 differs in at most one of two.

    The factor is large because other tests share the cores: a launch then scatters by 50 %. That 20 % is found where
    launches scatter by less is a property of the rules, shown on simulated launches.
    """
    measured = compare(planted, base, {CONTROL: "", EXPERT: SLOWER}, TIMED, rounds=8)
    expert, control = measured.summaries[EXPERT], measured.summaries[CONTROL]
    assert {row.workload for row in expert.changed} == set(TIMED)
    assert all(row.ratio == pytest.approx(1 / 4, rel=0.5) for row in expert.workloads)
    assert len(control.changed) <= 1


def test_a_setup_cache_that_changes_the_benchmarks_spoils_its_arm(planted: Planted) -> None:
    """The package's own code runs in setup_cache: what it makes of the suite is never launched."""
    vandal = patch(
        "FACTOR = 100",
        "FACTOR = 100; import pathlib; _suite = pathlib.Path('/workspace/repo/benchmarks/plain.py'); "
        "_suite.write_text(_suite.read_text() + '#')",
    )
    with pytest.raises(MeasurementFailed, match="changed the benchmarks"):
        planted.arm(vandal)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ("'/workspace/repo/site' + 'customize.py'", "the tests or their configuration"),
        ("next(pathlib.Path('/opt/env').glob('lib/python3*/site-packages')) / ('a.' + 'pth')", "a.pth"),
    ],
)
def test_a_setup_cache_that_leaves_what_starts_with_python_spoils_its_arm(
    planted: Planted, left: str, said: str
) -> None:
    """In an arm that was built its environment can be written, too: what is left there would run before a launch."""
    change = patch(
        "FACTOR = 100",
        f"FACTOR = 100; import pathlib, sys; 'inside.setup' + '_cache' in str(sys.orig_argv) and pathlib.Path({left})"
        ".write_text('import os')",
    )
    started = start_arm(
        planted.engine, planted.image, patch=change + ADDED_SOURCE, rebuild_script="true", build_args={}, limits=None,
        timeout=60,
    )  # fmt: skip
    with started, pytest.raises(MeasurementFailed, match=f"setup_cache changed what it only may use: .*{said}"):
        prepare(started, planted.found.workloads, "benchmarks")


@pytest.mark.parametrize("change", [HALVED_CLOCK, FAKED_SAMPLES], ids=["clock", "samples"])
def test_an_arm_that_lies_about_time_is_found_by_the_clock_outside(
    planted: Planted, base: Container, change: str
) -> None:
    """Half the seconds, or a third of them: never a ratio; on a machine too noisy to tell, no accusation either.

    Eight rounds: with fewer, on cores that others share, even a factor of two can be lost in the scatter.
    """
    measured = compare(planted, base, {CONTROL: "", "agent:liar": change}, ("plain.time_work",), rounds=8)
    (row,) = measured.summaries["agent:liar"].workloads
    assert row.ratio is None
    assert (row.reason or "").startswith(
        ("tampered_or_unreliable: ", "invalid_measurement: the arm's clock cannot be checked")
    )
