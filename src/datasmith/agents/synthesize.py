"""Find build scripts that work for a commit: what worked before, plain recipes, its neighbours' scripts, an agent."""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from datasmith.agents.attempts import (
    BROKE,
    EDITABLE,
    LACKING,
    LOCKING,
    Attempt,
    Commit,
    Synthesized,
    TierName,
    cached_context,
    day_of,
    earlier_failures,
    is_strangers,
    note_attempt,
    save_context,
    similar_contexts,
    whole_context,
)
from datasmith.agents.planted import holdings, own_of, planted
from datasmith.agents.recipes import OWN_GROUND, arguments_of, on_our_own, plan_of, remedy, with_scripts
from datasmith.agents.scripting import Brief, ScriptWriter, Written
from datasmith.agents.synthesis_tools import SynthesisTools, first_plan, locked
from datasmith.docker.context import SCRIPTS, DockerContext
from datasmith.docker.engine import Container, ImageRef, Tier
from datasmith.docker.images import APT_ARG, ImagePlan
from datasmith.docker.outages import NO_ROOM
from datasmith.docker.verifiers import Verifier
from datasmith.errors import BuildFailed, DiskFull, PackagesMissing, Unsatisfiable
from datasmith.resolution.diagnosis import diagnose
from datasmith.storage.base import utc_now

_GROUND = (*SCRIPTS[:2], LACKING)
"""Where an attempt ends before a script of EDITABLE is run."""
MOST_RECIPES = 8
"""Recipes that are put on top of each other before the table counts as exhausted."""
MOST_FAILURES = 6
"""Failures that an agent is shown: the newest ones, and that of the plan which it starts from."""

Trace = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An environment that is asked for: a first plan, and the verifier that says whether an image will do.

    `cutoff` bounds what recipes may change in the lock (None: nothing, as nobody knows what there was at the time).
    `reuse` False: no cached context is looked at.
    """

    commit: Commit
    plan: ImagePlan
    verifier: Verifier
    log: Path
    pr_context: str = ""
    cutoff: datetime | None = None
    reuse: bool = True


def printed(line: str) -> None:
    """A line of a search on standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Synthesizer:
    """Finds the build context of a commit; every try is a row of build_attempts.

    The order: what worked for this commit before; the plan as it is, and again with what its log asks for; the
    scripts of the repository's nearest commits; up to `max_attempts` turns of a coding agent, which has none where this
    machine lacks Debian packages: another one, or a later run, may do without it. Whatever proposes scripts, the image
    is built and verified here, from our own copies. Without `tools` they are opened at the first
    use, as the settings say; `agent` then names the coding agent.
    """

    def __init__(
        self,
        max_attempts: int = 3,
        *,
        agent: str = "",
        tools: SynthesisTools | None = None,
        trace: Trace = printed,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_attempts = max_attempts
        self.now = now
        self.clock = clock
        self._agent = agent
        self._tools = tools
        self._trace = trace

    @property
    def tools(self) -> SynthesisTools:
        """What is worked with.

        Raises:
            ConfigError, EngineUnavailable, StoreError: something of it cannot be opened.
        """
        if self._tools is None:
            self._tools = SynthesisTools.opened(self._agent)
        return self._tools

    def run(
        self,
        owner: str,
        repo: str,
        issue_number: int,
        pr_context: str,
        verifier: Verifier,
        *,
        sha: str,
        base_context: DockerContext | None = None,
        env_payload: str = "",
        python_version: str = "",
        source: Path | None = None,
        cutoff: datetime | None = None,
    ) -> DockerContext | None:
        """The context that builds the commit `sha` (shortened where a clone knows it) and passes the verifier, or None.

        `base_context` is where the search starts; where it has no lock.txt, the `dependencies` of `env_payload`
        (JSON) are locked. `source` is the tar of the sealed tree; without it, it is made from the clone that the
        settings know. No package is newer than `cutoff` (UTC, where it names no zone); without it, that is when the
        environment was resolved, the pull request opened, or the commit made, by what the store and the clone know.

        Raises:
            ConfigError: the payload cannot be read, there is no tree, nothing says as of when to lock, or the context's
                lock is of another Python.
            NotFound: there is a clone, and it does not hold the commit.
            EngineUnavailable, ModelUnavailable, StoreUnavailable: an outage, which says nothing about the commit.
            DiskFull, PackagesMissing: as little.
        """
        cutoff = cutoff.replace(tzinfo=cutoff.tzinfo or UTC) if cutoff else None
        whole, made = self.tools.known(owner, repo, sha) or (sha, None)
        commit = Commit(owner, repo, issue_number, whole)
        with tempfile.TemporaryDirectory(prefix="synthesis-") as name:
            place = Path(name)
            tree = source or self.tools.source(owner, repo, whole, place)
            day = cutoff or day_of(self.tools.store, commit) or made
            plan = first_plan(commit, base_context, python_version, tree, engine=self.tools.engine)
            began = self.clock()
            try:
                plan = locked(plan, env_payload, commit, relock=self.tools.relock, cutoff=day)
            except Unsatisfiable as error:
                self._not_locked(plan, commit, str(error), self.clock() - began)
                return None
            wanted = Wanted(commit, plan, verifier, place / "build.log", pr_context, day)
            found = self.synthesize(wanted).found
        return whole_context(found.plan) if found else None

    def _not_locked(self, plan: ImagePlan, commit: Commit, said: str, seconds: float) -> None:
        """Write down an attempt that ended before there was anything to build."""
        self._trace(f"Locking the packages of {commit.text}... [FAIL]")
        done = Attempt(plan, "recipe", False, LOCKING, 1, "", said, seconds, reason="no lock was found")
        note_attempt(self.tools.store, commit, done, engine=self.tools.engine.name, now=self.now())

    def synthesize(self, wanted: Wanted, trace: Trace | None = None) -> Synthesized:
        """The search itself, told to `trace` as well; see `run` for what it raises."""

        def tell(line: str) -> None:
            self._trace(line)
            if trace:
                trace(line)

        search = _Search(self, wanted, tell)
        found = search.run()
        if found:
            save_context(self.tools.store, wanted.commit, found, asked=wanted.plan, now=self.now())
            if search.states != ["check_cache"]:
                search.trace(f"Saved context for {wanted.commit.text}")
        search.states += [] if search.states == ["check_cache"] else ["save" if found else "fail"]
        return Synthesized(found, tuple(search.attempts), tuple(search.states))


@dataclass
class _Search:
    """One search, with what it has tried so far."""

    synthesizer: Synthesizer
    wanted: Wanted
    trace: Trace
    attempts: list[Attempt] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    lacking: PackagesMissing | None = None
    """What this machine could not install. A search that finds nothing then is no verdict: it is made again."""

    def run(self) -> Attempt | None:
        steps = (self._cached, self._recipes, self._similar, self._written)
        found = next((found for step in steps if (found := step())), None)
        if found is None and self.lacking:
            raise self.lacking
        return found

    def _cached(self) -> Attempt | None:
        self.states.append("check_cache")
        wanted, says = self.wanted, f"Checking cache for {self.wanted.commit.text}... "
        store = self.synthesizer.tools.store
        context = cached_context(store, wanted.commit, wanted.plan) if wanted.reuse else None
        plan = plan_of(wanted.plan, context) if context else None
        if plan is None:
            self.trace(f"{says}[MISS]")
            return None
        found = self._attempt(plan, "cache")
        self.trace(f"{says}[{'HIT' if found.ok else 'FAIL'}]")
        return found if found.ok else None

    def _recipes(self) -> Attempt | None:
        """The plan as it is; after each failure what the log asks for is added."""
        self.states.append("recipe")
        done = self._recipe(self.wanted.plan)
        if done.stage in _GROUND and (ours := on_our_own(self.wanted.plan)) != self.wanted.plan:
            done = self._recipe(ours, OWN_GROUND)
            self.trace(f"Recipe {OWN_GROUND}... {_mark(done)}")
        for _ in range(MOST_RECIPES):
            next_try = None if done.ok else remedy(done, self._relock)
            if next_try is None:
                break
            told = "; ".join(next_try.recipe.splitlines())
            plan, recipe = next_try
            done = self._recipe(plan, recipe)
            self.trace(f"Recipe {told}... {_mark(done)}")
        else:
            if not done.ok:
                self.trace("Recipes are used up")
        self.trace(f"Deterministic build... {_mark(done)}")
        return done if done.ok else None

    def _recipe(self, plan: ImagePlan, recipe: str = "") -> Attempt:
        """Try a plan; one that has failed in this search already, as the cached one, is not built again."""
        digest = whole_context(plan).digest
        known = next((attempt for attempt in self.attempts if whole_context(attempt.plan).digest == digest), None)
        if known is None:
            return self._attempt(plan, "recipe", recipe=recipe)
        self.attempts.append(replace(known, tier="recipe", recipe=recipe))
        return self.attempts[-1]

    def _relock(self, lock: str, requirements: tuple[str, ...], python_version: str) -> str:
        if self.wanted.cutoff is None:
            self.trace(f"Lock is left alone: no date is known of {self.wanted.commit.text}")
            return lock
        return self.synthesizer.tools.relock(lock, requirements, python_version, self.wanted.cutoff)

    @property
    def _best(self) -> ImagePlan:
        """Our own newest plan whose packages could be had: others' scripts are put on it, an agent starts there."""
        reached = [attempt for attempt in self.attempts if attempt.stage not in _GROUND]
        chosen = [attempt for attempt in reached if attempt.tier == "recipe"] or reached
        return chosen[-1].plan if chosen else self.wanted.plan

    @property
    def _out_of_reach(self) -> bool:
        """True where the locked packages cannot be installed: no script of EDITABLE changes that."""
        return bool(self.attempts) and all(attempt.stage in _GROUND for attempt in self.attempts)

    def _similar(self) -> Attempt | None:
        if self._out_of_reach:
            return None
        self.states.append("similar")
        commit = self.wanted.commit
        plans = self._new_plans(similar_contexts(self.synthesizer.tools.store, commit))
        self.trace(f"Found {len(plans)} similar scripts from {commit.owner}/{commit.repo}")
        for number, plan in enumerate(plans, 1):
            done = self._attempt(plan, "similar")
            self.trace(f"Attempt {number}/{len(plans)} with similar script... {_mark(done)}")
            if done.ok:
                return done
        return None

    def _new_plans(self, contexts: Sequence[DockerContext]) -> list[ImagePlan]:
        """The plan with the scripts of other contexts, without what has failed already; its own pins stay."""
        known = {whole_context(attempt.plan).digest for attempt in self.attempts}
        plans = []
        for context in contexts:
            scripts = {name: context.texts[name] for name in EDITABLE if name in context.texts}
            packages = arguments_of(context).get(APT_ARG, "").split()
            plan = with_scripts(self._best, scripts, tuple(packages))
            digest = whole_context(plan).digest
            if digest not in known:
                known.add(digest)
                plans.append(plan)
        return plans

    def _written(self) -> Attempt | None:
        writer = self.synthesizer.tools.writer
        if writer is None or self._out_of_reach:
            return None
        if self.lacking:
            self.trace(f"No turn of {writer.name}: this machine lacks Debian packages that were asked for")
            return None
        self.states.append("agent")
        base = self._best
        image = self._tree_image(base)
        for _ in range(self.synthesizer.max_attempts):
            done = self._turn(writer, base, image)
            self.trace(f"Sandbox synthesis {'succeeded [PASS]' if done.ok else 'failed [FAIL]'}")
            if done.ok:
                return done
        return None

    def _turn(self, writer: ScriptWriter, base: ImagePlan, image: ImageRef) -> Attempt:
        """Let the agent write once; then build and verify what it wrote, wherever it says it has come."""
        commit = self.wanted.commit
        with tempfile.TemporaryDirectory(prefix="synthesis-") as place:
            self.trace(f"Launching {writer.name} agent sandbox in {place}...")
            failures = earlier_failures(self.synthesizer.tools.store, commit, whole_context(base), MOST_FAILURES)
            brief = Brief(f"{commit.owner}/{commit.repo}", base, image, self.wanted.pr_context, failures, Path(place))
            written = writer.write(brief)
        plan = with_scripts(base, written.scripts)
        return self._attempt(plan, "agent", recipe=f"agent: {writer.name}", written=written)

    def _tree_image(self, plan: ImagePlan) -> ImageRef:
        """An image with the plan's packages and the tree, in which nothing of the tree has run yet."""
        tools, log = self.synthesizer.tools, self.wanted.log
        base = tools.images.build_base(plan.apt_packages, plan.context, log=log)
        env = tools.images.build_env(base, plan, log=log)
        tier = Tier("pr", f"fc-synthesis/{self.wanted.commit.sha[:12] or 'tree'}", (), {"repo.tar": plan.source})
        return tools.engine.build(env, tier, log=log)

    def _planted(self, plan: ImagePlan, container: Container) -> tuple[str, ...]:
        """What scripts that others wrote did beside building."""
        tools = self.synthesizer.tools
        with tools.engine.start(self._tree_image(plan), limits=tools.limits) as untouched:
            before = holdings(untouched)
            own = own_of(plan.build_args.get("FC_IMPORT_NAMES", "").split(), untouched, before.tree)
        return planted(before, holdings(container), own)

    def _attempt(self, plan: ImagePlan, tier: TierName, *, recipe: str = "", written: Written | None = None) -> Attempt:
        """Build and verify a plan, and write down how it went; an outage is not written down, nor is a full disk.

        With an agent's scripts that fail, what it said of them is kept where a build says nothing: for the next turn.
        One that broke down has no scripts to build.
        """
        started = self.synthesizer.clock()
        broke = written.broke if written else ""
        done = Attempt(plan, tier, False, BROKE, 1, "", "", 0.0, reason=broke) if broke else self._tried(plan, tier)
        if written:
            said = done.stdout if done.ok else done.stdout or written.log
            done = replace(done, stdout=said, model=written.model, cost_usd=written.cost_usd)
        done = replace(done, recipe=recipe, duration_s=self.synthesizer.clock() - started)
        self.attempts.append(done)
        tools = self.synthesizer.tools
        now = self.synthesizer.now()
        note_attempt(tools.store, self.wanted.commit, done, engine=tools.engine.name, now=now)
        return done

    def _tried(self, plan: ImagePlan, tier: TierName) -> Attempt:
        tools, log = self.synthesizer.tools, self.wanted.log
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            image = tools.images.build(plan, log=log)
        except PackagesMissing as error:
            self.lacking = error
            return Attempt(plan, tier, False, LACKING, error.rc, "", error.log_tail, 0.0, reason=error.log_tail)
        except BuildFailed as error:
            why = diagnose(error.log_tail).text
            return Attempt(plan, tier, False, error.stage, error.rc, "", error.log_tail, 0.0, reason=why)
        with tools.engine.start(image, limits=tools.limits, mounts=tools.mounts) as container:
            strange = self._planted(plan, container) if is_strangers(plan.context.texts) else ()
            if strange:
                said = "; ".join(strange)
                return Attempt(
                    plan, tier, False, "planted", 1, "", said, 0.0, image=image, reason=f"more than a build: {said}"
                )
            seen = self.wanted.verifier.verify(container)
        said = f"{seen.stdout}\n{seen.stderr}"
        if not seen.ok and NO_ROOM.search(said):
            raise DiskFull(seen.stage, said)
        why = "" if seen.ok else diagnose(said, seen.stage).text
        return Attempt(plan, tier, seen.ok, seen.stage, seen.rc, seen.stdout, seen.stderr, 0.0, image=image, reason=why)


def _mark(attempt: Attempt) -> str:
    return "[PASS]" if attempt.ok else "[FAIL]"
