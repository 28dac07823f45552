"""A coding agent of the command line, at work in a sandbox: two scripts come out of it, and nothing else."""

from collections.abc import Mapping
from importlib.resources import files
from string import Template

from datasmith.agents.attempts import EDITABLE
from datasmith.agents.coding.budget import Budget
from datasmith.agents.coding.dialects import as_utf8
from datasmith.agents.coding.work import CodingCli, Terms, Turn, Workplace, last_line
from datasmith.agents.scripting import Brief, Written
from datasmith.docker.context import DockerContext
from datasmith.docker.engine import Container, ContainerEngine
from datasmith.errors import ContainerError, EngineUnavailable, ModelUnavailable

PLACE = "/workspace/synthesis"
"""Where the agent works: the two scripts, and what failed before."""
MOST_SCRIPT = 64_000
"""Bytes of a script that are read back; nobody writes more by hand."""
MOST_CONTEXT = 20_000
MOST_FAILURE = 12_000
LOG_TAIL = 20_000


class SandboxedWriter:
    """ScriptWriter that lets a program work in a sandbox of `engine`; see `Workplace` for its way out."""

    def __init__(self, cli: CodingCli, engine: ContainerEngine, terms: Terms, budget: Budget) -> None:
        self._cli = cli
        self._engine = engine
        self._terms = terms
        self._budget = budget

    @property
    def name(self) -> str:
        """See ScriptWriter."""
        return self._cli.name

    def write(self, brief: Brief) -> Written:
        """See ScriptWriter; a turn that ran out of time or budget hands in what is there."""
        terms = self._terms
        workplace = Workplace(self._cli, self._budget, index=terms.index, ca_bundle=terms.ca_bundle)
        with (
            workplace,
            self._engine.start(
                brief.image, limits=terms.limits, mounts=workplace.mounts, writable_env=True
            ) as container,
        ):
            _lay_out(container, brief)
            turn = workplace.work(
                container,
                _prompt(brief),
                timeout_s=terms.timeout_s,
                cwd=PLACE,
                environment={**brief.plan.build_args, **terms.environment},
            )
            scripts = {name: _read_back(container, name) for name in EDITABLE}
        broke = self._broke(turn, scripts, brief)
        kept = {name: text for name, text in scripts.items() if text is not None}
        return Written(kept, self._cli.model, turn.usage.cost_usd, turn.log[-LOG_TAIL:], broke)

    def _broke(self, turn: Turn, scripts: Mapping[str, str | None], brief: Brief) -> str:
        """Tell an agent that broke down from one that had no idea, for which this is empty.

        Raises:
            ModelUnavailable: its model could not be asked.
        """
        texts = brief.plan.context.texts
        if any(text not in {None, texts[name]} for name, text in scripts.items()):
            return ""
        if turn.outage:
            raise ModelUnavailable(f"{self.name} at {self._cli.upstream.place}: {turn.outage}")
        if turn.done.ok or turn.done.timed_out or turn.stopped_by:
            return ""
        if not turn.requests:
            raise ModelUnavailable(f"{self.name} did not reach its model: {last_line(turn.log)}")
        return f"{self.name} ended with exit code {turn.done.rc} and wrote nothing"


def _lay_out(container: Container, brief: Brief) -> None:
    for name in EDITABLE:
        container.write_file(f"{PLACE}/{name}", brief.plan.context.texts[name].encode(), mode=0o755)
    for number, text in enumerate(brief.failures, 1):
        data = text[-MOST_FAILURE:].encode("utf-8", "replace")
        container.write_file(f"{PLACE}/failures/{number:02}.log", data)


def _prompt(brief: Brief) -> str:
    template = files("datasmith.agents").joinpath("prompts", "build_scripts.md").read_text(encoding="utf-8")
    said = as_utf8(brief.pr_context)[:MOST_CONTEXT].replace("\0", "")
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
