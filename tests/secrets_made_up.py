"""Secrets of every kind that redaction knows: made up, and put together here so that no scanner finds them."""

LETTERS = "aB3dE5gH7jK9mN1pQ4rS6tU8vW0xY2zA"


def _made(*parts: str) -> str:
    return "".join(parts)


BY_FORM = {
    "github classic": _made("gh", "p_", LETTERS, "abcd"),
    "github app": _made("gh", "s_", LETTERS[::-1], "wxyz"),
    "github oauth": _made("gh", "o_", LETTERS[5:], "Q1w2E"),
    "github fine-grained": _made("github", "_pat_", LETTERS[:22], "_", LETTERS, "Zz9"),
    "hugging face": _made("h", "f_", LETTERS[2:], "Mn"),
    "docker hub": _made("dckr", "_pat_", LETTERS[3:27]),
    "openai": _made("s", "k-proj-", LETTERS, "-", LETTERS[::-1]),
    "anthropic": _made("s", "k-ant-api03-", LETTERS[1:], "_", LETTERS[:9]),
    "aws key id": _made("AK", "IA", "Q3ER5TY7UI9OP1AS"),
    "google": _made("AI", "za", LETTERS, "q1W"),
    "gitlab": _made("glp", "at-", LETTERS[:24]),
    "slack": _made("xo", "xb-", LETTERS[4:30]),
    "pypi": _made("py", "pi-AgE", LETTERS),
    "npm": _made("np", "m_", LETTERS, "aB3d"),
    "json web token": _made("ey", "JhbGciOiJIUzI1", ".ey", "JzdWIiOiIxMjM0", ".", LETTERS),
}
"""Kind -> a secret that stands by itself."""

URL_PASSWORD = _made("Pw", LETTERS[6:18])
HEADER_TOKEN = _made(LETTERS[8:24], "dd", "==")
AWS_SECRET = _made("wJ4lr", "XUtnF3MI/K7MD", "ENG+bPxRf1CYEX", "key0")
PEM_BODY = _made("MIIEvQ", "IBADAN", LETTERS)
IN_CONTEXT = {
    "password in a URL": (URL_PASSWORD, f"https://robot:{URL_PASSWORD}@mirror.example.org/simple"),
    "token as user of a URL": (LETTERS, f"cloning https://{LETTERS}@git.example.org/a/b.git now"),
    "bearer": (HEADER_TOKEN, f"curl -H 'Bearer {HEADER_TOKEN}'"),
    "authorization": (HEADER_TOKEN, f'{{"Authorization": "Basic {HEADER_TOKEN}"}}'),
    "aws secret": (AWS_SECRET, f"aws_secret_access_key = {AWS_SECRET}"),
    "private key": (
        PEM_BODY,
        f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n{LETTERS}\n-----END RSA PRIVATE KEY-----",
    ),
}
"""Kind -> (the secret, a text in which it can be told by what stands around it)."""

BY_VALUE = {
    "an opaque key": _made("correct", "horse", "battery", "staple"),
    "one with odd characters": 'p/w"d &\\é%' + LETTERS[:6],
}
"""Kind -> a secret without any form: known only because a variable holds it."""
