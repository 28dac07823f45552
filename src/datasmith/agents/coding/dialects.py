"""What four model APIs say, read from what passes between an agent and its model: results, answers and tokens."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from datasmith.tasks.quantities import MOST

Json = dict[str, JsonValue]
Kind = Literal["message", "tool_call", "tool_result"]
QUERY = re.compile(r'[!"$-:<->@-\[\]-~]*')
"""What may follow the question mark of a path: printable ASCII, of which a request can be built, without what another
reader would take for its end or another one: # ; ? and the backslash."""
MOST_DEPTH = 200
"""Levels of lists and objects in each other that are read; nobody's questions and answers are so deep."""
_OF_THE_QUESTION = re.compile("invalid_.*|context_length_exceeded|content_filter|request_too_large", re.IGNORECASE)
"""Types and codes of errors that the question caused: outside an answer, HTTP 4xx says so."""
_PASSING = frozenset({408, 409, 429})
"""Codes below 500 that the same question may not get again."""
MOST_TEXT = 8_000
"""Characters kept of one thing that was said."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said: by the model, or to it by a tool. `cut` where it went on after MOST_TEXT."""

    kind: Kind
    text: str
    tool: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one answer took; None is unknown. `input` holds all that the model read, so `cached` and `written` too.

    `output` is known where the answer's end was heard: what is counted before is less.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model."""

    said: tuple[Said, ...] = ()
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API: where it is asked (the whole path), what a question holds of tools' results, what an answer says.

    `results` gives (a key that stays the same in later questions, the result); `bounds` are the parameters that bound
    an answer's tokens, `several` asks for more answers than one (empty: nothing does).
    """

    path: re.Pattern[str]
    results: Callable[[Json], Iterator[tuple[str, Said]]]
    reply: Callable[[Sequence[Json]], Reply]
    bounds: tuple[str, ...]
    several: str = ""


def dialect_of(path: str) -> Dialect | None:
    """The API whose model is asked at this path; None where no model is."""
    plain, _, query = path.partition("?")
    if not QUERY.fullmatch(query):
        return None
    return next((each for each in DIALECTS if each.path.fullmatch(plain)), None)


def most_output(path: str, question: Json) -> int | None:
    """The most tokens that a question lets its answer have; None where it does not say."""
    dialect, chosen = dialect_of(path), _settings(path, question)
    bounds = [bound for name in (dialect.bounds if dialect else ()) if (bound := _count(chosen.get(name)))]
    return max(bounds, default=None)


def answers_asked(path: str, question: Json) -> int:
    """How many answers a question asks for; each may be as long as one."""
    dialect = dialect_of(path)
    return (_count(_settings(path, question).get(dialect.several)) if dialect else None) or 1


def _settings(path: str, question: Json) -> Json:
    """Where a question says what its answer may be."""
    return _dict(question.get("generationConfig")) if dialect_of(path) is GEMINI else question


def read_json(data: bytes) -> Json:
    """An object, or an empty one where there is none that can be read."""
    return _dict(_loaded(data))


def read_answer(data: bytes) -> list[Json]:
    """The objects of an answer: one, a list of them, or the events of a stream."""
    found = _loaded(data)
    if found is None:
        # Bytes end their lines where a stream of events does; texts do at what JSON may hold as it is, such as U+2028.
        lines = [line.decode("utf-8", "replace") for line in data.splitlines()]
        events = (read_json(line.removeprefix("data:").encode()) for line in lines if line.startswith("data:"))
        return [event for event in events if event]
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


def fault_in(events: Sequence[Json]) -> str:
    """What an answer that began well says went wrong on the way; empty where nothing did."""
    return as_utf8(_text(_error_in(events))[:300])


def refused_in(events: Sequence[Json]) -> bool:
    """Whether the question caused what went wrong on the way: a number below 500 says so, else a word."""
    error = _dict(_error_in(events))
    words = [str(error[name]) for name in ("code", "type", "status") if error.get(name)]
    numbers = [int(word) for word in words if re.fullmatch("[1-5][0-9][0-9]", word)]
    if numbers:
        return all(400 <= number < 500 and number not in _PASSING for number in numbers)
    return any(_OF_THE_QUESTION.fullmatch(word) for word in words)


def _error_in(events: Sequence[Json]) -> JsonValue | None:
    for event in events:
        error = event.get("error") or _dict(event.get("response")).get("error")
        if event.get("type") in {"error", "response.failed"} or (error and "candidates" not in event):
            return error or event
    return None


def _loaded(data: bytes) -> JsonValue:
    """What JSON says; None where it is none, or so deep that walking through it or writing it again could fail."""
    try:
        found: JsonValue = json.loads(data)
    except (ValueError, RecursionError):
        return None
    level = [found]
    for _ in range(MOST_DEPTH):
        groups = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for group in groups for inner in group]
    return None if level else found


def _dict(value: JsonValue | None) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: JsonValue | None) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: JsonValue | None) -> str:
    """Any value as text: a text as it is, the texts of a list of parts, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "\n".join(_text(part["text"]) for part in _dicts(value))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _count(value: JsonValue | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def _sum(*parts: int | None) -> int | None:
    """What is known of a sum whose first part must be; a part that was not named is none."""
    return None if parts[0] is None else sum(part or 0 for part in parts)


def as_utf8(text: str) -> str:
    """The text as every file can hold it: JSON can say halves of characters, which nothing can be written with."""
    return text.encode("utf-8", "replace").decode()


def said(kind: Kind, value: JsonValue | None, tool: JsonValue | None = None) -> Said:
    """A value as what was said, cut to MOST_TEXT."""
    text = as_utf8(_text(value))
    return Said(kind, text[:MOST_TEXT], as_utf8(tool[:200]) if isinstance(tool, str) else None, len(text) > MOST_TEXT)


def _named(value: JsonValue | None, number: int, result: Said) -> str:
    """A result's own name, else one of its content and of how many were there before it."""
    if isinstance(value, str) and value:
        return value
    return f"{number}:{hashlib.sha256(result.text.encode()).hexdigest()[:16]}"


def _anthropic_results(body: Json) -> Iterator[tuple[str, Said]]:
    blocks = [block for message in _dicts(body.get("messages")) for block in _dicts(message.get("content"))]
    for number, block in enumerate(block for block in blocks if block.get("type") == "tool_result"):
        result = said("tool_result", block.get("content"))
        yield _named(block.get("tool_use_id"), number, result), result


def _anthropic_reply(events: Sequence[Json]) -> Reply:
    blocks: list[Json] = []
    usage: Json = {}
    for event in events:
        match event.get("type"):
            case "message":
                blocks += _dicts(event.get("content"))
                usage |= _dict(event.get("usage"))
            case "message_start":
                usage |= _dict(_dict(event.get("message")).get("usage")) | {"output_tokens": None}
            case "content_block_start":
                blocks.append(dict(_dict(event.get("content_block"))))
            case "content_block_delta" if blocks:
                _extend(blocks[-1], _dict(event.get("delta")))
            case "message_delta":
                usage |= {name: count for name, count in _dict(event.get("usage")).items() if count is not None}
    cached, written = _count(usage.get("cache_read_input_tokens")), _count(usage.get("cache_creation_input_tokens"))
    read = _sum(_count(usage.get("input_tokens")), cached, written)
    return Reply(tuple(_anthropic_said(blocks)), Tokens(read, _count(usage.get("output_tokens")), cached, written))


def _extend(block: Json, delta: Json) -> None:
    for name, part in (("text", delta.get("text")), ("partial_json", delta.get("partial_json"))):
        if isinstance(part, str):
            block[name] = _text(block.get(name)) + part


def _anthropic_said(blocks: Sequence[Json]) -> Iterator[Said]:
    for block in blocks:
        if block.get("type") == "text" and block.get("text"):
            yield said("message", block["text"])
        elif block.get("type") == "tool_use":
            yield said("tool_call", block.get("partial_json") or block.get("input"), block.get("name"))


def _responses_results(body: Json) -> Iterator[tuple[str, Said]]:
    items = [item for item in _dicts(body.get("input")) if _text(item.get("type")).endswith("call_output")]
    for number, item in enumerate(items):
        result = said("tool_result", item.get("output"))
        yield _named(item.get("call_id"), number, result), result


def _responses_reply(events: Sequence[Json]) -> Reply:
    items: list[Json] = []
    usage: Json = {}
    for event in events:
        if event.get("object") == "response":
            items, usage = _dicts(event.get("output")), _dict(event.get("usage"))
        elif event.get("type") == "response.output_item.done":
            items.append(_dict(event.get("item")))
        elif event.get("type") in {"response.completed", "response.incomplete", "response.failed"}:
            usage = _dict(_dict(event.get("response")).get("usage"))
    cached = _count(_dict(usage.get("input_tokens_details")).get("cached_tokens"))
    tokens = Tokens(_count(usage.get("input_tokens")), _count(usage.get("output_tokens")), cached)
    return Reply(tuple(_responses_said(items)), tokens)


def _responses_said(items: Sequence[Json]) -> Iterator[Said]:
    for item in items:
        kind = _text(item.get("type"))
        if kind == "message":
            yield said("message", item.get("content"))
        elif kind.endswith("_call"):
            given = next((item[name] for name in ("arguments", "input", "action") if name in item), None)
            yield said("tool_call", given, item.get("name") or kind)


def _chat_results(body: Json) -> Iterator[tuple[str, Said]]:
    messages = [message for message in _dicts(body.get("messages")) if message.get("role") == "tool"]
    for number, message in enumerate(messages):
        result = said("tool_result", message.get("content"))
        yield _named(message.get("tool_call_id"), number, result), result


def _chat_reply(events: Sequence[Json]) -> Reply:
    text = ""
    calls: dict[int, tuple[str, str]] = {}
    usage: Json = {}
    ended = False
    for event in events:
        usage = _dict(event.get("usage")) or usage
        choices = _dicts(event.get("choices"))
        last = any("message" in choice or choice.get("finish_reason") for choice in choices)
        ended = ended or last or bool(event.get("usage") and not choices)
        for choice in choices[:1]:
            part = _dict(choice.get("message")) or _dict(choice.get("delta"))
            text += _text(part.get("content"))
            for number, call in enumerate(_dicts(part.get("tool_calls"))):
                at = _count(call.get("index"))
                at = number if at is None else at
                name, given = calls.get(at, ("", ""))
                function = _dict(call.get("function"))
                calls[at] = name + _text(function.get("name")), given + _text(function.get("arguments"))
    words = (said("message", text),) if text else ()
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    written = _count(usage.get("completion_tokens")) if ended else None
    tokens = Tokens(_count(usage.get("prompt_tokens")), written, cached)
    return Reply((*words, *(said("tool_call", given, name) for name, given in calls.values())), tokens)


def _gemini_parts(contents: JsonValue | None) -> list[Json]:
    return [part for content in _dicts(contents) for part in _dicts(content.get("parts"))]


def _gemini_results(body: Json) -> Iterator[tuple[str, Said]]:
    found = [
        _dict(part["functionResponse"]) for part in _gemini_parts(body.get("contents")) if "functionResponse" in part
    ]
    for number, each in enumerate(found):
        result = said("tool_result", each.get("response"), each.get("name"))
        yield _named(each.get("id"), number, result), result


def _gemini_reply(events: Sequence[Json]) -> Reply:
    text = ""
    calls: list[Said] = []
    usage: Json = {}
    candidates = [candidate for event in events for candidate in _dicts(event.get("candidates"))[:1]]
    for event in events:
        usage = _dict(event.get("usageMetadata")) or usage
    for part in _gemini_parts([candidate.get("content") for candidate in candidates]):
        text += "" if part.get("thought") else _text(part.get("text"))
        if "functionCall" in part:
            call = _dict(part["functionCall"])
            calls.append(said("tool_call", call.get("args"), call.get("name")))
    words = (said("message", text),) if text else ()
    cached = _count(usage.get("cachedContentTokenCount"))
    written = _sum(_count(usage.get("candidatesTokenCount")), _count(usage.get("thoughtsTokenCount")))
    ended = not candidates or any(candidate.get("finishReason") for candidate in candidates)
    return Reply((*words, *calls), Tokens(_count(usage.get("promptTokenCount")), written if ended else None, cached))


CHAT = Dialect(
    re.compile("(/v1)?/chat/completions"), _chat_results, _chat_reply, ("max_tokens", "max_completion_tokens"), "n"
)
GEMINI = Dialect(
    re.compile(r"(/v1(alpha|beta)?)?/models/[\w.-]+:(g|streamG)enerateContent", re.ASCII),
    _gemini_results,
    _gemini_reply,
    ("maxOutputTokens",),
    "candidateCount",
)
DIALECTS = (
    Dialect(re.compile("(/v1)?/messages"), _anthropic_results, _anthropic_reply, ("max_tokens",)),
    Dialect(re.compile("(/v1)?/responses"), _responses_results, _responses_reply, ("max_output_tokens",)),
    CHAT,
    GEMINI,
)
"""Anthropic's messages, OpenAI's responses and chat completions, Gemini's generateContent."""
