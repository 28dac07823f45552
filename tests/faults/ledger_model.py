"""The ledger beside a model of it in plain Python: python -m tests.faults.ledger_model [STEPS [URL]]."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from datasmith.storage.base import Entry, ItemState, StageItem, Verdict
from datasmith.storage.sql import SqlStore

STAGES = st.sampled_from([3, 4])
NAMES = st.lists(st.sampled_from([f"{name}:{n}" for name in ("a/b", "a/c") for n in range(3)]), min_size=1, max_size=4)
REPOSITORIES = st.sampled_from([None, None, ["a/b"], ["a/b", "a/c"]])
WORKERS = st.sampled_from(["one", "two"])
FINAL = st.sampled_from(["passed", "refused", "failed"])
SECONDS = st.sampled_from([5.0, 30.0])


@dataclass
class Known:
    """What the model knows of an item."""

    state: ItemState = "pending"
    fence: int = 0
    attempts: int = 0
    worker: str = ""
    until: datetime = datetime(9999, 1, 1, tzinfo=UTC)

    def lease(self, worker: str, until: datetime) -> None:
        """Somebody has it now."""
        self.state, self.worker, self.until = "leased", worker, until
        self.fence += 1
        self.attempts += 1


@dataclass
class Shared:
    """What all examples of a run share: one database, a window for each, and the count of steps."""

    store: SqlStore
    windows: Iterator[int] = field(default_factory=count)
    steps: int = 0


class LedgerModel(RuleBasedStateMachine):
    """Claims, answers, renewals and the clock in any order, by two workers, late ones too."""

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self.shared = shared
        self.store = shared.store
        self.window = f"window {next(shared.windows)}"
        self.now = datetime(2026, 2, 3, tzinfo=UTC)
        self.known: dict[tuple[int, str], Known] = {}
        self.claims: list[StageItem] = []

    @rule(stage=STAGES, names=NAMES)
    def enter(self, stage: int, names: list[str]) -> None:
        """Only new items count."""
        new = {name for name in names if (stage, name) not in self.known}
        assert self.store.enter(self.window, stage, [(name, "pull_request") for name in names], self.now) == len(new)
        self.known |= {(stage, name): Known() for name in new}

    @rule(stage=STAGES, worker=WORKERS, n=st.integers(1, 4), lease_s=SECONDS, ours=REPOSITORIES)
    def claim(self, stage: int, worker: str, n: int, lease_s: float, ours: list[str] | None) -> None:
        """The first by name that are free, of these repositories."""
        known = [(name, item) for (where, name), item in sorted(self.known.items()) if where == stage]
        free = [name for name, item in known if self.free(item) and self.has_come(stage, name)]
        wanted = [name for name in free if ours is None or name.partition(":")[0] in ours][:n]
        got = self.store.claim(self.window, stage, worker, n, lease_s, self.now, repositories=ours)
        assert [item.item for item in got] == wanted
        self.leased(got, worker, lease_s)

    @rule(stage=STAGES, names=NAMES, worker=WORKERS, lease_s=SECONDS)
    def take(self, stage: int, names: list[str], worker: str, lease_s: float) -> None:
        """These, unless another worker has them."""
        for name in names:
            self.known.setdefault((stage, name), Known())
        items = {name: self.known[stage, name] for name in names}
        allowed = [
            name
            for name, item in items.items()
            if item.state != "leased" or item.worker == worker or item.until <= self.now
        ]
        pairs = [(name, "pull_request") for name in names]
        got = self.store.take(self.window, stage, pairs, worker, lease_s, self.now)  # type: ignore[arg-type]
        assert [item.item for item in got] == allowed
        self.leased(got, worker, lease_s)

    @rule(data=st.data(), state=FINAL | st.just("pending"), anew=st.booleans())
    def finish(self, data: st.DataObject, state: ItemState, anew: bool) -> None:
        """Any claim ever made answers: the newest one counts, once, and what passed goes on."""
        if not self.claims:
            return
        item = data.draw(st.sampled_from(self.claims))
        passes = state == "passed" and item.stage == 3
        entries = (Entry(4, item.item, "pull_request", anew=anew),) if passes else ()
        holds = self.holds(item)
        assert self.store.finish_many([Verdict(item, state, "why", (), entries)], self.now) == [holds]
        if holds:
            self.end(item.stage, item.item, state)
            if passes:
                following = self.known.setdefault((4, item.item), Known())
                if anew and following.state in {"passed", "refused", "failed"}:
                    following.state = "pending"
                    following.fence += 1

    @rule(data=st.data(), lease_s=SECONDS)
    def renew(self, data: st.DataObject, lease_s: float) -> None:
        """Leases that hold end later, others do not come back."""
        if not self.claims:
            return
        items = data.draw(st.lists(st.sampled_from(self.claims), max_size=3, unique=True))
        held = [item for item in items if self.holds(item)]
        assert self.store.renew(items, lease_s, self.now) == len(held)
        for item in held:
            self.known[item.stage, item.item].until = self.now + timedelta(seconds=lease_s)

    @rule(stage=STAGES, names=NAMES, state=FINAL)
    def record(self, stage: int, names: list[str], state: ItemState) -> None:
        """Whatever was known is replaced, leases are void."""
        unique = list(dict.fromkeys(names))
        self.store.record(self.window, stage, [(name, "pull_request", state, "why") for name in unique], self.now)
        for name in unique:
            if (stage, name) in self.known:
                self.known[stage, name].fence += 1
            self.known.setdefault((stage, name), Known())
            self.end(stage, name, state)

    @rule(stage=STAGES, names=NAMES, seen=st.sampled_from(["failed", "pending"]), ago=st.integers(0, 1))
    def amend(self, stage: int, names: list[str], seen: ItemState, ago: int) -> None:
        """Only what is in the state, and of the fence, that was read; what it is a lease of is not asked."""
        rows = [
            StageItem(self.window, stage, name, "pull_request", seen, "", item.attempts, item.fence - ago)
            for name in dict.fromkeys(names)
            if (item := self.known.get((stage, name)))
        ]
        same = [row.item for row in rows if not ago and self.known[stage, row.item].state == seen]
        assert self.store.amend(rows, "pending", "", self.now) == len(same)
        for name in same:
            self.known[stage, name].state = "pending"
            self.known[stage, name].fence += 1

    @rule(stage=STAGES, states=st.lists(FINAL | st.just("leased"), max_size=2, unique=True))
    def reopen(self, stage: int, states: list[ItemState]) -> None:
        """Those states are pending again."""
        chosen = [item for (where, _), item in self.known.items() if where == stage and item.state in states]
        assert self.store.reopen(self.window, stage, states, self.now) == len(chosen)
        for item in chosen:
            item.state = "pending"

    @rule(seconds=st.sampled_from([1, 7, 60]))
    def wait(self, seconds: int) -> None:
        """Leases run out."""
        self.now += timedelta(seconds=seconds)

    @invariant()
    def the_store_knows_what_the_model_knows(self) -> None:
        """Every row, and the counts of the funnel."""
        self.shared.steps += 1
        rows = self.store.stage_items(self.window)
        found = {(row.stage, row.item): (row.state, row.fence, row.attempts) for row in rows}
        assert found == {key: (item.state, item.fence, item.attempts) for key, item in self.known.items()}
        funnel = Counter[tuple[int, str]]()
        for row in self.store.funnel(self.window):
            funnel[row.stage, row.state] += row.count
        come = ((stage, item.state) for (stage, name), item in self.known.items() if self.has_come(stage, name))
        assert funnel == Counter(come)

    def free(self, item: Known) -> bool:
        """Claimable now."""
        return item.state == "pending" or (item.state == "leased" and item.until <= self.now)

    def has_come(self, stage: int, name: str) -> bool:
        """True where the stage before does not know the item, or has let it pass."""
        earlier = self.known.get((stage - 1, name))
        return earlier is None or earlier.state == "passed"

    def holds(self, claim: StageItem) -> bool:
        """True for the newest claim of an item that has not ended since."""
        item = self.known.get((claim.stage, claim.item))
        return item is not None and item.state == "leased" and item.fence == claim.fence

    def end(self, stage: int, name: str, state: ItemState) -> None:
        """A state is set; what was refused is known to no later stage."""
        self.known[stage, name].state = state
        if stage == 3 and state == "refused":
            self.known.pop((4, name), None)

    def leased(self, got: list[StageItem], worker: str, lease_s: float) -> None:
        """Note claims that the store has made."""
        for item in got:
            known = self.known[item.stage, item.item]
            known.lease(worker, self.now + timedelta(seconds=lease_s))
            assert replace(item, reason="") == StageItem(
                self.window, item.stage, item.item, "pull_request", "leased", "", known.attempts, known.fence
            )
            self.claims.append(item)


def run_model(store: SqlStore, examples: int) -> int:
    """Check so many sequences of 50 steps; returns how many steps that were."""
    store.migrate()
    shared = Shared(store)
    run_state_machine_as_test(
        lambda: LedgerModel(shared),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=50,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    return shared.steps


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    with SqlStore(sys.argv[2] if len(sys.argv) > 2 else "sqlite://") as opened:
        print(f"ledger model: {run_model(opened, wanted // 40)} steps, 0 violations on {opened.location}")
