"""Steps, sums, dollars and outages, out of what passed between an agent and its model."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.agents.coding.budget import Budget, Ledger, laid_over
from datasmith.agents.coding.dialects import Json, Reply, Said, Tokens
from datasmith.agents.coding.prices import Price, price_of, read_prices
from datasmith.agents.coding.trajectory import Exchange, dollars, outage, steps_of, total
from datasmith.errors import ConfigError

PRICES = {"gpt": Price(input=1.0, output=10.0, cached=0.1)}
CALL = Said("tool_call", "{}", "shell")


def answered(*said: Said, results: Sequence[Said] = (), tokens: Tokens | None = None, model: str = "gpt") -> Exchange:
    return Exchange(model, 200, "", tuple(results), Reply(said, tokens or Tokens(1_000_000, 100_000)))


def test_steps_stand_in_their_order_and_are_paid_once() -> None:
    """A request's tokens stand at the first step of its answer; a failed request is no step."""
    found = steps_of(
        [
            answered(Said("message", "key k"), CALL),
            Exchange("gpt", 500),
            answered(results=[Said("tool_result", "ok")], tokens=Tokens(None, 3)),
        ],
        Budget(prices=PRICES).price,
        lambda text: text.replace("key k", "***"),
    )
    assert [(step.index, step.request, step.kind, step.text) for step in found] == [
        (0, 1, "message", "***"), (1, 1, "tool_call", "{}"), (2, 2, "tool_result", "ok"), (3, 2, "message", ""),
    ]  # fmt: skip
    assert [step.input_tokens for step in found] == [1_000_000, None, None, None]
    assert [step.cost_usd for step in found] == [2.0, None, None, None] and found[3].output_tokens == 3


def test_what_one_answer_does_not_tell_nobody_knows() -> None:
    """Sums over known counts alone would be too small; a model without a price makes the cost unknown."""
    known = answered(CALL)
    assert total([known, known, Exchange("gpt", 500)]) == Tokens(2_000_000, 200_000)
    assert total([known, answered(CALL, tokens=Tokens(None, 1))]) == Tokens(None, 100_001)
    assert total([]) == Tokens()
    broken = Exchange("gpt", 200, "the answer broke off", reply=Reply(tokens=Tokens(600_000, None)))
    assert total([known, broken]) == Tokens(1_600_000, None)
    assert total([known, Exchange("gpt", 200, "the answer broke off")]) == Tokens()
    of_the_table = Budget(prices=PRICES).price
    assert dollars([known, known], of_the_table) == 4.0 and dollars([known], Budget().price) is None
    assert dollars([known, answered(CALL, model="other")], of_the_table) is None
    assert dollars([known, broken], of_the_table) is None


def test_an_answer_costs_what_the_limit_counted() -> None:
    """A model that calls itself otherwise than it was asked for has the price of the one that was."""
    fallback = Budget(prices=PRICES, fallback=Price(input=2.0, output=20.0)).price
    dated = answered(CALL, model="gpt-2025-08-07")
    assert dollars([answered(CALL), dated], fallback) == 2.0 + 4.0
    assert [step.cost_usd for step in steps_of([dated], fallback, str)] == [4.0]


def test_prices_tell_cached_tokens_from_others() -> None:
    """Dollars for a million; names are found with and without their provider."""
    assert PRICES["gpt"].of(Tokens(1_000_000, 0, 500_000)) == pytest.approx(0.5 + 0.05)
    assert PRICES["gpt"].of(Tokens(None, 5)) is None
    assert price_of(PRICES, "openai/gpt") == PRICES["gpt"] and price_of(PRICES, "gpt-2") is None


@pytest.mark.parametrize("text", ["[]", '{"m": {"input": -1, "output": 1}}', '{"m": {"in": 1}}', "{", None])
def test_a_price_table_that_cannot_be_read_is_named(text: str | None, tmp_path: Path) -> None:
    """In one line, with the setting and an example."""
    path = tmp_path / "prices.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=r"FC_PRICES=.*prices\.json.*example: ") as caught:
        read_prices(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("statuses", "out"),
    [
        ([], False), ([200], False), ([200, 429], True), ([200, 503], True), ([200, None], True), ([200, 400], False),
        ([500, 200], False), ([401], True), ([404, 404], True), ([200, 500, 403], False), ([None], True),
    ],
)  # fmt: skip
def test_an_outage_is_what_the_end_was_like(statuses: list[int | None], out: bool) -> None:
    """Never answered, or lost in the end; a model that answered after trouble was there, one that refused as well."""
    exchanges = [answered(CALL) if status == 200 else Exchange("gpt", status) for status in statuses]
    assert (outage(exchanges) is not None) == out


def test_an_answer_that_broke_off_is_an_outage() -> None:
    """Whatever status it began with."""
    assert "broke off" in (outage([answered(CALL), Exchange("gpt", 200, "the answer broke off")]) or "")


@pytest.mark.parametrize(
    ("path", "event", "out"),
    [
        ("/responses", {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}}, False),
        ("/responses", {"type": "response.failed", "response": {"error": {"code": "server_error"}}}, True),
        ("/responses", {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}}, True),
        ("/responses", {"type": "error", "code": "invalid_prompt", "message": "m"}, False),
        ("/responses", {"type": "response.failed"}, True),
        ("/messages", {"type": "error", "error": {"type": "invalid_request_error"}}, False),
        ("/messages", {"type": "error", "error": {"type": "overloaded_error"}}, True),
        ("/chat/completions", {"error": {"type": "invalid_request_error", "code": "content_filter"}}, False),
        ("/chat/completions", {"error": {"code": 400, "message": "m"}}, False),
        ("/chat/completions", {"error": {"type": "invalid_request_error", "code": "429"}}, True),
        ("/chat/completions", {"error": {"code": 408}}, True), ("/chat/completions", {"error": {"code": 502}}, True),
        ("/chat/completions", {"error": "context_length_exceeded was not said by its code"}, True),
        ("/models/gpt:generateContent", {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}, False),
        ("/models/gpt:generateContent", {"error": {"code": 503, "status": "UNAVAILABLE"}}, True),
    ],
)  # fmt: skip
def test_what_the_question_caused_is_no_outage(path: str, event: Json, out: bool) -> None:
    """As HTTP 400 is none of a model that had answered; one that never did has said nothing, here as there."""
    said = b"data: " + json.dumps(event).encode() + b"\n\n"
    for before in (0, 1):
        ledger = Ledger(Budget())
        for answer in [ANSWER] * before + [said]:
            assert not ledger.admit({})
            ledger.answered(path if answer is said else "/responses", {}, "gpt", 200, answer)
        assert not ledger.exchanges[-1].answered and ledger.exchanges[-1].trouble
        assert (outage(ledger.exchanges) is not None) == (out or not before)


ANSWER = b'{"object": "response", "output": [], "usage": {"input_tokens": 1000000, "output_tokens": 0}}'


BROKEN = b'data: {"type": "message_start", "message": {"usage": {"input_tokens": 600000, "output_tokens": 1}}}\n\n'
FAULT = BROKEN + b'data: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'


@pytest.mark.parametrize(("answer", "trouble"), [(BROKEN, "the answer broke off"), (FAULT, "")])
def test_an_answer_that_broke_off_was_begun(answer: bytes, trouble: str) -> None:
    """It is a step, what was heard of it stays, and what it took in the end nobody knows: it is billed."""
    ledger = Ledger(Budget(max_steps=2, prices=PRICES))
    for _ in range(2):
        assert not ledger.admit({})
        ledger.answered("/messages", {}, "gpt", 200, answer, trouble=trouble)
    assert "max_steps=2" in ledger.admit({})
    exchanges = ledger.exchanges
    assert total(exchanges) == Tokens(1_200_000, None) and dollars(exchanges, Budget(prices=PRICES).price) is None
    steps = steps_of(exchanges, Budget(prices=PRICES).price, str)
    assert [(step.request, step.input_tokens, step.cost_usd) for step in steps] == [
        (1, 600_000, None),
        (2, 600_000, None),
    ]
    assert outage(exchanges) and not any(exchange.answered for exchange in exchanges)


QUESTION: Json = {"model": "gpt", "max_tokens": 40_000}
SHORT = len(json.dumps(QUESTION)) / 1_000_000


@pytest.mark.parametrize(
    ("path", "more", "heard", "dollars_each"),
    [
        ("/messages", {}, BROKEN, 1.0), ("/messages", {}, b"", 0.4 + SHORT), ("/responses", {}, BROKEN, 1.28 + SHORT),
        ("/responses", {"generationConfig": {"max_output_tokens": 1}}, BROKEN, 1.28),
        ("/messages", {"max_tokens": 10**400}, BROKEN, 1.88), ("/messages", {"max_tokens": -1}, BROKEN, 1.88),
        ("/responses", {"max_output_tokens": 10_000}, b"", 0.1 + SHORT),
        ("/chat/completions", {"max_completion_tokens": 50_000}, b"", 0.5 + SHORT),
        ("/models/gpt:generateContent", {"generationConfig": {"maxOutputTokens": 20_000}}, b"", 0.2 + SHORT),
    ],
)  # fmt: skip
def test_an_answer_that_broke_off_is_charged_with_its_most(
    path: str, more: Json, heard: bytes, dollars_each: float
) -> None:
    """What was heard of the input, else the question's bytes; and the output that it allows: the rest can be asked."""
    for limit, refused in ((dollars_each * 0.99, True), (dollars_each * 1.01 + 0.0001, False)):
        ledger = Ledger(Budget(max_cost_usd=limit, prices=PRICES))
        assert not ledger.admit({})
        ledger.answered(path, QUESTION | more, "gpt", 200, heard, trouble="the answer broke off")
        assert not ledger.stopped.is_set() and bool(ledger.admit({})) == refused
        assert ledger.stopped_by == (f"max_cost_usd={limit:g}" if refused else None)
        assert dollars(ledger.exchanges, Budget(prices=PRICES).price) is None, "the bound is no cost"


def test_a_fault_that_tells_what_it_took_costs_that() -> None:
    """And no more."""
    failed = b'data: {"type": "response.failed", "response": {"error": "e", "usage": '
    failed += b'{"input_tokens": 1000000, "output_tokens": 0}}}\n\n'
    ledger = Ledger(Budget(max_cost_usd=2, prices=PRICES))
    for _ in range(2):
        assert not ledger.admit({})
        ledger.answered("/responses", {}, "gpt", 200, failed)
    assert ledger.admit({}) and ledger.stopped_by == "max_cost_usd=2"


@given(limit=st.integers(1, 5), failing=st.lists(st.booleans(), max_size=12))
def test_no_more_than_max_steps_are_answered(limit: int, failing: list[bool]) -> None:
    """However many of the requests fail; those do not count."""
    ledger = Ledger(Budget(max_steps=limit))
    for fails in [*failing, *[False] * limit, False]:
        if ledger.admit({}):
            break
        if fails:
            ledger.failed("gpt", 500, "")
        else:
            ledger.answered("/responses", {}, "gpt", 200, ANSWER)
    assert sum(exchange.answered for exchange in ledger.exchanges) == limit
    assert ledger.stopped.is_set() and ledger.stopped_by == f"max_steps={limit}" and ledger.admit({})


def test_the_request_that_exceeds_the_dollars_is_the_last() -> None:
    """By the table, or where it does not know the model by the price of the one that was asked for."""
    for model, fallback in (("gpt", None), ("other", PRICES["gpt"])):
        ledger = Ledger(Budget(max_cost_usd=1.5, prices=PRICES, fallback=fallback))
        for _ in range(2):
            assert not ledger.admit({})
            ledger.answered("/responses", {}, model, 200, ANSWER)
        assert "max_cost_usd=1.5" in ledger.admit({}) and ledger.stopped.is_set()


def test_an_answer_of_a_model_without_a_price_is_the_last() -> None:
    """Unknown is no zero. An agent that keeps its dollars goes on."""
    for keeps in (False, True):
        ledger = Ledger(Budget(max_cost_usd=1.5, keeps_dollars=keeps))
        assert not ledger.admit({})
        ledger.answered("/responses", {}, "gpt", 200, ANSWER)
        assert bool(ledger.admit({})) != keeps
        assert keeps or "max_cost_usd=1.5 (nobody knows what an answer of gpt cost)" in (ledger.stopped_by or "")


def test_nothing_is_asked_when_the_work_is_over() -> None:
    """A question that was on its way then would be missing in what is told of the work."""
    ledger = Ledger(Budget())
    assert not ledger.admit({}) and not ledger.settle(0)
    ledger.failed("gpt", 500, "")
    assert ledger.settle(0) and ledger.admit({}) == "the work is over" and len(ledger.exchanges) == 1


def test_a_result_is_told_once() -> None:
    """Each question repeats what was said before it."""
    ledger = Ledger(Budget())
    items: list[Json] = [{"type": "function_call_output", "call_id": "a", "output": "same"}]
    for body in ({"input": items}, {"input": [*items, {**items[0], "call_id": "b"}]}):
        assert not ledger.admit(body)  # type: ignore[arg-type]
        ledger.answered("/responses", body, "gpt", 200, ANSWER)  # type: ignore[arg-type]
    assert [len(exchange.results) for exchange in ledger.exchanges] == [1, 1]


def test_more_parameters_are_merged() -> None:
    """Objects are; anything else is replaced."""
    assert laid_over({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "d": {}}) == {"a": {"b": 1, "c": 4}, "d": {}}
