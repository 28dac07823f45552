"""What the store remembers of environments: every try to build one, and the contexts that worked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast, get_args

from datasmith.docker.cli_build import template
from datasmith.docker.context import LOCK, SCRIPTS, DockerContext
from datasmith.docker.engine import ImageRef
from datasmith.docker.images import APT_ARG, BUILD_ARGS, PYTHON_ARG, ImagePlan, build_args_text, short
from datasmith.redact import redact
from datasmith.storage.base import Condition, Query, Row, Store, Value

EDITABLE = ("docker_build_pkg.sh", "docker_build_run.sh")
"""The scripts that may differ between two pull requests of one repository, and that a coding agent may write."""
BROKE = "agent"
"""The stage of an attempt that an agent ended by breaking down: nothing was built."""
LOCKING = "lock"
"""The stage of an attempt that ended before a build: its packages have no lock."""
LACKING = "packages"
"""The stage of an attempt for which this machine lacks Debian packages: it says nothing about the commit."""
TAIL = 4000
MOST_SIMILAR = 5
"""Contexts of other commits that are tried."""

TierName = Literal["cache", "recipe", "similar", "agent"]


def is_strangers(texts: Mapping[str, str], names: Iterable[str] = EDITABLE) -> bool:
    """True where one of these texts, by name, is of `names` and not ours: an agent wrote it once, or a user."""
    return any(text != template(name) for name in names if (text := texts.get(name)) is not None)


@dataclass(frozen=True, slots=True)
class Commit:
    """What an environment is for."""

    owner: str
    repo: str
    issue_number: int
    sha: str

    @property
    def text(self) -> str:
        """`owner/repo@sha`, the sha as it is shown."""
        return f"{self.owner}/{self.repo}@{self.sha[:12]}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to build and verify an environment; of a failed one, what it said at the end.

    `stage` is the script or the verifier that ended it, or BROKE. `recipe` is what was changed since the try before,
    `model` who wrote the scripts; `cost_usd` is None where nobody knows.
    """

    plan: ImagePlan
    tier: TierName
    ok: bool
    stage: str
    rc: int
    stdout: str
    stderr: str
    duration_s: float
    recipe: str = ""
    model: str | None = None
    cost_usd: float | None = None
    image: ImageRef | None = None
    reason: str = ""

    @property
    def log(self) -> str:
        """Both tails."""
        return f"{self.stdout}\n{self.stderr}".strip()


@dataclass(frozen=True, slots=True)
class Synthesized:
    """How a search ended: the attempt that worked or None, all attempts, and the states that were gone through."""

    found: Attempt | None
    attempts: tuple[Attempt, ...]
    states: tuple[str, ...]

    @property
    def failed(self) -> Attempt | None:
        """The failure that tells most: how our own recipes ended, whatever was tried with scripts of others after them.

        A failed download of packages tells less than what asked for them; an agent that broke down tells nothing.
        """
        failures = [attempt for attempt in self.attempts if not attempt.ok]
        chosen = [attempt for attempt in failures if attempt.tier == "recipe"] or failures
        telling = [attempt for attempt in chosen if attempt.stage not in {SCRIPTS[0], LACKING, BROKE}] or chosen
        return telling[-1] if telling else None

    @property
    def by_agent(self) -> Attempt | None:
        """How the last scripts of an agent failed; None where it has written none."""
        written = [each for each in self.attempts if each.tier == "agent" and each.stage != BROKE and not each.ok]
        return written[-1] if written else None


def whole_context(plan: ImagePlan) -> DockerContext:
    """The files of a plan with its arguments: enough to build it again."""
    tiers = {PYTHON_ARG: plan.python_version, APT_ARG: " ".join(plan.apt_packages)}
    return DockerContext({**plan.context.texts, BUILD_ARGS: build_args_text({**plan.build_args, **tiers})})


def note_attempt(store: Store, commit: Commit, attempt: Attempt, *, engine: str, now: datetime) -> None:
    """Add a row to build_attempts; what has the form of a secret does not get into it."""
    context = whole_context(attempt.plan)
    _, earlier = store.query(Query("build_attempts", columns=("id",), conditions=_equal(_key(commit)), count=True))
    row: Row = {
        **_key(commit),
        "issue_number": commit.issue_number,
        "attempt": (earlier or 0) + 1,
        "engine": engine,
        "tier": attempt.tier,
        "recipe": attempt.recipe,
        "model": attempt.model,
        "script": "\n".join(attempt.plan.context.texts.get(name, "") for name in EDITABLE),
        "stage": attempt.stage,
        "ok": attempt.ok,
        "rc": attempt.rc,
        "reason": attempt.reason,
        "stdout": redact(attempt.stdout)[-TAIL:],
        "stderr": redact(attempt.stderr)[-TAIL:],
        "duration_s": attempt.duration_s,
        "cost_usd": attempt.cost_usd,
        "context_hash": context.digest,
        "context": cast("Value", dict(context.texts)),
        "created_at": now,
    }
    store.query(Query("build_attempts", "insert", rows=(row,)))


def save_context(store: Store, commit: Commit, attempt: Attempt, *, asked: ImagePlan, now: datetime) -> None:
    """Keep the context of an attempt that worked, for this commit and for its neighbours.

    `asked` is the plan that the search began with: a context only counts for those who ask for the same pins.
    """
    context = whole_context(attempt.plan)
    image = attempt.image
    row: Row = {
        **_key(commit),
        "issue_number": commit.issue_number,
        "engine": image.engine if image else None,
        "image_name": image.name if image else None,
        "image_digest": image.digest if image else None,
        "context_hash": context.digest,
        "context": cast("Value", dict(context.texts)),
        "verification": {"tier": attempt.tier, "stage": attempt.stage, "asked": _pins_asked(asked)},
        "created_at": now,
    }
    store.upsert("candidate_containers", [row])


def cached_context(store: Store, commit: Commit, asked: ImagePlan) -> DockerContext | None:
    """The context that worked for this very commit and these pins."""
    rows = store.select("candidate_containers", _key(commit))
    verification = rows[0]["verification"] if rows else None
    if not isinstance(verification, dict) or verification.get("asked") != _pins_asked(asked):
        return None
    return _context(rows[0])


def _pins_asked(plan: ImagePlan) -> str:
    return short(plan.context.texts.get(LOCK, ""), plan.python_version)


def similar_contexts(store: Store, commit: Commit) -> list[DockerContext]:
    """Contexts that worked for other commits of the repository, those of the nearest pull requests first, at most 5.

    Near is what was opened near in time; a context whose pull request is not known counts from when it was made. Where
    nobody knows when our own was opened, its environment's day stands in (`day_of`); without one the newest come first.
    """
    of_repo: Row = {"owner": commit.owner, "repo": commit.repo}
    rows = store.select("candidate_containers", of_repo, order=("sha",))
    opened = {row["issue_number"]: row["created_at"] for row in store.select("pull_requests", of_repo)}
    here = opened.get(commit.issue_number) or day_of(store, commit)
    others = [row for row in rows if row["sha"] != commit.sha]

    def distance(row: Row) -> float:
        then = opened.get(row["issue_number"]) or row["created_at"]
        if not isinstance(then, datetime):
            return float("inf")
        return abs((then - here).total_seconds()) if isinstance(here, datetime) else -then.timestamp()

    found = [_context(row) for row in sorted(others, key=distance)]
    return [context for context in found if context is not None][:MOST_SIMILAR]


def day_of(store: Store, commit: Commit) -> datetime | None:
    """As of when the packages of a commit are chosen: as they were resolved, else when its pull request was opened."""
    resolved = store.select("packages", _key(commit))
    asked: Row = {"owner": commit.owner, "repo": commit.repo, "issue_number": commit.issue_number}
    opened = store.select("pull_requests", asked)
    days = [*(row["cutoff"] for row in resolved), *(row["created_at"] or row["merged_at"] for row in opened)]
    return next((day for day in days if isinstance(day, datetime)), None)


def earlier_failures(store: Store, commit: Commit, start: DockerContext, most: int) -> list[str]:
    """What the newest tries for this commit said of its scripts, in their order; for whoever tries next.

    That of the context `start`, from which the next one starts, is always among them, and says so in its first line.
    """
    rows = store.select("build_attempts", _key(commit), order=("id",))
    failures = [row for row in rows if row["ok"] is False and row["stage"] not in {BROKE, LOCKING}]
    own = [row for row in failures if row["context_hash"] == start.digest][-1:]
    newest = failures[-most:]
    shown = newest if not own or own[0] in newest else [*own, *newest[1:]]
    return [f"{'with the scripts as they are now: ' if row in own else ''}{_told(row)}" for row in shown]


def _told(row: Mapping[str, Value]) -> str:
    tier, stage, rc, reason, out, err = (
        str(row[name] or "") for name in ("tier", "stage", "rc", "reason", "stdout", "stderr")
    )
    return f"{tier} attempt, stage {stage}, exit code {rc}: {reason or 'unknown'}\n{out}\n{err}".strip()


def _context(row: Mapping[str, Value]) -> DockerContext | None:
    texts = row["context"]
    if not isinstance(texts, dict):
        return None
    return DockerContext({name: text for name, text in texts.items() if isinstance(text, str)})


def _equal(row: Row) -> tuple[Condition, ...]:
    return tuple(Condition(name, "eq", value) for name, value in row.items())


def _key(commit: Commit) -> Row:
    return {"owner": commit.owner, "repo": commit.repo, "sha": commit.sha}


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """How often a recipe was put on a failing build: commits it was tried on, and those that were built with it.

    A commit that took several recipes counts for each of them; one that another tier built counts for none. A recipe
    whose packages the machine lacked was not tried.
    """

    recipe: str
    tried: int
    built: int


def fixed_by_recipe(rows: Sequence[Mapping[str, Value]]) -> list[RecipeRow]:
    """One line for each recipe in rows of build_attempts, in the order of their writing; the most useful first.

    Recipes are put on top of each other: each of a chain that ends in a build has its part in it.
    """
    tried: dict[str, set[tuple[Value, ...]]] = {}
    built: dict[str, set[tuple[Value, ...]]] = {}
    chains: dict[tuple[Value, ...], set[str]] = {}
    for row in rows:
        commit, recipe = _commit(row), str(row["recipe"] or "")
        if row["tier"] != "recipe" or not recipe:
            chains[commit] = set()
        if row["tier"] != "recipe" or row["stage"] == LACKING:
            continue
        if recipe:
            chains.setdefault(commit, set()).add(recipe)
            tried.setdefault(recipe, set()).add(commit)
        for helped in chains[commit] if row["ok"] else ():
            built.setdefault(helped, set()).add(commit)
    table = [RecipeRow(recipe, len(commits), len(built.get(recipe, ()))) for recipe, commits in tried.items()]
    return sorted(table, key=lambda line: (-line.built, -line.tried, line.recipe))


def unsolved(rows: Sequence[Mapping[str, Value]]) -> list[tuple[str, int]]:
    """What the last attempt said of the commits that were never built, and how many say so, the most frequent first.

    `rows` are in the order in which they were written.
    """
    last = {_commit(row): row for row in rows}
    built = {_commit(row) for row in rows if row["ok"]}
    left = [row for commit, row in last.items() if commit not in built]
    signs = Counter(str(row["reason"] or "unknown, stage " + str(row["stage"])) for row in left)
    return sorted(signs.items(), key=lambda line: (-line[1], line[0]))


@dataclass(frozen=True, slots=True)
class TierRow:
    """What came of one kind of attempts; `cost_usd` is the sum of what is known, None where nothing is."""

    tier: str
    attempts: int
    worked: int
    seconds: float
    cost_usd: float | None


def by_tier(rows: Sequence[Mapping[str, Value]]) -> list[TierRow]:
    """One line for each tier in rows of build_attempts, in the order in which they are tried."""
    found = []
    for tier in get_args(TierName):
        of_tier = [row for row in rows if row["tier"] == tier]
        seconds = sum(row["duration_s"] for row in of_tier if isinstance(row["duration_s"], float))
        costs = [row["cost_usd"] for row in of_tier if isinstance(row["cost_usd"], float)]
        worked = sum(1 for row in of_tier if row["ok"])
        if of_tier:
            found.append(TierRow(tier, len(of_tier), worked, seconds, sum(costs) if costs else None))
    return found


def _commit(row: Mapping[str, Value]) -> tuple[Value, ...]:
    return row["owner"], row["repo"], row["sha"]
