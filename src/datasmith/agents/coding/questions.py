"""What a question to a model may hold: the model that was agreed on, and nothing that a provider would fetch."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from datasmith.agents.coding.dialects import GEMINI, Json, dialect_of

_OWN_KINDS = re.compile("function|custom|localshell|namespace|applypatch|(bash|texteditor|memory)[0-9]{8}")
"""Kinds of tools that an agent runs by itself, in its sandbox. A provider runs the others, perhaps on the network."""
_OF_TOOLS = frozenset({"tools", "toolchoice", "toolconfig", "paralleltoolcalls", "maxtoolcalls"})
"""Keys of a question that say nothing of tools but what `tools` holds."""
_BRINGS_TOOLS = re.compile(
    "tool|search|mcp|plugin|connector|^prompt$|^cachedcontent$|^container$|^models$|^fallbacks$|^preset$"
)
"""Other keys: with tools of the provider's, or with something it has stored or other models, which nobody sees here."""
_OF_PROXIES = re.compile(
    "timeout$|^mock|retries$|^retrypolicy$|^cooldown|^allowedfails|^(api|base)(base|url|key|version|type|host)$|^litellm"
    "|^custom(llm)?provider$|^(extra|additional)?(headers|body|query)$|^(no)?cach(e|ing)$|^guardrails$|^userconfig$"
    "|^(additional)?dropparams$|^allowedopenaiparams$|^provider$|^route$|^transforms$|^organization$"
)
"""Keys of a whole question that no model's API has, and that a proxy before one may obey: how soon it gives up, what it
says in the model's place, where else it asks. A sandbox could make an outage, an answer or a way out of those."""
_SEARCHES = re.compile(
    r"(^|[-_./:])(web[-_]?)?search([-_./:]|$)|deep-?search|deep-research|:online|(^|[-_./:])sonar([-_./:]|$)|^perplexity/",
    re.IGNORECASE,
)
"""Models that search the web without a tool that says so."""
_DATED = r"(-\d{8}|-\d{4}-\d\d-\d\d)?"
_ADDRESS = re.compile("(ur[il]s?|href)$")
_MEDIUM = frozenset({"image", "audio", "video", "document", "file", "media"})
_FAR = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HERE = re.compile("data:", re.IGNORECASE)
_SAID_BY_MODEL = {"tooluse": "input"}
"""Blocks whose one key holds what a model says to a function of the agent's: no provider looks into it."""
_OPAQUE = {"functioncall": "args", "functionresponse": "response"}
"""The same in Gemini's dialect, where the key of a block says its kind."""
_NOTES = frozenset({"annotations", "citations", "metadata"})
MOST_NAMED = 5
"""Names in a refusal."""


@dataclass(frozen=True, slots=True)
class Models:
    """Which models may be asked: the one of that name, whose day may be added ("": nobody knows), and `beside` it.

    `beside` is a regular expression for those that a program asks by itself for small things.
    """

    name: str = ""
    beside: str = ""

    def refusal(self, path: str, body: Json) -> str:
        """Why this question's model must not be asked, or an empty text; a model that searches the web never may."""
        for model in models_in(path, body):
            if _SEARCHES.search(model):
                return f"no model that searches the network: {model[:200]}"
            if self.name and not self._is_known(model):
                return f"only {self.name} can be asked here, not {model[:200]}"
        return ""

    def _is_known(self, model: str) -> bool:
        own = re.fullmatch(re.escape(self.name) + _DATED, model)
        return bool(own or (self.beside and re.fullmatch(self.beside, model)))


def models_in(path: str, body: Json) -> tuple[str, ...]:
    """What names the model: the path in Gemini's dialect, else the question; all that do where there are more."""
    named = body.get("model")
    said = named if isinstance(named, str) else str(named or "")
    if dialect_of(path) is not GEMINI:
        return (said,)
    return (path.rpartition("/")[2].partition(":")[0], *([said] if said else []))


def reaching_out(body: Json) -> str:
    """Why what is asked this would go to the network or obey more than a model does, or an empty text."""
    hosted, far = hosted_tools(body), addresses(body)
    orders = [name[:100] for name in body if _OF_PROXIES.search(_plain(name))]
    if orders:
        return f"nothing that is for a proxy and not for a model: {_few(orders)}"
    if hosted:
        return f"no tools that a provider runs on the network: {_few(hosted)}"
    return f"no addresses that a provider fetches: {_few(far)}" if far else ""


def _few(names: Sequence[str]) -> str:
    """The first names, and how many more there are: an agent can send any number."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def addresses(body: Json) -> tuple[str, ...]:
    """Keys of a question under which an address stands that its provider would fetch; only data: addresses pass.

    Text may name addresses. Tools are not searched: what they hold are schemas, see `hosted_tools` for the others.
    """
    found: list[str] = []
    # One by one: the question as a whole is no block, whatever kind it says it is.
    pending: list[JsonValue] = [{name: value} for name, value in body.items() if _plain(name) != "tools"]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            for name, inner in _looked_into(value):
                pending.append(inner)
                texts = inner if isinstance(inner, list) else [inner]
                found += [name for text in texts if isinstance(text, str) and _is_far(_plain(name), text)]
    return tuple(dict.fromkeys(each[:100] for each in found))


def _looked_into(block: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """What of a block a provider may read as content."""
    kind = block.get("type")
    skipped = _SAID_BY_MODEL.get(_plain(kind)) if isinstance(kind, str) else None
    for name, inner in block.items():
        plain = _plain(name)
        if name == skipped or plain in _NOTES:
            continue
        opaque = _OPAQUE.get(plain)
        if opaque and isinstance(inner, dict):
            yield name, {key: value for key, value in inner.items() if key != opaque}
        else:
            yield name, inner


def _is_far(name: str, text: str) -> bool:
    if _ADDRESS.search(name):
        return bool(text) and not _HERE.match(text)
    return (name in _MEDIUM or name.endswith(("data", "file"))) and bool(_FAR.match(text))


def hosted_tools(body: Json) -> tuple[str, ...]:
    """What a question asks its provider to run: on the network, where an agent has no business.

    Only tools that are known to be the agent's own pass. Names are compared without '_', '-' and case.
    """
    found: list[str] = []
    for name, value in body.items():
        plain = _plain(name)
        if plain == "tools":
            found += _not_own(value)
        elif value and plain not in _OF_TOOLS and _BRINGS_TOOLS.search(plain):
            found.append(name)
    return tuple(dict.fromkeys(each[:100] for each in found))


def _plain(name: str) -> str:
    return re.sub("[_-]", "", name).lower()


def _not_own(tools: JsonValue) -> list[str]:
    """What names the kind of each tool that is not the agent's own."""
    if not isinstance(tools, list):
        return ["tools"] if tools else []
    return [kind for tool in tools for kind in (_foreign(tool) if isinstance(tool, dict) else ["tools"])]


def _foreign(tool: Mapping[str, JsonValue]) -> list[str]:
    """A tool's kind is its type, or in Gemini's dialect its keys; Anthropic's own functions have neither."""
    if "type" in tool:
        kind = tool["type"]
        if kind is None and "input_schema" in tool:
            return []
        if not isinstance(kind, str) or not _OWN_KINDS.fullmatch(_plain(kind)):
            return [str(kind)]
        return _not_own(tool.get("tools"))
    if "input_schema" in tool and isinstance(tool.get("name"), str):
        return []
    return [key for key in tool if _plain(key) != "functiondeclarations"]
