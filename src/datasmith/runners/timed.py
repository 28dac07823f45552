"""Time what stage 5 has built and verified: arms beside each other on one core, every launch kept in a file."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from datasmith.docker.engine import Container
from datasmith.runners.screening import SCREENING_S, screen
from datasmith.workloads.arms import prepare, suite_print
from datasmith.workloads.base import Measurement, Workload
from datasmith.workloads.glance import Glance, glances
from datasmith.workloads.measure import Measured, measure
from datasmith.workloads.plan import MeasurePlan


@dataclass(frozen=True, slots=True)
class Timing:
    """What is timed. `start` gives an arm's writable container by the arm's name."""

    start: Callable[[str], Container]
    workloads: Sequence[Workload]
    benchmark_dir: str

    def measure(
        self, arms: Sequence[str], plan: MeasurePlan, kept_in: Path, progress: Callable[[str], None]
    ) -> Measured:
        """Launch the arms in rounds.

        Raises:
            EngineUnavailable: the engine is gone; what is in the file stays valid.
        """
        kept_in.parent.mkdir(parents=True, exist_ok=True)
        with self._prepared(arms) as prepared, kept_in.open("w", encoding="utf-8") as file:
            return measure(
                prepared,
                self.workloads,
                plan,
                benchmark_dir=self.benchmark_dir,
                sink=lambda row: _write_row(file, row),
                progress=lambda told: progress(f"{told.done}/{told.expected}, {told.step}"),
            )

    def screen(
        self,
        arms: tuple[str, str],
        most: int,
        cpu: int | None,
        progress: Callable[[str], None],
        *,
        patch: str = "",
        budget_s: float = SCREENING_S,
    ) -> list[Glance]:
        """See `screening.screen`: what glances on a core show of the workloads in these two arms.

        Raises:
            EngineUnavailable: the engine is gone.
        """
        with self._prepared(arms) as prepared:
            base, other = (prepared[arm] for arm in arms)

            def look(workloads: Sequence[Workload], enough: Callable[[], bool]) -> list[Glance]:
                return glances(
                    base,
                    other,
                    workloads,
                    self.benchmark_dir,
                    cpu=cpu,
                    say=lambda done, expected: progress(f"{done}/{expected}"),
                    enough=enough,
                )

            return screen(look, self.workloads, most, patch=patch, budget_s=budget_s)

    @contextmanager
    def _prepared(self, arms: Sequence[str]) -> Iterator[Mapping[str, Container]]:
        """Each arm, started and frozen; the suite is the first one's in all."""
        with ExitStack() as stack:
            frozen: dict[str, Container] = {}
            suite: str | None = None
            for arm in arms:
                writable = stack.enter_context(self.start(arm))
                suite = suite or suite_print(writable, self.benchmark_dir)
                frozen[arm] = stack.enter_context(prepare(writable, self.workloads, self.benchmark_dir, suite=suite))
            yield frozen


def _write_row(file: IO[str], row: Measurement) -> None:
    """One launch as a line of JSON."""
    file.write(json.dumps(asdict(row)) + "\n")
