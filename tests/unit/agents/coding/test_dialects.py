"""Four APIs in two forms each, streamed and whole: what was said, and the tokens."""

import json

import pytest

from datasmith.agents.coding.dialects import (
    MOST_DEPTH,
    MOST_TEXT,
    Json,
    Said,
    Tokens,
    dialect_of,
    fault_in,
    read_answer,
    read_json,
    said,
)

CALL = Said("tool_call", '{"cmd": "ls"}', "shell")
WORDS = Said("message", "I look.")


def stream(*events: Json) -> bytes:
    return (
        b"".join(b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    )


ANTHROPIC_USAGE: Json = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2}
ANTHROPIC = {
    "whole": json.dumps(
        {
            "type": "message",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "shell", "input": {"cmd": "ls"}},
            ],
            "usage": {**ANTHROPIC_USAGE, "output_tokens": 7},
        }
    ).encode(),
    "streamed": stream(
        {"type": "message_start", "message": {"usage": {**ANTHROPIC_USAGE, "output_tokens": 1}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "I "}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "look."}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "shell", "input": {}}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '{"cmd": '}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '"ls"}'}},
        {"type": "message_delta", "usage": {"output_tokens": 7, "input_tokens": None}},
    ),
}
ITEMS: list[Json] = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "name": "shell", "arguments": '{"cmd": "ls"}'},
]
ITEM_EVENTS: list[Json] = [{"type": "response.output_item.done", "item": item} for item in ITEMS]
OPENAI_USAGE: Json = {"input_tokens": 11, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 4}}
RESPONSES = {
    "whole": json.dumps({"object": "response", "output": ITEMS, "usage": OPENAI_USAGE}).encode(),
    "streamed": stream(
        *ITEM_EVENTS,
        {"type": "response.completed", "response": {"usage": OPENAI_USAGE}},
    ),
}
CHAT_USAGE: Json = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}
FUNCTION: Json = {"name": "shell", "arguments": '{"cmd": "ls"}'}
CHAT = {
    "whole": json.dumps(
        {"choices": [{"message": {"content": "I look.", "tool_calls": [{"function": FUNCTION}]}}], "usage": CHAT_USAGE}
    ).encode(),
    "streamed": stream(
        {"choices": [{"delta": {"content": "I "}}]},
        {"choices": [{"delta": {"content": "look."}}]},
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "function": {"name": "shell", "arguments": '{"cmd": '}}]}}
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"ls"}'}}]}}]},
        {"choices": [], "usage": CHAT_USAGE},
    ),
}
GEMINI_USAGE: Json = {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}


def candidate(*parts: Json, ends: bool = True) -> Json:
    return {
        "candidates": [{"content": {"parts": list(parts)}, **({"finishReason": "STOP"} if ends else {})}],
        "usageMetadata": {**GEMINI_USAGE, "cachedContentTokenCount": 4},
    }


LOOK: Json = {"functionCall": {"name": "shell", "args": {"cmd": "ls"}}}
GEMINI = {
    "whole": json.dumps(candidate({"text": "hm", "thought": True}, {"text": "I look."}, LOOK)).encode(),
    "streamed": stream(candidate({"text": "I "}, ends=False), candidate({"text": "look."}, LOOK)),
    "list": json.dumps([candidate({"text": "I look."}, ends=False), candidate(LOOK)]).encode(),
}
ANSWERS = [
    *(("/v1/messages?beta=true", ANTHROPIC[form], Tokens(11, 7, 4, 2)) for form in ANTHROPIC),
    *(("/v1/responses", RESPONSES[form], Tokens(11, 7, 4)) for form in RESPONSES),
    *(("/v1/chat/completions", CHAT[form], Tokens(11, 7, 4)) for form in CHAT),
    *(("/v1beta/models/g:streamGenerateContent?alt=sse", GEMINI[form], Tokens(11, 7, 4)) for form in GEMINI),
]


@pytest.mark.parametrize(("path", "answer", "tokens"), ANSWERS)
def test_an_answer_says_the_same_in_every_form(path: str, answer: bytes, tokens: Tokens) -> None:
    """Words, then the call; what was cached is part of what was read; thoughts of Gemini are part of its output."""
    dialect = dialect_of(path)
    assert dialect is not None
    reply = dialect.reply(read_answer(answer))
    assert (reply.said, reply.tokens) == ((WORDS, CALL), tokens)
    assert fault_in(read_answer(answer)) == ""


@pytest.mark.parametrize(
    ("path", "answer", "tokens"),
    [
        ("/v1/messages", ANTHROPIC["streamed"].partition(b'{"type": "message_delta"')[0], Tokens(11, None, 4, 2)),
        ("/v1/responses", RESPONSES["streamed"].partition(b'{"type": "response.completed"')[0], Tokens()),
        ("/v1/chat/completions", CHAT["streamed"].partition(b'{"choices": [], "usage"')[0], Tokens()),
        (
            "/v1/chat/completions",
            stream({"choices": [{"delta": {"content": "I "}, "finish_reason": None}], "usage": CHAT_USAGE}),
            Tokens(11, None, 4),
        ),
        (
            "/v1beta/models/g:streamGenerateContent",
            stream(candidate({"text": "I "}, ends=False)),
            Tokens(11, None, 4),
        ),
    ],
)
def test_what_was_written_is_known_at_the_end(path: str, answer: bytes, tokens: Tokens) -> None:
    """What a stream that was cut had told of it is less than what is to be paid for."""
    dialect = dialect_of(path)
    assert dialect is not None and dialect.reply(read_answer(answer)).tokens == tokens


BLOCK: Json = {"type": "tool_result", "content": [{"type": "text", "text": "a.py"}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/messages", {"messages": [{"content": "go"}, {"content": [BLOCK]}]}),
        ("/responses", {"input": [{"type": "message"}, {"type": "function_call_output", "output": "a.py"}]}),
        ("/chat/completions", {"messages": [{"role": "user", "content": "go"}, {"role": "tool", "content": "a.py"}]}),
        ("/v1beta/models/m:generateContent", {"contents": [{"parts": [{"functionResponse": {"response": "a.py"}}]}]}),
    ],
)  # fmt: skip
def test_results_of_tools_are_found_in_a_question(path: str, body: Json) -> None:
    """Each with a key that stays the same, so that the next question's history does not count twice."""
    dialect = dialect_of(path)
    assert dialect is not None
    (key, result), *more = dialect.results(body)
    assert result.text == "a.py" and not more and [key] == [again for again, _ in dialect.results(body)]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/models/m:generateContent"])
@pytest.mark.parametrize(
    "data", [b"", b"not json", b"[1, null]", b'{"usage": 3, "content": 4, "output": {}}', b"data: [\n\n"]
)
def test_nothing_is_read_from_what_says_nothing(path: str, data: bytes) -> None:
    """Unknown, and never zero; hostile forms do no harm."""
    dialect = dialect_of(path)
    assert dialect is not None
    reply = dialect.reply(read_answer(data))
    assert reply.tokens == Tokens() and reply.said == ()
    assert not list(dialect.results({"messages": 3, "input": [4], "contents": {"parts": []}}))


def test_other_paths_ask_no_model() -> None:
    """Tokens may be counted, files not be listed: neither is an answer of a model."""
    assert not any(
        map(dialect_of, ("/v1/messages/count_tokens", "/v1/files", "/v1/models", "/", "/models/m:countTokens"))
    )


@pytest.mark.parametrize(
    "path",
    [
        "/v1/files#/messages", "/v1/files;/messages", "/v1/files?/messages", "/v1/files/messages", "/v1/messages#",
        "/v1/messages?a=b#c", "/v1/messages?a;b", "/v1/messages?a?b", "/v1/%6dessages", "/v1/messages/",
        "//v1/messages", "/v1/../messages", "/v1beta/files/m:generateContent", "/v1beta/models/a/b:generateContent",
        "/v1/messages?\x7f", "/v1/messages?\xe9", "/v1/messages?\x00", "/v1/messages?a b",
        "/v1beta/models/a?b:generateContent", "http://example.org/v1/messages", "/v1/messages\n",
    ],
)  # fmt: skip
def test_a_path_that_only_ends_well_asks_no_model(path: str) -> None:
    """The whole of it counts, as every server would read it."""
    assert dialect_of(path) is None


def test_a_stream_that_breaks_down_says_so() -> None:
    """An overloaded model begins with status 200, too."""
    assert "overloaded" in fault_in(read_answer(stream({"type": "error", "error": {"type": "overloaded_error"}})))
    failed: Json = {"type": "response.failed", "response": {"error": {"code": "server_error"}}}
    assert "server_error" in fault_in(read_answer(stream(failed)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_event_may_hold_what_ends_a_line_elsewhere(end: str) -> None:
    """A stream ends its lines in three ways; JSON may hold all other ends of lines as they are."""
    event: Json = {"delta": "a\u2028b\x85c\u2029d"}
    lines = f"event: x{end}data: {json.dumps(event, ensure_ascii=False)}{end}{end}"
    assert read_answer(lines.encode() * 2) == [event, event]


def test_long_texts_are_cut() -> None:
    """To a bound, which is said."""
    assert said("message", "x" * (MOST_TEXT + 1)) == Said("message", "x" * MOST_TEXT, None, cut=True)


def test_what_was_said_can_be_written() -> None:
    """Half a character, which JSON can say, is in no file: neither in texts, nor in names of tools, nor in faults."""
    found = said("tool_call", "a\ud800", "b\udfff")
    assert (found.text, found.tool) == ("a?", "b?")
    assert fault_in([{"type": "error", "error": "c\ud800"}]) == "c?"


@pytest.mark.parametrize("levels", [MOST_DEPTH, MOST_DEPTH + 1])
def test_what_is_deep_is_read_to_a_bound(levels: int) -> None:
    """Beyond it some walk through it would fail, after it has been paid for."""
    deep = b'{"a": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"
    assert bool(read_json(deep)) == bool(read_answer(deep)) == (levels == MOST_DEPTH)
    assert bool(read_answer(b"data: " + deep + b"\n\n")) == (levels == MOST_DEPTH)
