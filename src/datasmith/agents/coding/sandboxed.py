"""A coding agent of the command line, at work in a sandbox: two scripts come out of it, and nothing else."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template

from datasmith.agents.attempts import EDITABLE
from datasmith.agents.coding.base import Usage
from datasmith.agents.coding.inside.launch import NO_WAY_OUT
from datasmith.agents.scripting import Brief, Written
from datasmith.docker.context import DockerContext
from datasmith.docker.egress import SOCKET, Destination, Egress
from datasmith.docker.engine import ENV_PREFIX, WORKDIR, Container, ContainerEngine, ExecResult, Limits, Mount
from datasmith.errors import AgentFailed, ContainerError, EngineUnavailable, ModelUnavailable
from datasmith.redact import Redactor

PLACE = "/workspace/synthesis"
"""Where the agent works: the two scripts, and what failed before."""
AGENT_HOME = "/opt/fc/agent"
"""Where its program and our launcher are shown, read-only."""
EGRESS = "/opt/fc/egress"
CERTIFICATES = f"{AGENT_HOME}/ca.pem"
MOST_SCRIPT = 64_000
"""Bytes of a script that are read back; nobody writes more by hand."""
MOST_CONTEXT = 20_000
MOST_FAILURE = 12_000
LOG_TAIL = 20_000


@dataclass(frozen=True, slots=True)
class CodingCli:
    """One program that edits files as a model says: how it is called without a terminal, and what it prints.

    `environment` holds the model's key, and no other secret; `files` are laid out by path before it starts; `prompt`
    of `argv` stands for the prompt, which otherwise comes on standard input. `read_usage` reads its output.
    """

    name: str
    model: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    endpoint: Destination
    key: str = field(repr=False)
    mounts: tuple[Mount, ...]
    read_usage: Callable[[str], Usage]
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    prompt_word: str = ""


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


class SandboxedWriter:
    """ScriptWriter that lets a program work in a sandbox of `engine`; see `datasmith.docker.egress` for its network."""

    def __init__(self, cli: CodingCli, engine: ContainerEngine, terms: Terms) -> None:
        self._cli = cli
        self._engine = engine
        self._terms = terms

    @property
    def name(self) -> str:
        """See ScriptWriter."""
        return self._cli.name

    def write(self, brief: Brief) -> Written:
        """See ScriptWriter; a turn that ran out of time hands in what is there."""
        cli, terms = self._cli, self._terms
        with Egress((cli.endpoint, *terms.index)) as egress:
            trouble = egress.trouble(cli.endpoint)
            if trouble:
                raise ModelUnavailable(f"the model of {self.name} at {cli.endpoint} cannot be reached: {trouble}")
            mounts = (*cli.mounts, *self._own_mounts(egress.directory))
            with self._engine.start(brief.image, limits=terms.limits, mounts=mounts, writable_env=True) as container:
                _lay_out(container, brief)
                done = container.exec(
                    ["/usr/bin/python3", f"{AGENT_HOME}/launch.py"],
                    timeout=terms.timeout_s,
                    stdin=self._job(brief),
                    cwd=PLACE,
                )
                scripts = {name: _read_back(container, name) for name in EDITABLE}
            log = Redactor((cli.key,))(f"{done.text}\n{done.error_text}".strip())
            self._check(done, scripts, brief, egress, log)
        usage = cli.read_usage(done.text)
        kept = {name: text for name, text in scripts.items() if text is not None}
        return Written(kept, cli.model, usage.cost_usd, log[-LOG_TAIL:])

    def _own_mounts(self, egress: Path) -> tuple[Mount, ...]:
        launcher = Path(__file__).parent / "inside" / "launch.py"
        mounts = (Mount(launcher, f"{AGENT_HOME}/launch.py"), Mount(egress, EGRESS))
        bundle = self._terms.ca_bundle
        return (*mounts, Mount(bundle, CERTIFICATES)) if bundle else mounts

    def _job(self, brief: Brief) -> bytes:
        cli = self._cli
        prompt = _prompt(brief)
        places = {"FC_WORKDIR": WORKDIR, "FC_ENV": ENV_PREFIX}
        environment = {**brief.plan.build_args, **places, **self._terms.environment, **cli.environment}
        if self._terms.ca_bundle:
            names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
            environment |= dict.fromkeys(names, CERTIFICATES)
        job = {
            "socket": f"{EGRESS}/{SOCKET}",
            "files": dict(cli.files),
            "environment": environment,
            "argv": [prompt if cli.prompt_word and word == cli.prompt_word else word for word in cli.argv],
            "stdin": "" if cli.prompt_word else prompt,
        }
        return json.dumps(job).encode()

    def _check(
        self, done: ExecResult, scripts: Mapping[str, str | None], brief: Brief, egress: Egress, log: str
    ) -> None:
        """Tell an agent that could not work from one that had no idea.

        Raises:
            EngineUnavailable, ModelUnavailable, AgentFailed: it could not work.
        """
        if done.rc == NO_WAY_OUT and not egress.passed:
            raise EngineUnavailable(
                f"{self._engine.name} cannot show a socket of this machine in a sandbox, so that a coding agent has no"
                f" way to its model there (use --engine bubblewrap, or --agent none): {log[-200:]}"
            )
        texts = brief.plan.context.texts
        if any(text not in {None, texts[name]} for name, text in scripts.items()):
            return
        endpoint = self._cli.endpoint
        if not done.ok and endpoint not in egress.passed:
            raise ModelUnavailable(f"{self.name} did not reach its model at {endpoint}: {_last_line(log)}")
        if done.ok or done.timed_out:
            return
        raise AgentFailed(f"{self.name} ended with exit code {done.rc} and wrote nothing: {_last_line(log)}")


def _lay_out(container: Container, brief: Brief) -> None:
    for name in EDITABLE:
        container.write_file(f"{PLACE}/{name}", brief.plan.context.texts[name].encode(), mode=0o755)
    for number, text in enumerate(brief.failures, 1):
        data = text[-MOST_FAILURE:].encode("utf-8", "replace")
        container.write_file(f"{PLACE}/failures/{number:02}.log", data)


def _prompt(brief: Brief) -> str:
    template = files("datasmith.agents").joinpath("prompts", "build_scripts.md").read_text(encoding="utf-8")
    said = brief.pr_context.encode("utf-8", "replace").decode()[:MOST_CONTEXT].replace("\0", "")
    more = sorted(set(brief.plan.build_args) - {"FC_INSTALL_DIR", "FC_IMPORT_NAMES"})
    arguments = "".join(f", {name}" for name in more)
    return Template(template).substitute(repository=brief.repository, pr_context=said, arguments=arguments)


def _read_back(container: Container, name: str) -> str | None:
    """A script as it is now; None where it is gone, no regular file, too long, or no text."""
    try:
        data = container.read_file(f"{PLACE}/{name}", max_bytes=MOST_SCRIPT)
        text = data.decode("utf-8")
        DockerContext({name: text})
    except EngineUnavailable:
        raise
    except (FileNotFoundError, ContainerError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text.replace("\r\n", "\n")


def _last_line(text: str) -> str:
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or ["it said nothing"])[-1][-300:]
