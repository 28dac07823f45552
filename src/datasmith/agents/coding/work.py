"""A coding agent of the command line at work in a sandbox: its program, its home, its model, its limits, its traces."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from datasmith.agents.coding.base import Usage
from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.gateway import SOCKET as MODEL_SOCKET
from datasmith.agents.coding.gateway import Gateway, Upstream
from datasmith.agents.coding.inside.launch import MODEL_VARIABLE
from datasmith.agents.coding.trajectory import Exchange, TrajectoryStep, dollars, outage, steps_of, total
from datasmith.docker.egress import PROXY_NAMES, Destination, Egress, relayed
from datasmith.docker.egress import SOCKET as EGRESS_SOCKET
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ExecResult, Limits, Mount
from datasmith.docker.templates.relay import NO_WAY_OUT
from datasmith.errors import ContainerError, EngineUnavailable, ModelUnavailable
from datasmith.redact import Redactor

AGENT_HOME = "/opt/fc/agent"
"""Where its program and our launcher are shown, read-only."""
MODEL_DIR = "/opt/fc/model"
EGRESS_DIR = "/opt/fc/egress"
"""Where the sockets of the host are shown."""
_GATEWAY = f"{MODEL_DIR}/{MODEL_SOCKET}"
CERTIFICATES = f"{AGENT_HOME}/ca.pem"
SETTLE_S = 15.0
"""How long an answer is waited for that was under way when its agent ended: it is paid for."""
PROMPT_WORD = "{prompt}"
"""A word of a command line that stands for the prompt."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an agent says by itself: its dollars, and whether a budget that it keeps ended its work.

    The latter is believed where there is such a budget.
    """

    cost_usd: float | None = None
    over_budget: bool = False


@dataclass(frozen=True, slots=True)
class CodingCli:
    """One program that edits files as a model says: how it is called without a terminal, and what it prints.

    Nothing here but `upstream`, which stays on the host, holds a secret. In `argv`, `environment` and `files` (text by
    path, laid out before it starts) the model's address is `launch.MODEL_URL`; a word PROMPT_WORD of `argv` stands for
    the prompt, which otherwise comes on standard input. `read` reads its output, or where it `leaves` a file in the
    sandbox, that one ("" where there is none).
    """

    name: str
    model: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    upstream: Upstream
    mounts: tuple[Mount, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    leaves: str = ""
    read: Callable[[str], Told] = lambda _output: Told()


@dataclass(frozen=True, slots=True)
class Terms:
    """What one turn may use: seconds, the sandbox's limits, and the places it may reach beside its model.

    `environment` tells package tools of the index.
    """

    timeout_s: float
    limits: Limits
    index: tuple[Destination, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ca_bundle: Path | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """How an agent's work ended, as the host saw it.

    `log` is what it printed, without secrets; `stopped_by` names a budget that ended it, `outage` what was wrong with
    its model where that ended it.
    """

    done: ExecResult
    log: str
    usage: Usage
    steps: tuple[TrajectoryStep, ...]
    requests: int
    stopped_by: str | None = None
    outage: str | None = None


class Workplace:
    """Holds open what an agent needs of the host while it works: its way to its model, and to `index` if there is any.

    A sandbox that is started with `mounts` can be worked in once.
    """

    def __init__(
        self,
        cli: CodingCli,
        budget: Budget,
        *,
        index: tuple[Destination, ...] = (),
        ca_bundle: Path | None = None,
    ) -> None:
        self._cli = cli
        self._budget = budget
        self._ledger = Ledger(budget)
        self._gateway = Gateway(cli.upstream, self._ledger)
        self._egress = Egress(index) if index else None
        self._ca_bundle = ca_bundle

    def __enter__(self) -> Self:
        """Open the ways out.

        Raises:
            ModelUnavailable: nobody listens at the model's address.
            ConfigError: see `doorway`.
        """
        place = self._cli.upstream.place
        trouble = place.trouble()
        if trouble:
            raise ModelUnavailable(f"the model of {self._cli.name} at {place} cannot be reached: {trouble}")
        with ExitStack() as stack:
            stack.enter_context(self._gateway)
            if self._egress:
                stack.enter_context(self._egress)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What the sandbox must be shown."""
        launcher = Path(__file__).parent / "inside" / "launch.py"
        own = [Mount(launcher, f"{AGENT_HOME}/launch.py"), Mount(self._gateway.directory, MODEL_DIR)]
        own += [Mount(self._egress.directory, EGRESS_DIR)] if self._egress else []
        own += [Mount(self._ca_bundle, CERTIFICATES)] if self._egress and self._ca_bundle else []
        return (*self._cli.mounts, *own)

    def work(
        self,
        container: Container,
        prompt: str,
        *,
        timeout_s: float,
        cwd: str = WORKDIR,
        environment: Mapping[str, str] | None = None,
    ) -> Turn:
        """Let the agent work on `prompt` until it ends, or time or a budget ends it.

        Raises:
            EngineUnavailable: the sandbox was not shown the host's sockets.
        """
        done = container.exec(
            [*relayed(self._ways), "/usr/bin/python3", f"{AGENT_HOME}/launch.py"],
            timeout=timeout_s,
            stdin=self._job(prompt, environment or {}),
            cwd=cwd,
        )
        clean = Redactor((self._cli.upstream.key,))
        log = clean(f"{done.text}\n{done.error_text}".strip())
        settled = self._ledger.settle(SETTLE_S)
        exchanges = self._ledger.exchanges
        if done.rc == NO_WAY_OUT and not exchanges:
            raise EngineUnavailable(
                f"the engine cannot show a socket of this machine in a sandbox, so that a coding agent has no way to"
                f" its model there (use --engine bubblewrap, or --agent none): {log[-200:]}"
            )
        told = self._cli.read(_left(container, self._cli.leaves) if self._cli.leaves else done.text)
        stopped_by, limit = self._ledger.stopped_by, self._budget.max_cost_usd
        if stopped_by is None and told.over_budget and limit is not None:
            stopped_by = f"max_cost_usd={limit:g}"
        return Turn(
            done=done,
            log=log,
            usage=self._usage(exchanges, told) if settled else Usage(),
            steps=steps_of(exchanges, self._budget.price, clean),
            requests=sum(exchange.answered for exchange in exchanges),
            stopped_by=stopped_by,
            outage=None if stopped_by else outage(exchanges),
        )

    def _usage(self, exchanges: Sequence[Exchange], told: Told) -> Usage:
        """What was spent; the agent itself knows no more than we do of answers that it did not hear to their end."""
        tokens, cost = total(exchanges), dollars(exchanges, self._budget.price)
        if cost is None and all(each.answered for each in exchanges if each.begun):
            cost = told.cost_usd
        return Usage(tokens.input, tokens.output, cost)

    @property
    def _ways(self) -> dict[str, str]:
        return {MODEL_VARIABLE: _GATEWAY} | ({PROXY_NAMES: f"{EGRESS_DIR}/{EGRESS_SOCKET}"} if self._egress else {})

    def _job(self, prompt: str, environment: Mapping[str, str]) -> bytes:
        cli = self._cli
        given = {"FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX, **environment, **cli.environment}
        if self._egress and self._ca_bundle:
            names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
            given |= dict.fromkeys(names, CERTIFICATES)
        job = {
            "gateway": _GATEWAY,
            "files": dict(cli.files),
            "environment": given,
            "argv": [prompt if word == PROMPT_WORD else word for word in cli.argv],
            "stdin": "" if PROMPT_WORD in cli.argv else prompt,
        }
        return json.dumps(job).encode()


def _left(container: Container, path: str) -> str:
    """A text that a program has left in its sandbox; "" where there is none, or one that is too long to be read."""
    try:
        return container.read_file(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except ContainerError as error:
        if error.exit_code != ContainerError.exit_code:
            raise
        return ""


def last_line(text: str) -> str:
    """The last thing that an agent printed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or ["it said nothing"])[-1][-300:]
