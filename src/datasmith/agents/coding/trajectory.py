"""What an agent did, step by step: one form for all agents, made of what passed between it and its model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from datasmith.agents.coding.dialects import Kind, Reply, Said, Tokens
from datasmith.agents.coding.prices import PriceOf
from datasmith.tasks.quantities import Count, Dollars

MOST_STEPS = 5_000
"""Steps kept of one trial: the first of them."""


class TrajectoryStep(BaseModel):
    """One message, tool call or tool result.

    `request` counts the requests to the model from 1: a tool result came with it, the others were its answer. Tokens
    and dollars are those of the whole request and stand at the first step of its answer; None is unknown, or told
    there. `cut` says that the text went on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    request: int
    kind: Kind
    text: str
    tool: str | None = None
    cut: bool = False
    model: str | None = None
    input_tokens: Count | None = None
    cached_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Dollars | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a model and what came back: its HTTP status, or None and what was in the way.

    `results` are those of tools that no earlier request had brought. `refused` says that the question caused the
    trouble, though the status does not.
    """

    model: str
    status: int | None
    trouble: str = ""
    results: tuple[Said, ...] = ()
    reply: Reply = field(default_factory=Reply)
    refused: bool = False

    @property
    def begun(self) -> bool:
        """The model began to answer: that is a step and costs something, whether the answer came to its end or not."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def answered(self) -> bool:
        """The model has said something, to its end."""
        return self.begun and not self.trouble


def steps_of(
    exchanges: Sequence[Exchange], price_of: PriceOf, clean: Callable[[str], str]
) -> tuple[TrajectoryStep, ...]:
    """The steps in their order; `clean` takes secrets out of a text."""
    found: list[TrajectoryStep] = []

    def add(said: Said, number: int, tokens: Tokens | None, model: str) -> None:
        price = price_of(model) if tokens else None
        step = TrajectoryStep(
            index=len(found),
            request=number,
            kind=said.kind,
            text=clean(said.text),
            tool=said.tool,
            cut=said.cut,
            model=model if said.kind != "tool_result" else None,
            input_tokens=tokens.input if tokens else None,
            cached_tokens=tokens.cached if tokens else None,
            output_tokens=tokens.output if tokens else None,
            cost_usd=price.of(tokens) if price and tokens else None,
        )
        found.append(step)

    for number, exchange in enumerate((each for each in exchanges if each.begun), 1):
        for result in exchange.results:
            add(result, number, None, exchange.model)
        # An answer without words (a refusal, say) has been paid for as well.
        answer = exchange.reply.said or (Said("message", ""),)
        for at, said in enumerate(answer):
            add(said, number, None if at else exchange.reply.tokens, exchange.model)
        if len(found) >= MOST_STEPS:
            break
    return tuple(found[:MOST_STEPS])


def total(exchanges: Sequence[Exchange]) -> Tokens:
    """The tokens of all answers; None where one of them did not tell, or not to its end."""
    each = [exchange.reply.tokens for exchange in exchanges if exchange.begun]
    return Tokens(
        _all([tokens.input for tokens in each]),
        _all([tokens.output for tokens in each]),
        _all([tokens.cached for tokens in each]),
        _all([tokens.written for tokens in each]),
    )


def dollars(exchanges: Sequence[Exchange], price_of: PriceOf) -> float | None:
    """What all answers cost; None where the price of one is not known, or an answer does not tell its tokens."""
    found: list[float] = []
    for exchange in exchanges:
        if exchange.begun:
            price = price_of(exchange.model)
            cost = price.of(exchange.reply.tokens) if price else None
            if cost is None:
                return None
            found.append(cost)
    return sum(found) if found else None


def outage(exchanges: Sequence[Exchange]) -> str | None:
    """What was wrong with the model, where its silence and not the agent ended the work; None where nothing was.

    A model that never answered has said nothing, whatever it gave as a reason; one that did was lost where it gave no
    answer in the end: overloaded (429), broken (5xx) or out of reach. One that refused what it was asked was there.
    """
    if not exchanges or exchanges[-1].answered:
        return None
    last = exchanges[-1]
    lost = last.status is None or last.status == 429 or last.status >= 500 or bool(last.trouble)
    lost = lost and not last.refused
    if not lost and any(exchange.answered for exchange in exchanges):
        return None
    failed = sum(not exchange.answered for exchange in exchanges)
    what = last.trouble or f"HTTP status {last.status}"
    return f"{failed} of {len(exchanges)} requests to the model failed, the last of them with: {what}"


def _all(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
