"""A model on the loopback interface that plays a script: it speaks to four coding agents in their own dialects.

Anthropic's messages, OpenAI's responses and chat completions, Gemini's generateContent; streamed where asked for. What
comes next follows from the conversation alone: the tool results in it are counted.
"""

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Write:
    """Write a file, by the agent's own tool where it has one."""

    path: str
    text: str

    @property
    def command(self) -> str:
        """The same in a shell."""
        return f"cat >{self.path} <<'FC_END'\n{self.text}FC_END\n"


@dataclass(frozen=True)
class Read:
    """Read a file first: some agents do not overwrite what they have not seen."""

    path: str

    @property
    def command(self) -> str:
        """The same in a shell."""
        return f"cat {self.path}"


@dataclass(frozen=True)
class Run:
    """Run a command in the agent's shell."""

    command: str


Step = Write | Read | Run
END = "All done: verification passed."


@dataclass
class Asked:
    """One request: where it went, by which key, and what it said."""

    path: str
    key: str
    body: Json


@dataclass
class Model:
    """A running model."""

    url: str = ""
    steps: Sequence[Step] = ()
    asked: list[Asked] = field(default_factory=list)
    status: int = 200
    others: dict[str, "Model"] = field(default_factory=dict)
    """Models of other names behind the same address."""

    def step(self, results: int) -> Step | None:
        """What to do after so many results; None at the end."""
        return self.steps[results] if results < len(self.steps) else None


def anthropic_call(step: Step) -> tuple[str, Json]:
    match step:
        case Write():
            return "Write", {"file_path": step.path, "content": step.text}
        case Read():
            return "Read", {"file_path": step.path}
        case _:
            return "Bash", {"command": step.command, "description": "do it"}


def anthropic(model: Model, body: Json) -> list[tuple[str, Json]]:
    """The events of one message."""
    results = sum(
        1
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    )
    step = model.step(results) if body.get("tools") else None
    usage = {"input_tokens": 11, "output_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    events: list[tuple[str, Json]] = [
        ("message_start", {"message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}})
    ]
    if step is None:
        block: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": END}
    else:
        name, given = anthropic_call(step)
        block = {"type": "tool_use", "id": f"toolu_{results}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    stop = "end_turn" if step is None else "tool_use"
    events += [
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 7}}),
        ("message_stop", {}),
    ]
    return [(name, {"type": name, **data}) for name, data in events]


def responses_item(step: Step | None, number: int, tools: list[Json]) -> Json:
    """One output item of OpenAI's responses."""
    if step is None:
        said = [{"type": "output_text", "text": END, "annotations": []}]
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": said}
    names = {str(tool.get("name")) for tool in tools}
    call: Json = {"cmd": step.command} if "exec_command" in names else {"command": ["bash", "-lc", step.command]}
    name = next(name for name in ("exec_command", "shell", "shell_command") if name in names)
    if name == "shell_command":
        call = {"command": step.command}
    shown = {"name": name, "call_id": f"call_{number}", "arguments": json.dumps(call)}
    return {"type": "function_call", "id": f"fc_{number}", "status": "completed", **shown}


def responses(model: Model, body: Json) -> list[tuple[str, Json]]:
    """The events of one response."""
    results = sum(1 for item in body["input"] if str(item.get("type", "")).endswith("call_output"))
    item = responses_item(model.step(results), results, body.get("tools") or [])
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, **details}
    whole = {"id": "resp_1", "object": "response", "model": body["model"], "output": [item], "usage": usage}
    return [
        (name, {"type": name, **data})
        for name, data in (
            ("response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}),
            ("response.output_item.added", {"output_index": 0, "item": item}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": {**whole, "status": "completed"}}),
        )
    ]


def chat(model: Model, body: Json) -> Json:
    """One chat completion."""
    results = sum(1 for message in body["messages"] if message["role"] == "tool")
    step = model.step(results)
    command = step.command if step else "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    call = {"name": "bash", "arguments": json.dumps({"command": command})}
    calls = [{"id": f"call_{results}", "type": "function", "function": call}]
    said = {"role": "assistant", "content": "I go on.", "tool_calls": calls}
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def gemini_call(step: Step, tools: list[Json]) -> Json:
    declared = {each["name"]: each for tool in tools for each in tool.get("functionDeclarations", ())}
    match step:
        case Write():
            return {"name": "write_file", "args": {"file_path": step.path, "content": step.text}}
        case Read() if "read_file" in declared:
            schema = declared["read_file"].get("parametersJsonSchema") or declared["read_file"].get("parameters")
            place = "absolute_path" if "absolute_path" in schema["properties"] else "file_path"
            return {"name": "read_file", "args": {place: step.path}}
        case _:
            return {"name": "run_shell_command", "args": {"command": step.command, "description": "do it"}}


def gemini(model: Model, body: Json) -> Json:
    """One answer of generateContent."""
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    results = sum(1 for part in parts if "functionResponse" in part)
    tools = body.get("tools") or []
    declared = [tool for tool in tools if tool.get("functionDeclarations")]
    step = model.step(results) if declared else None
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    text = json.dumps({"next_speaker": "user", "reasoning": "done", "model_choice": "flash"}) if schema else END
    part: Json = {"text": text} if step is None else {"functionCall": gemini_call(step, tools)}
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "test",
    }


class Handler(BaseHTTPRequestHandler):
    """One request to the model that stands behind the server."""

    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self.send(200, "application/json", b"")

    def do_GET(self) -> None:
        self.send(404, "application/json", b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        path = self.path.partition("?")[0]
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        key = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer
        self.model.asked.append(Asked(path, key, body))
        name = body.get("model") or path.rpartition("/")[2].partition(":")[0]
        model = self.model.others.get(name, self.model)
        if model.status != 200:
            self.send(model.status, "application/json", b'{"error": {"message": "out of order"}}')
        else:
            self.answer(model, path, body)

    def answer(self, model: Model, path: str, body: Json) -> None:
        if path.endswith("/messages"):
            self.events(anthropic(model, body))
        elif path.endswith("/responses"):
            self.events(responses(model, body))
        elif path.endswith("/chat/completions"):
            self.send(200, "application/json", json.dumps(chat(model, body)).encode())
        elif path.endswith(":streamGenerateContent"):
            self.events([("", gemini(model, body))])
        elif path.endswith(":generateContent"):
            self.send(200, "application/json", json.dumps(gemini(model, body)).encode())
        elif "ountTokens" in path or path.endswith("count_tokens"):
            self.send(200, "application/json", b'{"totalTokens": 11, "input_tokens": 11}')
        else:
            self.send(404, "application/json", b"{}")

    def events(self, events: list[tuple[str, Json]]) -> None:
        lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
        self.send(200, "text/event-stream", "".join(lines).encode())

    def send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def playing(
    *steps: Step, status: int = 200, others: dict[str, Model] | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[Model]:
    """A model that has these steps done, and then says that it is done; with another status it is out of order."""
    model = Model("", steps, status=status, others=others or {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Playing", (Handler,), {"model": model}))
    model.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
