"""What a question to a model may hold, in four dialects."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from datasmith.agents.coding.budget import Budget, Ledger
from datasmith.agents.coding.clis import CLIS, Ask
from datasmith.agents.coding.dialects import Json
from datasmith.agents.coding.questions import Models, addresses, hosted_tools, models_in, reaching_out
from datasmith.agents.coding.work import CodingCli
from datasmith.settings import Settings

FAR = "https://example.org/fix.patch"
PLACE = Path("/opt/nowhere")
FOUND = {"claude": PLACE, "codex": PLACE, "gemini": (PLACE, PLACE), "mini": (PLACE, "3.11")}
KEYS = dict.fromkeys(("anthropic_api_key", "openai_api_key", "gemini_api_key", "dspy_api_key"), "k" * 20)
SETTINGS = Settings.model_validate(KEYS)
GEMINI = "/v1beta/models/%s:generateContent"


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, True),
        ({"tools": [{"type": "web_search"}]}, True),
        ({"tools": [{"type": "mcp", "server_url": "http://x"}]}, True),
        ({"tools": [{"googleSearch": {}}]}, True),
        ({"tools": [{"url_context": {}}]}, True),
        ({"mcp_servers": [{"url": "http://x"}]}, True),
        ({"tools": [{"name": "search_files", "input_schema": {}}]}, False),
        ({"tools": [{"type": "function", "name": "web_search"}]}, False),
        ({"tools": [{"functionDeclarations": [{"name": "google_web_search"}]}]}, False),
        ({"tools": [{"urlContext": {}}]}, True),
        ({"tools": [{"codeExecution": {}}]}, True),
        ({"tools": [{"googleMaps": {}}]}, True),
        ({"tools": [{"functionDeclarations": [{"name": "f"}], "googleSearch": {}}]}, True),
        ({"tools": [{"type": "a_tool_of_next_year"}]}, True),
        ({"tools": [{"type": ["web_search"], "input_schema": {}}]}, True),
        ({"tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]}, True),
        ({"tools": {"googleSearch": {}}}, True),
        ({"tools": [3]}, True),
        ({"Tools": [{"type": "web_search"}]}, True),
        ({"web_search_options": {"search_context_size": "low"}}, True),
        ({"webSearchOptions": {"a": 1}}, True),
        ({"prompt": {"id": "pmpt_1"}}, True),
        ({"cachedContent": "cachedContents/1"}, True),
        ({"plugins": [{"id": "web"}]}, True),
        ({"models": ["gpt-4o-search-preview"]}, True),
        ({"tools": [{"type": "namespace", "tools": [{"type": "function", "name": "f"}]}]}, False),
        ({"tools": [{"function_declarations": [{"name": "f"}]}]}, False),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}, {"type": "local_shell"}]}, False),
        ({"tools": [{"type": "custom", "name": "apply_patch"}], "tool_choice": "auto"}, False),
        ({"tools": [], "parallel_tool_calls": False, "toolConfig": {"a": 1}, "prompt_cache_key": "k"}, False),
        ({"tools": None, "mcp_servers": [], "max_tool_calls": 3}, False),
        ({}, False),
    ],
)
def test_tools_that_a_provider_runs_on_the_network_are_refused(body: Json, refused: bool) -> None:
    """A search on the web would find the fix; functions of the agent's own run in its sandbox."""
    assert bool(hosted_tools(body)) == refused
    assert bool(Ledger(Budget()).admit(body)) == refused


def said(content: JsonValue) -> Json:
    """A question of that content."""
    return {"messages": [{"role": "user", "content": content}]}


@pytest.mark.parametrize(
    "body",
    [
        said([{"type": "image", "source": {"type": "url", "url": FAR}}]),
        said([{"type": "document", "source": {"type": "url", "url": "HTTP://example.org"}}]),
        said([{"type": "image_url", "image_url": {"url": FAR, "detail": "low"}}]),
        said([{"type": "image_url", "image_url": FAR}]),
        said([{"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": FAR}}]}]),
        said([{"type": "image", "image": FAR}]),
        said([{"type": "tool_use", "input": {}, "extra": {"imageUrl": [FAR]}}]),
        {"input": [{"content": [{"type": "input_file", "file_url": FAR}]}]},
        {"input": [{"content": [{"type": "input_image", "image_url": FAR}]}]},
        {"type": "tool_use", "input": [{"content": [{"type": "input_file", "file_url": FAR}]}]},
        {"input": [{"type": "function_call_output", "output": [{"type": "input_image", "image_url": FAR}]}]},
        {"contents": [{"parts": [{"fileData": {"fileUri": "gs://bucket/a"}}]}]},
        {"contents": [{"parts": [{"file_data": {"file_uri": FAR}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"response": {}, "parts": [{"fileData": {"fileUri": FAR}}]}}]}]},
        {"systemInstruction": {"parts": [{"fileData": {"fileUri": FAR}}]}},
    ],
)
def test_what_a_provider_would_fetch_is_refused(body: Json) -> None:
    """In any depth and dialect; a provider is not the agent's way to the network."""
    assert addresses(body)
    assert "addresses" in Ledger(Budget()).admit(body)


@pytest.mark.parametrize(
    "body",
    [
        said(f"see {FAR}"),
        said(FAR),
        said([{"type": "text", "text": FAR}, {"type": "tool_result", "content": FAR}]),
        said([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]),
        said([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]),
        said([{"type": "tool_use", "name": "open", "input": {"url": FAR, "image_url": FAR}}]),
        said([{"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", "url": FAR}]}]),
        {"input": [{"type": "function_call", "arguments": f'{{"url": "{FAR}"}}'}, {"content": None, "url": ""}]},
        {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"url": FAR}}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {"url": FAR}}}]}]},
        {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}]},
        {"tools": [{"name": "f", "input_schema": {"properties": {"url": {"type": "string", "default": FAR}}}}]},
        {"tools": [{"type": "function", "parameters": {"properties": {"url": FAR}}}]},
        {"text": {"format": {"schema": {"$schema": FAR, "properties": {"image_url": {"type": "string"}}}}}},
    ],
)
def test_text_and_schemas_may_name_addresses(body: Json) -> None:
    """Nobody fetches what a text mentions, what a function is given, or a property of that name."""
    assert addresses(body) == () and Ledger(Budget()).admit(body) == ""


def test_a_deep_question_is_searched_to_its_end() -> None:
    """However deep, without a limit of the interpreter's."""
    deep: JsonValue = {"url": FAR}
    for _ in range(50_000):
        deep = [deep]
    assert addresses({"input": deep}) == ("url",)
    while isinstance(deep, list):
        deep = deep.pop()


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-search-preview", "gpt-4o-mini-search-preview-2025-03-11", "gpt-5-search-api", "openai/gpt-5:online",
        "o3-deep-research", "perplexity/sonar-pro", "sonar", "x" * 300 + ":online",
    ],
)  # fmt: skip
def test_a_model_that_searches_is_never_asked(model: str) -> None:
    """Neither where nobody knows which one is right, nor where it was asked for."""
    for models in (Models(), Models(model)):
        assert "searches" in models.refusal("/v1/responses", {"model": model})
        assert models.refusal(GEMINI % "gemini-2.5-pro", {"model": model})


def test_models_of_similar_names_are_asked() -> None:
    """A laboratory's name is no search."""
    assert Models().refusal("/chat/completions", {"model": "nousresearch/hermes-4-70b"}) == ""
    assert models_in(GEMINI % "gemini-2.5-pro", {}) == ("gemini-2.5-pro",)


ALLOWED = [
    ("claude", "claude-sonnet-4-5", ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"],
     ["claude-opus-4-1", "claude-sonnet-4-5-search", ""]),
    ("claude", "claude-sonnet-4-5[1m]", ["claude-sonnet-4-5", "claude-3-5-haiku-latest"], ["claude-opus-4-1"]),
    ("claude", "sonnet", ["claude-sonnet-4-5", "claude-opus-4-1"], []),
    ("codex", "gpt-5", ["gpt-5", "gpt-5-2025-08-07"], ["gpt-5-pro", "gpt-4o", ""]),
    ("codex", "", ["gpt-5"], ["gpt-5-search-api"]),
    ("gemini", "gemini-2.5-flash", ["gemini-2.5-flash", "gemini-2.5-flash-lite"], ["gemini-2.5-pro"]),
    ("gemini", "gemini-3-pro-preview", ["gemini-3.1-pro-preview-customtools", "gemini-2.5-flash"], ["gemma-3"]),
    ("mini_swe", "openai/gpt-5", ["gpt-5"], ["openai/gpt-5", "gpt-5-pro"]),
    ("mini_swe", "openai/anthropic/claude-x", ["anthropic/claude-x"], ["claude-x"]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "model", "good", "bad"), ALLOWED)
def test_each_program_asks_its_own_models(
    program: str, model: str, good: list[str], bad: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that it was started with, and small ones that it asks by itself; all where only it knows the name."""
    monkeypatch.setattr("datasmith.agents.coding.clis._found", lambda name, *_: FOUND[name])
    cli = CLIS[program](SETTINGS, Ask(model))
    assert isinstance(cli, CodingCli)
    for name in (*good, *bad):
        path = GEMINI % name if program == "gemini" else "/v1/messages"
        body: Json = {} if program == "gemini" else {"model": name}
        assert (cli.upstream.models.refusal(path, body) == "") == (name in good), name


@pytest.mark.parametrize(
    "name",
    [
        "timeout",
        "request_timeout",
        "stream-timeout",
        "mock_response",
        "mock_tool_calls",
        "num_retries",
        "max_retries",
        "api_base",
        "base_url",
        "api_key",
        "custom_llm_provider",
        "litellm_params",
        "extra_headers",
        "headers",
        "cache",
        "caching",
        "provider",
        "route",
        "transforms",
        "guardrails",
        "user_config",
        "Mock-Timeout",
    ],
)
def test_no_question_orders_a_proxy(name: str) -> None:
    """What makes one give up, answer by itself or ask elsewhere would be told as the model's."""
    assert reaching_out({"model": "m", "messages": [], name: "x"}).endswith(f"for a proxy and not for a model: {name}")


def test_what_models_know_is_no_order() -> None:
    """The words of the four APIs, and any inside a message or a tool's schema."""
    words = ["prompt_cache_key", "cache_control", "service_tier", "user", "store", "metadata", "safety_identifier"]
    words += ["max_output_tokens", "generationConfig", "safetySettings", "systemInstruction", "thinking", "reasoning"]
    inside: Json = {"messages": [{"role": "user", "content": "x", "timeout": 3}]}
    assert reaching_out(inside | dict.fromkeys(words, "x")) == ""
