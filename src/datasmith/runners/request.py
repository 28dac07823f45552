"""What one call of fc-data asks for, read from its flags once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, get_args

from datasmith.errors import ConfigError, one_of
from datasmith.executors.executors import check_executor
from datasmith.github.base import Window
from datasmith.github.forges import Sources
from datasmith.runners.agenda import Terms, Until
from datasmith.runners.screening import SCREENING_S
from datasmith.runners.suites import SuiteWish
from datasmith.runners.testing import TEST_BUDGET_S
from datasmith.settings import AgentName, agent_name
from datasmith.stats.multiple import rounds_needed
from datasmith.storage.base import STAGES
from datasmith.workloads.impact import Select, select_of
from datasmith.workloads.plan import MeasurePlan
from datasmith.workloads.summary import FALSE_DISCOVERY_RATE

FEWEST_ROUNDS = rounds_needed(1, FALSE_DISCOVERY_RATE)
"""With fewer rounds no test of pairs can call anything changed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one call of fc-data asks for; `stages` are in order, `n_concurrent` None means one item a core.

    `plan` says how stage 5 measures; its seed is also that of the sample. `join`: beside other workers that join, too;
    it implies `resume`, because what another has just decided must stay. `executor` says where the stages in NEEDS run,
    `agent` who writes build scripts where nothing else helps (empty: as the settings say). `suite` says whose
    benchmarks are measured, where not base's own, `select` which of them and `most_workloads` how many; `until` is how
    far stage 5 goes, `test_budget_s` how long it looks for tests, `screening_s` for workloads.
    """

    window: Window
    sources: Sources
    stages: tuple[int, ...] = tuple(STAGES)
    resume: bool = False
    force: bool = False
    join: bool = False
    executor: str = "local"
    agent: str = ""
    n_concurrent: int | None = None
    tasks_per_repo: int | None = None
    plan: MeasurePlan = field(default_factory=MeasurePlan)
    suite: SuiteWish = field(default_factory=SuiteWish)
    until: Until = "measured"
    test_budget_s: float = TEST_BUDGET_S
    select: Select = "all"
    most_workloads: int | None = None
    screening_s: float = SCREENING_S

    @classmethod
    def checked(
        cls,
        *,
        start_date: str,
        end_date: str,
        sources: Sources,
        stages: tuple[int, ...],
        resume: bool,
        force: bool,
        n_concurrent: int | None,
        tasks_per_repo: int | None,
        seed: int,
        precise: bool,
        max_rounds: int | None = None,
        join: bool = False,
        executor: str = "local",
        agent: str = "",
        suite: SuiteWish | None = None,
        select: str = "all",
        most_workloads: int | None = None,
    ) -> Self:
        """Read the flags; stages given twice run once.

        Raises:
            ConfigError: a value makes no sense; names the flag.
        """
        unknown = [stage for stage in stages if stage not in STAGES]
        if unknown:
            raise ConfigError(f"--stage {unknown[0]}: there are stages 1 to {len(STAGES)} (example: --stage 4)")
        counts = {"--n-concurrent": n_concurrent, "--tasks-per-repo": tasks_per_repo}
        _check_counts({**counts, "--most-workloads": most_workloads})
        if seed < 0:
            raise ConfigError(f"--seed {seed}: must not be negative (example: --seed 7)")
        if suite and stages and 4 not in stages:
            raise ConfigError(
                "--suite-from and --suite-repo need stage 4, which chooses the environment for the suite"
                " (example: --stage 4 --stage 5 --suite-from newest)"
            )
        plan = MeasurePlan(seed=seed).precise() if precise else MeasurePlan(seed=seed)
        if agent:
            agent = one_of("--agent", agent_name(agent), get_args(AgentName), "claude")
        if max_rounds is not None:
            plan = _within(plan, max_rounds, most_workloads or 1)
        return cls(
            window=Window.parse(start_date, end_date),
            sources=sources,
            stages=tuple(sorted(set(stages))) or tuple(STAGES),
            resume=resume or join,
            force=force,
            join=join,
            executor=check_executor(executor),
            agent=agent,
            n_concurrent=n_concurrent,
            tasks_per_repo=tasks_per_repo,
            plan=plan,
            suite=suite or SuiteWish(),
            select=select_of(select),
            most_workloads=most_workloads,
        )

    def terms(self, repositories: Iterable[str] | None) -> Terms:
        """What this request says of items that the ledger knows already."""
        chosen = None if repositories is None else frozenset(repositories)
        # Decisions about another suite, or about other workloads, are none about this one.
        special = bool(self.suite) or self.select != "all" or self.most_workloads is not None
        force = self.force or (special and not self.resume)
        return Terms(
            self.resume,
            force,
            self.tasks_per_repo,
            self.plan.seed,
            chosen,
            until=self.until,
            select=self.select,
            most_workloads=self.most_workloads,
        )


def _check_counts(flags: Mapping[str, int | None]) -> None:
    """Raises ConfigError for a number of things that is not at least 1."""
    for flag, number in flags.items():
        if number is not None and number < 1:
            raise ConfigError(f"{flag} {number}: must be at least 1 (example: {flag} 4)")


def _within(plan: MeasurePlan, max_rounds: int, workloads: int) -> MeasurePlan:
    """The plan with so many rounds; what too few are for `workloads`, as many as a task may have, is built for nothing.

    How many a task has is known when its suite was looked at, in its image.
    """
    if max_rounds < FEWEST_ROUNDS:
        raise ConfigError(f"--max-rounds {max_rounds}: must be at least {FEWEST_ROUNDS} (example: --max-rounds 12)")
    within = plan.at_most(max_rounds)
    within.check(workloads)
    return within
