"""Replace people in a text by placeholders: accounts, names, mail and network addresses, home directories.

All patterns begin with a fixed character or are only tried where a fixed word stands, so that time is linear in the
text and small.
"""

import re
from collections.abc import Callable, Iterable

from datasmith.github.code import code_spans


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?"
_MENTION = re.compile(rf"@({_LOGIN})(?![\w(/-]|\.\w|\s+(?:async\s+)?(?:def|class|cdef|cpdef)\b)")
_IP = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9]|\w)")
_DOTTED = re.compile(r"\.[0-9]{1,3}\.[0-9]{1,3}\.")
_AT_DOMAIN = re.compile(r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}([A-Za-z]{2,24})(?![\w(\[])")
_TRAILER = re.compile(r"-[Bb]y:[ \t]*([^<\n]{1,100})<")
_FORGE_PATTERN = r"(github(?:usercontent)?\.com[/:](?:repos/|users/)?)([\w.-]{1,100})"
_FORGE, _FORGE_ANY_CASE = re.compile(_FORGE_PATTERN), re.compile(_FORGE_PATTERN, re.IGNORECASE)
_ATTACHED = re.compile(
    r"(user-images\.githubusercontent\.com/|github\.com/(?=user-attachments))[^\s\"'<>`\[\])]+", re.IGNORECASE
)
_PAGES = re.compile(rf"(?<![\w-])({_LOGIN})(?=\.github\.io\b)")
_HOMES = tuple(
    (parent, re.compile(re.escape(parent) + r"([^\s/\\:\"'<>|`,;)]{1,64})"))
    for parent in ("/home/", "/Users/", "\\Users\\", "\\Users\\\\")  # the last one: as Python's repr writes it
)

_DECORATORS = _words(
    "njit jit vectorize guvectorize stencil property staticmethod classmethod dataclass cache cached_property wraps"
    " overload abstractmethod contextmanager fixture pytest numba functools cython final given singledispatch"
    " typing param return returns media import export override deprecated profile benchmark"
)
_NOBODY = _words("runner user root docs ubuntu circleci travis vsts appveyor vagrant jovyan public shared")
_NOT_ACCOUNTS = _words(
    "about apps features issues login marketplace notifications orgs pulls search settings sponsors topics"
)
_DOMAINS = _words(
    "com org net edu gov mil io dev ai app info me tech science xyz ac de uk fr ch nl it es se no dk fi pl ru cn jp in"
    " br ca au nz eu us be cz pt gr hu ie il kr tw"
)
_MAILBOX = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
_LOOPBACK = ("127.", "0.0.0.0")
_BEFORE_A_VERSION = re.compile(r"(?:\bversions?\s+|\bv|[=<>~!]=?\s*|[\w.-])\Z", re.IGNORECASE)


class Anonymizer:
    """Gives one person the same placeholder (user_1, user_2 ...) in every text it is given.

    `keep` are accounts that stay (the owner of the task's own repository); `names` are people known beforehand, whose
    bare names are replaced too, whatever their case.
    """

    def __init__(self, *, keep: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self._keep = {name.lower() for name in keep}
        self._names = {name.lower() for name in names if len(name) > 1} - self._keep
        self._placeholders: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text without people; code keeps decorators, operators and version numbers."""
        lowered = text.lower()
        if "-by:" in lowered:
            text = _TRAILER.sub(self._trailer, text)
        links = lowered.count("github")
        if links:
            if "user-images." in lowered or "user-attachments" in lowered:
                text = _ATTACHED.sub(r"\1[attachment]", text)
            pattern = _FORGE if text.count("github") == links else _FORGE_ANY_CASE
            text = pattern.sub(self._account, text)
            text = _PAGES.sub(self._page, text) if ".github.io" in text else text
        for parent, pattern in _HOMES:
            text = pattern.sub(self._home, text) if parent in text else text
        if "@" in text:
            text = _without_mail(text)
            text = _outside_code("@", _MENTION, self._mention, text)
        text = self._without_names(text, lowered)
        # Last: what stands before a number says what it is, and may be a name.
        return _outside_code(".", _IP, _address, text) if _DOTTED.search(text) else text

    def _person(self, name: str) -> str:
        key = name.lower()
        if key.startswith("user_") and key[5:].isdigit():
            return name
        known = self._placeholders.get(key)
        if known is None:
            known = self._placeholders[key] = f"user_{len(self._placeholders) + 1}"
        return known

    def _trailer(self, match: re.Match[str]) -> str:
        name = match[1].strip()
        if not name:
            return match[0]
        self._names.add(name.lower())
        return match[0].replace(name, self._person(name))

    def _account(self, match: re.Match[str]) -> str:
        host, login = match.groups()
        lowered = login.lower()
        return match[0] if lowered in self._keep or lowered in _NOT_ACCOUNTS else f"{host}{self._person(login)}"

    def _page(self, match: re.Match[str]) -> str:
        return match[0] if match[0].lower() in self._keep else self._person(match[0])

    def _home(self, match: re.Match[str]) -> str:
        if match[1].lower() in _NOBODY or match[1].startswith("user_"):
            return match[0]
        return match[0][: -len(match[1])] + self._person(match[1])

    def _mention(self, match: re.Match[str]) -> str:
        before = match.string[max(0, match.start() - 1) : match.start()]
        attached = before.isalnum() or (before != "" and before in "_@/.$)]")
        known = match[1].lower() in _DECORATORS or match[1].lower() in self._keep
        return match[0] if attached or known else f"@{self._person(match[1])}"

    def _without_names(self, text: str, lowered: str) -> str:
        """The text without known names; `lowered` is what it was made from."""
        for name in sorted((name for name in self._names if name in lowered), key=len, reverse=True):
            pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
            text = pattern.sub(self._person(name), text)
        return text


def anonymize(text: str, *, keep: Iterable[str] = (), names: Iterable[str] = ()) -> str:
    """One text without people; see `Anonymizer`."""
    return Anonymizer(keep=keep, names=names)(text)


def _without_mail(text: str) -> str:
    """Mail addresses become [email]; matrix products and `git@host:` addresses stay."""
    pieces: list[str] = []
    done = 0
    for match in _AT_DOMAIN.finditer(text):
        start = match.start()
        while start > done and match.start() - start < 64 and text[start - 1] in _MAILBOX:
            start -= 1
        mailbox = text[start : match.start()]
        if mailbox and mailbox != "git" and match[1].lower() in _DOMAINS:
            pieces += [text[done:start], "[email]"]
            done = match.end()
    return "".join([*pieces, text[done:]])


def _address(match: re.Match[str]) -> str:
    """An IP address that tells something; versions, impossible ones and loopback stay."""
    before = match.string[max(0, match.start() - 12) : match.start()]
    impossible = max(int(part) for part in match[0].split(".")) > 255
    kept = impossible or match[0].startswith(_LOOPBACK) or _BEFORE_A_VERSION.search(before)
    return match[0] if kept else "[ip]"


def _outside_code(first: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern.sub(replace, text)` that leaves code in backticks alone; every match has `first` in it."""
    pieces: list[str] = []
    done = 0
    for start, end in [*code_spans(text), (len(text), len(text))]:
        piece = text[done:start]
        pieces += [pattern.sub(replace, piece) if first in piece else piece, text[start:end]]
        done = end
    return "".join(pieces)
