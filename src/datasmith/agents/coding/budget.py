"""What an agent may ask its model: so many questions, for so much money, and nothing that reaches the network."""

import json
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from datasmith.agents.coding.dialects import (
    CHAT,
    Json,
    Reply,
    Said,
    Tokens,
    answers_asked,
    dialect_of,
    fault_in,
    most_output,
    read_answer,
    refused_in,
)
from datasmith.agents.coding.prices import Price, Prices, price_of
from datasmith.agents.coding.questions import reaching_out
from datasmith.agents.coding.trajectory import Exchange

FIXED = frozenset({"model", "messages", "input", "contents", "tools", "stream"})
"""What model_kwargs must not say: it is the agent's."""
MOST_OUTPUT = 128_000
"""Output tokens of one answer that nobody has bound otherwise: models that coding agents ask write no more at once."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much an agent may spend; None is without bound. `fallback` prices models that the table does not name.

    `keeps_dollars`: the agent knows its prices and stops at max_cost_usd by itself.
    """

    max_steps: int | None = None
    max_cost_usd: float | None = None
    prices: Prices = field(default_factory=dict)
    fallback: Price | None = None
    keeps_dollars: bool = False

    def price(self, model: str) -> Price | None:
        """What an answer of a model costs; None where nobody says."""
        return price_of(self.prices, model) or self.fallback

    def most(self, model: str, path: str, question: Json) -> float:
        """Dollars that the answer to a question can cost at most: without bound where nobody knows its price.

        0 where no dollars are counted, or the agent counts those that nobody knows here.
        """
        if self.max_cost_usd is None:
            return 0.0
        price = self.price(model)
        cost = price.of(at_most(Tokens(), path, question)) if price else None
        if cost is None:
            return 0.0 if self.keeps_dollars else math.inf
        return cost


class Ledger:
    """Which requests passed, what they brought and cost, and what stopped the agent. Used by several threads.

    A step is one request that its model answered, began to, or is about to. The budget of dollars is looked at before
    each request: the one that exceeds it is the last, and so is one of a model without a price. So is it where several
    are under way at once, as each keeps back the `most` that it can cost until its end: one that the rest cannot bear
    waits until it can, or until nothing else is under way. Tokens that an answer does not tell count as `at_most` says.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._exchanges: list[Exchange] = []
        self._asked = 0
        self._ended = threading.Condition(self._lock)
        self._kept_back: list[float] = []
        """Dollars, one entry for each question that is under way."""
        self._over = False
        self._spent = 0.0
        self.stopped_by: str | None = None
        self.stopped = threading.Event()
        """Set once `stopped_by` is."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that came to an end, in the order in which they did."""
        with self._lock:
            return tuple(self._exchanges)

    def admit(self, body: Json, most: float = math.inf) -> str:
        """Why a question must not be asked, or an empty text; what may be asked counts from now on.

        Waits while others are under way and the dollars cannot bear `most` besides (see `Budget.most`).
        """
        out = reaching_out(body)
        if out:
            return out
        with self._ended:
            self._ended.wait_for(lambda: self._refusal() or self._bears(most))
            refusal = self._refusal()
            if not refusal:
                self._asked += 1
                self._kept_back.append(most)
            return refusal

    def _refusal(self) -> str:
        """Why nothing may be asked any more, or an empty text."""
        if self._over:
            return "the work is over"
        budget = self.budget
        if self.stopped_by is None and budget.max_steps is not None and self._asked >= budget.max_steps:
            self._stop(f"max_steps={budget.max_steps}")
        if self.stopped_by is None and budget.max_cost_usd is not None and self._spent >= budget.max_cost_usd:
            self._stop(f"max_cost_usd={budget.max_cost_usd:g}")
        return f"the budget is spent: {self.stopped_by}" if self.stopped_by else ""

    def _bears(self, most: float) -> bool:
        limit = self.budget.max_cost_usd
        return limit is None or not self._kept_back or self._spent + sum(self._kept_back) + most <= limit

    def settle(self, timeout_s: float) -> bool:
        """Wait until every question that was admitted has come to its end; False where one has not by then.

        The work is over: nothing is admitted any more, so that what is told of it stays true. Who waits is refused.
        """
        with self._ended:
            self._over = True
            self._ended.notify_all()
            return self._ended.wait_for(lambda: not self._kept_back, timeout_s)

    def _end(self, exchange: Exchange, most: float) -> None:
        self._exchanges.append(exchange)
        self._kept_back.remove(most)
        self._ended.notify_all()

    def _stop(self, reason: str) -> None:
        self.stopped_by = reason
        self.stopped.set()

    def failed(self, model: str, status: int | None, trouble: str, *, most: float = math.inf) -> None:
        """A question that was admitted got no answer, not even a beginning of one: it is no step and costs nothing.

        `most` is what it was admitted with.
        """
        with self._lock:
            self._asked -= 1
            self._end(Exchange(model, status, trouble), most)

    def answered(
        self,
        path: str,
        question: Json,
        model: str,
        status: int,
        answer: bytes,
        *,
        trouble: str = "",
        most: float = math.inf,
    ) -> None:
        """A question that was admitted got this answer, or as much of it as came before `trouble`.

        `most` is what it was admitted with.
        """
        dialect = dialect_of(path)
        events = read_answer(answer)
        reply = dialect.reply(events) if dialect else Reply()
        trouble = trouble or fault_in(events)
        with self._lock:
            results: list[Said] = []
            for key, result in dialect.results(question) if dialect else ():
                if key not in self._seen:
                    self._seen.add(key)
                    results.append(result)
            self._pay(model, at_most(reply.tokens, path, question))
            self._end(Exchange(model, status, trouble, tuple(results), reply, refused_in(events)), most)

    def _pay(self, model: str, tokens: Tokens) -> None:
        price = self.budget.price(model)
        cost = price.of(tokens) if price else None
        self._spent += cost or 0.0
        limit = self.budget.max_cost_usd
        if cost is None and limit is not None and not self.budget.keeps_dollars and self.stopped_by is None:
            self._stop(f"max_cost_usd={limit:g} (nobody knows what an answer of {model or 'the model'} cost)")


def at_most(tokens: Tokens, path: str, question: Json) -> Tokens:
    """The tokens that an answer takes at most, where it broke off before it had told them, never tells, or is to come.

    No token of a question is shorter than a byte, and no answer is longer than its question lets it be.
    """
    read = len(json.dumps(question)) if tokens.input is None else tokens.input
    bound = most_output(path, question)
    most = answers_asked(path, question) * (MOST_OUTPUT if bound is None else min(bound, MOST_OUTPUT))
    return replace(tokens, input=read, output=most if tokens.output is None else tokens.output)


def told_to_count(path: str, question: Json) -> Json:
    """A question whose answer tells its tokens: a stream of chat completions does so only where it is asked to."""
    if question.get("stream") and dialect_of(path) is CHAT:
        return laid_over(question, {"stream_options": {"include_usage": True}})
    return question


def laid_over(body: Json, more: Mapping[str, JsonValue]) -> Json:
    """A question with more parameters; objects are merged, anything else is replaced."""
    merged = dict(body)
    for name, value in more.items():
        old = merged.get(name)
        merged[name] = laid_over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
