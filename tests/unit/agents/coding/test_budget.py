"""Dollars where several questions are under way at once."""

import math
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.dialects import Json
from datasmith.agents.coding.gateway import Gateway, Upstream
from datasmith.agents.coding.prices import Price
from tests.unit.agents.coding.asking import ask, gateway

PRICE = Price(input=0.0, output=10.0)
EACH = 0.4
"""Dollars that a question can cost at most, and its answer does."""
ANSWER = b'{"object": "response", "output": [], "usage": {"input_tokens": 1, "output_tokens": 40000}}'


def ended(ledger: Ledger, most: float = EACH, model: str = "gpt") -> None:
    """The answer to a question that was admitted."""
    ledger.answered("/responses", {}, model, 200, ANSWER, most=most)


@contextmanager
def others(ledger: Ledger) -> Iterator[ThreadPoolExecutor]:
    """Threads that ask; who still waits at the end is refused."""
    with ThreadPoolExecutor(20) as pool:
        try:
            yield pool
        finally:
            ledger.settle(0)


def waits(refusal: "Future[str]") -> bool:
    """Whether a question is neither admitted nor refused in a moment that is long for either."""
    try:
        refusal.result(0.1)
    except TimeoutError:
        return True
    return False


def test_no_more_is_under_way_than_the_dollars_bear() -> None:
    """Two of three; the third waits until it is alone, may then exceed the budget, and is the last."""
    ledger = Ledger(Budget(max_cost_usd=1, fallback=PRICE))
    with others(ledger) as pool:
        assert ledger.admit({}, EACH) == ledger.admit({}, EACH) == ""
        third = pool.submit(ledger.admit, {}, EACH)
        assert waits(third)
        ended(ledger)
        assert waits(third), "what was spent is gone, what is under way is kept back"
        ended(ledger)
        assert third.result(20) == ""
        fourth = pool.submit(ledger.admit, {}, EACH)
        assert waits(fourth)
        ended(ledger)
        assert fourth.result(20) == "the budget is spent: max_cost_usd=1" and ledger.stopped.is_set()


def test_twenty_at_once_exceed_the_budget_by_one_at_most() -> None:
    """However they come; those that the budget does not bear any more are refused like any after its end."""
    ledger = Ledger(Budget(max_cost_usd=1, fallback=PRICE))

    def asked(_number: int) -> bool:
        refusal = ledger.admit({}, EACH)
        if not refusal:
            time.sleep(0.05)
            ended(ledger)
        return not refusal

    with others(ledger) as pool:
        assert sum(pool.map(asked, range(20))) == 3, "1.2 dollars"
    assert ledger.stopped_by == "max_cost_usd=1" and len(ledger.exchanges) == 3


def test_what_failed_is_given_back() -> None:
    """It cost nothing."""
    ledger = Ledger(Budget(max_cost_usd=1, fallback=PRICE))
    with others(ledger) as pool:
        assert ledger.admit({}, 0.9) == ""
        second = pool.submit(ledger.admit, {}, 0.9)
        assert waits(second)
        ledger.failed("gpt", 500, "", most=0.9)
        assert second.result(20) == ""
    ended(ledger, 0.9)


def test_who_waits_is_refused_when_the_work_is_over() -> None:
    """Nobody would hear the answer."""
    ledger = Ledger(Budget(max_cost_usd=1, fallback=PRICE))
    with others(ledger) as pool:
        assert ledger.admit({}, 2 * EACH) == ""
        second = pool.submit(ledger.admit, {}, EACH)
        assert waits(second)
        assert not ledger.settle(0)
        assert second.result(20) == "the work is over"
    ended(ledger, 2 * EACH)
    assert ledger.settle(0)


def test_who_waits_is_not_asked_when_the_gateway_has_closed() -> None:
    """However the work ended: the answer would be paid for and heard by nobody."""
    upstream = Upstream("http://127.0.0.1:9", "Authorization", "key")
    ledger = Ledger(Budget(max_cost_usd=1, fallback=PRICE))
    with others(ledger) as pool:
        with Gateway(upstream, ledger):
            assert ledger.admit({}, 2 * EACH) == ""
            second = pool.submit(ledger.admit, {}, EACH)
            assert waits(second)
        assert second.result(5) == "the work is over"


def test_a_question_without_a_price_is_asked_alone() -> None:
    """Its answer is the last: nobody knows what it cost."""
    ledger = Ledger(Budget(max_cost_usd=1))
    with others(ledger) as pool:
        assert ledger.admit({}, math.inf) == ""
        second = pool.submit(ledger.admit, {}, math.inf)
        assert waits(second)
        ended(ledger, math.inf)
        assert "nobody knows" in second.result(20)


@pytest.mark.parametrize(
    ("budget", "question", "most"),
    [
        (Budget(fallback=PRICE), {}, 0.0),
        (Budget(max_cost_usd=1, fallback=PRICE), {}, 1.28),
        (Budget(max_cost_usd=1, fallback=PRICE), {"max_output_tokens": 1000}, 0.01),
        (Budget(max_cost_usd=1, fallback=Price(input=1.0, output=0.0)), {"input": "x" * 87}, 1e-4),
        (Budget(max_cost_usd=1, prices={"other": PRICE}), {}, math.inf),
        (Budget(max_cost_usd=1, keeps_dollars=True), {}, 0.0),
    ],
    ids=["no limit", "no bound", "bound", "bytes", "no price", "kept by the agent"],
)
def test_the_most_that_a_question_can_cost(budget: Budget, question: Json, most: float) -> None:
    """As many tokens as its answer may have, and one for each byte of it."""
    assert budget.most("gpt", "/v1/responses", question) == pytest.approx(most)


@pytest.mark.parametrize(
    ("path", "question"),
    [
        ("/v1/chat/completions", {"max_tokens": 1000, "n": 4}),
        ("/v1beta/models/gpt:generateContent", {"generationConfig": {"maxOutputTokens": 1000, "candidateCount": 4}}),
    ],
)
def test_several_answers_to_one_question_cost_as_much_each(path: str, question: Json) -> None:
    """What it can cost at most holds them all."""
    budget = Budget(max_cost_usd=1, fallback=Price(input=0.0, output=10.0))
    assert budget.most("gpt", path, question) == pytest.approx(0.04)


def answer_one_alone(listener: socket.socket) -> None:
    """Be the model for one question, beside which no other comes for a moment."""
    listener.settimeout(20)
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        listener.settimeout(0.3)
        with pytest.raises(TimeoutError):
            listener.accept()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))


def test_the_gateway_asks_no_more_at_once_than_the_budget_bears() -> None:
    """The model sees the second question when the first is answered; what the run's own parameters bind counts."""
    listener = socket.create_server(("127.0.0.1", 0))
    found: list[int] = []
    budget = Budget(max_cost_usd=0.7, fallback=PRICE)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, gateway(url, budget, max_output_tokens=40_000) as to:
        asking = [threading.Thread(target=lambda: found.append(ask(to)[0]), daemon=True) for _ in range(4)]
        for each in asking:
            each.start()
        for _ in range(2):
            answer_one_alone(listener)
        for each in asking:
            each.join(20)
    assert sorted(found) == [200, 200, 403, 403]
