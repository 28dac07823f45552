"""Take secrets out of text before it is written or shown: known kinds by their form, our own by their value."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

MASK = "***"
SHORTEST = 8
"""A configured value with fewer characters ("local") is a word like any other: masking it would garble text."""

_WORD = r"(?<![A-Za-z0-9])"
"""A token does not begin in the middle of another word."""
_MIXED = r"(?=[A-Za-z0-9_-]{0,200}\d)"
"""A token holds a digit early; the name of a package ("sk-learn-contrib-categories") holds none.

No expression here looks ahead without a bound: megabytes are read in linear time."""

KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "GitHub token": (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _WORD + r"gh[pousr]_[A-Za-z0-9]{20,}"),
    "GitHub fine-grained token": (("github_pat_",), _WORD + r"github_pat_[A-Za-z0-9_]{20,}"),
    "Hugging Face token": (("hf_", "api_org_"), _WORD + r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    "Docker Hub token": (("dckr_",), _WORD + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}"),
    "model key": (("sk-",), _WORD + r"sk-" + _MIXED + r"[A-Za-z0-9_-]{20,}"),
    "Google key": (("AIza",), _WORD + r"AIza[A-Za-z0-9_-]{35}"),
    "AWS key id": (("AKIA", "ASIA"), _WORD + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "GitLab token": (("glpat-",), _WORD + r"glpat-[A-Za-z0-9_-]{20,}"),
    "Slack token": (("xox",), _WORD + r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "package index token": (("pypi-", "npm_"), _WORD + r"(?:pypi-AgE[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36})"),
    "JSON web token": (("eyJ",), _WORD + r"eyJ[A-Za-z0-9_-]{8,500}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}"),
    "private key": (("PRIVATE KEY",), r"(?s)-----BEGIN ([A-Z ]*)PRIVATE KEY-----.*?(?:-----END \1PRIVATE KEY-----|\Z)"),
    "password in a URL": (
        ("://",),
        r"(?<=://)(?:[^\s/?#'\"<>:@]*:[^\s/?#'\"<>]+|[A-Za-z0-9_-]{20,})@(?=[^\s/])",
    ),
    "authorization header": (
        ("uthorization", "UTHORIZATION"),
        r"(?i)(?P<keep>authorization['\"]?\s*[:=,]\s*b?['\"]?(?:basic|bearer|token)\s+)[A-Za-z0-9._~+/=-]{8,}",
    ),
    "bearer token": (("earer ", "EARER "), r"(?i)\b(?P<keep>bearer\s+)(?=\S{0,200}\d)[A-Za-z0-9._~+/=-]{12,}"),
    "named value": (
        (
            "TOKEN",
            "SECRET",
            "PASSWORD",
            "KEY",
            "Token",
            "Secret",
            "Password",
            "Key",
            "token",
            "secret",
            "password",
            "key",
        ),
        r"(?i)(?P<keep>(?:TOKENS?|SECRET|PASSWORD|(?:API|ACCESS|SECRET|PRIVATE)[_-]?KEY)['\"]?\s*[:=]\s*['\"]?)"
        r"(?=[^\s'\"]{0,200}\d)(?=[^\s'\"]{0,200}[A-Za-z])[A-Za-z0-9/+=~!@#%^*-]{16,}(?![\w.(\[])",
    ),
}
"""Kind -> texts one of which such a secret always holds (looked for first: that is fast), and its regular expression.

What the group `keep` matched stays. A kind is added here and nowhere else."""

_COMPILED = tuple((marks, re.compile(pattern)) for marks, pattern in KINDS.values())
_SHORTEST_TEXT = len("://:p@h")
"""A text with fewer characters holds none of them: most fields of most rows."""


def redact(text: str) -> str:
    """The text with `***` in place of everything that has the form of a secret."""
    if len(text) < _SHORTEST_TEXT:
        return text
    for marks, pattern in _COMPILED:
        for mark in marks:  # no any(): a generator costs more than all the rest
            if mark in text:
                text = pattern.sub(_mask, text)
                break
    return text


def has_credentials(url: str) -> bool:
    """True where a URL names a user, with a password or without one: a token may stand in either place."""
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return "@" in url


def without_credentials(url: str) -> str:
    """A URL without the user and password that it names; empty where it cannot be read."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _mask(found: re.Match[str]) -> str:
    keep = found.groupdict().get("keep") or ""
    return f"{keep}{MASK}@" if found[0].endswith("@") and not keep else f"{keep}{MASK}"


@dataclass(frozen=True, slots=True)
class Redactor:
    """`redact`, and the values of our own secrets besides, also as they stand in URLs, JSON and Python's repr.

    Of a secret with several lines each line is one: tracebacks of groups indent them.
    """

    secrets: Iterable[str] = ()
    _spelled: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = {part.strip() for secret in self.secrets for part in (secret, *secret.splitlines())}
        spelled = {form for secret in known if len(secret) >= SHORTEST for form in _spellings(secret)}
        # Longest first: a secret that holds another one leaves nothing of itself.
        object.__setattr__(self, "_spelled", tuple(sorted(spelled, key=lambda form: (-len(form), form))))

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        for form in self._spelled:
            text = text.replace(form, MASK)
        return redact(text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._spelled)} spellings)"


def _spellings(secret: str) -> tuple[str, ...]:
    # A variable may hold bytes that are not UTF-8; Python keeps them as surrogates.
    data = secret.encode("utf-8", "surrogateescape")
    in_url = quote(data, safe=""), quote(data)
    return secret, *in_url, json.dumps(secret)[1:-1], repr(secret)[1:-1], repr(data)[2:-1]
