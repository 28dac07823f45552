"""Secrets leave no text; everything else stays as it is."""

import base64
import json
import re
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.redact import KINDS, MASK, SHORTEST, Redactor, redact
from datasmith.settings import secrets_of
from tests.secrets_made_up import AWS_SECRET, BY_FORM, BY_VALUE, HEADER_TOKEN, IN_CONTEXT, LETTERS, PEM_BODY

PLAIN = (
    "scikit-learn and sk-learn-contrib-categories-of-estimators",
    "hf_transfer, hf_hub_download(), huggingface_hub",
    "ghp_short, gh_pages, ghs_, ghr_x",
    "https://github.com/numpy/numpy/pull/12#issuecomment-1, http://localhost:30000/v1",
    "ssh://git@github.com/acme/calc.git and git@github.com:acme/calc.git, mail@example.org",
    "see http://host:8080/a?b=c@d and ://@ and a://b:c@",
    "the bearer of authentication-information, Bearer x",
    "Authorization: none; Authorization: Basic x",
    "max_tokens=16000, num_tokens: 123456789012345678",
    "token = next_token_1234567890123, api_key=os.environ['OPENAI_API_KEY_1234']",
    "password: (hidden), SECRET_KEY=, key=value, keyboard: qwertyuiop1234567890",
    "token=tokenizer1.load_vocabulary(1), secret: abc1234567890defghi(1)",
    "@njit def f(x): return x[::2]  # 0.5 s → 0.1 s",
    "AKIAxy, ASIA, KOALAAKIA1234567890123456, AKIA12345678901234567",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 numpy==1.26.4 --hash=sha256:0123abcd",
    "eyJ.eyJ.x, xoxo, xoxb-1, AIzaShort, glpat-1, pypi-server, npm_config_cache, dckr_pat_1",
    "github_pat_short; task-1234567890123456789012; disk-usage-1234567890123456",
    "Bearer authentication-information, secret: correct-horse-battery-staple",
    "https://example.org/ and user:word@example.org",
)
SHORTEST_OF_FORM = {
    "ghp_": 20, "gho_": 20, "ghu_": 20, "ghs_": 20, "ghr_": 20, "github_pat_": 20, "hf_": 20, "api_org_": 20,
    "dckr_pat_": 16, "dckr_oat_": 16, "sk-": 20, "AIza": 35, "AKIA": 16, "ASIA": 16, "glpat-": 20, "xoxb-": 10,
    "xoxp-": 10, "pypi-AgE": 20, "npm_": 36, "Bearer ": 12, "X-TOKEN: ": 16, "X-Token: ": 16, "x_token=": 16,
    "SECRET=": 16, "Secret=": 16, "secret=": 16, "PASSWORD=": 16, "Password=": 16, "password=": 16, "ACCESS_KEY=": 16,
    "Private-Key=": 16, "apikey=": 16, "Authorization: Basic ": 8, "AUTHORIZATION: TOKEN ": 8,
}  # fmt: skip
"""How a secret of each form begins, and how many characters it has at least after that."""
EXAMPLES = {
    "GitHub token": BY_FORM["github classic"], "GitHub fine-grained token": BY_FORM["github fine-grained"],
    "Hugging Face token": BY_FORM["hugging face"], "Docker Hub token": BY_FORM["docker hub"],
    "model key": BY_FORM["openai"], "Google key": BY_FORM["google"], "AWS key id": BY_FORM["aws key id"],
    "GitLab token": BY_FORM["gitlab"], "Slack token": BY_FORM["slack"], "package index token": BY_FORM["npm"],
    "JSON web token": BY_FORM["json web token"], "private key": IN_CONTEXT["private key"][1],
    "password in a URL": IN_CONTEXT["password in a URL"][1],
    "authorization header": IN_CONTEXT["authorization"][1], "bearer token": IN_CONTEXT["bearer"][1],
    "named value": IN_CONTEXT["aws secret"][1],
}  # fmt: skip


@pytest.mark.parametrize("kind", BY_FORM)
def test_a_secret_is_known_by_its_form(kind: str) -> None:
    """Wherever it stands: alone, quoted, in a URL, in JSON, at an end of a line; nothing around it is lost."""
    secret = BY_FORM[kind]
    for before, after in (
        ("", ""),
        ("a ", " b"),
        ("'", "'"),
        ("x=", "\n"),
        ('{"k": "', '"}'),
        ("(", ")."),
        ("/", "/"),
        ("--", " "),
        ("A_", "."),
    ):
        assert redact(f"{before}{secret}{after}") == f"{before}{MASK}{after}"


@pytest.mark.parametrize("begin", SHORTEST_OF_FORM)
def test_the_shortest_secret_of_a_form_is_found(begin: str) -> None:
    """Alone in its text, so that its own mark has to find it; one that is shorter still is a word like any other."""
    letters = (LETTERS + LETTERS)[: SHORTEST_OF_FORM[begin]]
    body = letters.upper() if begin in {"AKIA", "ASIA"} else letters
    keep = begin if begin[-1] in " =" else ""
    assert redact(begin + body) == f"{keep}{MASK}"
    assert redact(begin + body[:-1]) == begin + body[:-1]


def test_each_part_of_a_json_web_token_has_eight_characters() -> None:
    """No less: file names have two dots, too."""
    parts = ["ey" + "J" + LETTERS[:8], "ey" + "J" + LETTERS[8:16], LETTERS[16:24]]
    assert redact(".".join(parts)) == MASK
    for cut in range(3):
        text = ".".join(part[:-1] if number == cut else part for number, part in enumerate(parts))
        assert redact(text) == text


def test_every_kind_has_an_example() -> None:
    """A kind that is added gets one, under its name; each is found by this kind's own mark and expression."""
    for kind, (marks, pattern) in KINDS.items():
        text = EXAMPLES[kind]
        assert any(mark in text for mark in marks) and re.search(pattern, text), kind


@pytest.mark.parametrize("kind", IN_CONTEXT)
def test_a_secret_is_known_by_what_stands_around_it(kind: str) -> None:
    """The secret goes, the words around it stay."""
    secret, text = IN_CONTEXT[kind]
    cleaned = redact(f"before {text} after")
    assert secret not in cleaned and MASK in cleaned
    assert cleaned.startswith("before ") and cleaned.endswith(" after")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("https://u:p@ss:w@h.org/x", "https://***@h.org/x"),
        ("postgresql+psycopg://fc:x@db/fc and http://a:b@c", "postgresql+psycopg://***@db/fc and http://***@c"),
        (f"https://:{LETTERS}@h", "https://***@h"),
        (f"https://{LETTERS[:20]}@h https://{LETTERS[:19]}@h", f"https://***@h https://{LETTERS[:19]}@h"),
        (f"Bearer {HEADER_TOKEN}, BEARER  {HEADER_TOKEN}", "Bearer ***, BEARER  ***"),
        (f"authorization=token {HEADER_TOKEN}", "authorization=token ***"),
        ("AUTHORIZATION: Bearer abcdefgh", "AUTHORIZATION: Bearer ***"),
        ("Authorization: Basic dXNlcjpw", "Authorization: Basic ***"),
        ("Authorization: Basic dXNlcj", "Authorization: Basic dXNlcj"),
        (f"(b'Authorization', b'token {HEADER_TOKEN}')", "(b'Authorization', b'token ***')"),
        (f"X-Api-Key: {LETTERS}", "X-Api-Key: ***"),
        (f'"dspy_api_key": "{LETTERS}"', '"dspy_api_key": "***"'),
        (f"SUPABASE_SERVICE_SECRET='{LETTERS}'", "SUPABASE_SERVICE_SECRET='***'"),
        (f"PGPASSWORD={LETTERS[:16]}; TOKENS={LETTERS[:15]}", f"PGPASSWORD=***; TOKENS={LETTERS[:15]}"),
        (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", "AWS_SECRET_ACCESS_KEY=***"),
        (f"Token: {LETTERS} Secret:{LETTERS} Password = {LETTERS}", "Token: *** Secret:*** Password = ***"),
        (f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}", "***"),
        ("a -----BEGIN EC PRIVATE KEY-----x-----END EC PRIVATE KEY----- b", "a *** b"),
        (
            f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----\n{PEM_BODY}",
            "***",
        ),
    ],
)
def test_what_stays_of_a_text(text: str, cleaned: str) -> None:
    """Names, schemes and hosts, so that the text can still be understood."""
    assert redact(text) == cleaned


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_stays(text: str) -> None:
    """Names of packages, identifiers, hashes, addresses without passwords."""
    assert redact(text) == text
    assert Redactor(["local", "token"])(text) == text


def test_the_marks_of_a_kind_find_all_its_examples() -> None:
    """The quick look for a mark never misses what the expression would find."""
    texts = [*BY_FORM.values(), *(text for _, text in IN_CONTEXT.values())]
    for text in texts:
        for cased in (text, text.replace("Bearer", "BEARER"), text.replace("Authorization", "authorization")):
            assert MASK in redact(cased), cased
    assert len(KINDS) >= 12 and all(marks for marks, _ in KINDS.values())


@pytest.mark.parametrize("kind", BY_VALUE)
def test_our_own_secrets_are_known_by_their_value(kind: str) -> None:
    """As they are, in a URL, in JSON, in a repr."""
    secret = BY_VALUE[kind]
    clean = Redactor([f" {secret}\n"])
    for written in (secret, quote(secret), quote(secret, safe=""), json.dumps(secret), repr(secret)):
        cleaned = clean(f"<{written}>")
        assert MASK in cleaned and secret not in cleaned and written.strip("\"'") not in cleaned
    assert clean("nothing to hide") == "nothing to hide"


def test_a_secret_of_several_lines_is_known_line_by_line() -> None:
    """As a traceback of a group shows it: indented, with a bar before each line."""
    secret = "first line of it\nsecond line 77\nshort"
    shown = "\n".join(f"    | {line}" for line in secret.splitlines())
    assert Redactor([secret])(shown) == f"    | {MASK}\n    | {MASK}\n    | short"


@pytest.mark.parametrize("secret", ["pässword-77-\u4f60", "odd-\udc80-byte-77"])
def test_a_secret_beyond_ascii_is_known_as_bytes_and_in_urls(secret: str) -> None:
    """Also one that is no UTF-8: it must not stop every command either."""
    data, clean = secret.encode("utf-8", "surrogateescape"), Redactor([secret])
    assert clean(f"a {data!r} b") == f"a b'{MASK}' b"
    assert clean(f"https://h/?t={quote(data)}&u=1") == f"https://h/?t={MASK}&u=1"


def test_words_that_are_settings_are_no_secrets() -> None:
    """`DSPY_API_KEY=local` does not garble every path and address."""
    assert SHORTEST == 8
    assert Redactor(["local", "1234567", ""])("http://localhost:1234567/local") == "http://localhost:1234567/local"
    assert Redactor(["12345678"])("http://localhost/12345678") == "http://localhost/***"


def test_a_secret_inside_another_leaves_nothing_of_it() -> None:
    """The longer one goes first."""
    clean = Redactor(["abcdefgh", "abcdefgh-ijklmnop"])
    assert clean("abcdefgh-ijklmnop abcdefgh") == "*** ***"
    assert "abcdefgh" not in repr(clean) and repr(clean) == "Redactor(2 spellings)"


@given(
    st.text(alphabet=string.printable + "é\u202e", max_size=200),
    st.sampled_from(sorted(BY_FORM)),
    st.text(alphabet=string.printable, max_size=200),
)
def test_any_text_around_a_secret(before: str, kind: str, after: str) -> None:
    """A secret between two ends of any text is gone, and doing it twice changes nothing more."""
    cleaned = redact(f"{before} {BY_FORM[kind]} {after}")
    assert BY_FORM[kind] not in cleaned
    assert redact(cleaned) == cleaned


def test_large_texts_take_linear_time() -> None:
    """Megabytes of what almost looks like a secret are read once: ten times the text, not a hundred times the steps."""
    for part in (
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "key=",
        "Bearer ",
        "sk-",
        "eyJa.",
        "authorization:",
        "API_KEY=",
        "eyJ-",
        "TOKEN='",
    ):
        text = part * (200_000 // len(part))
        assert len(redact(text)) <= len(text)
    assert base64.b64encode(b"x").decode() in redact("eA==")


@pytest.mark.parametrize(
    ("url", "hidden"),
    [
        ("postgresql://postgres:postgres@127.0.0.1:54322/postgres", ()),
        ("postgresql://fc:benchmarks@benchmarks/fc", ()),
        ("postgresql://fc:made-up-word@db/fc", ("made-up-word",)),
        ("https://made-up-word@index.example.org/simple", ("made-up-word",)),
    ],
)
def test_a_password_that_stands_open_in_its_own_url_is_none(url: str, hidden: tuple[str, ...]) -> None:
    """Masked wherever that word is, it would garble titles and paths, and hide nothing."""
    assert secrets_of({"DATABASE_URL": url}) == hidden
