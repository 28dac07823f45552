"""People out of texts, code left alone."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasmith.github.anonymize import Anonymizer, anonymize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@alice opened https://github.com/alice/repo", "@user_1 opened https://github.com/user_1/repo"),
        ("Signed-off-by: John Smith <j@e.com>", "Signed-off-by: user_1 <[email]>"),
        ("Co-authored-by: J S <1+js@users.noreply.github.com>", "Co-authored-by: user_1 <[email]>"),
        ("on 192.168.1.42.", "on [ip]."),
        ("http://192.168.1.42/x", "http://[ip]/x"),
        ("/home/alice/x and /Users/alice/y", "/home/user_1/x and /Users/user_1/y"),
        (r"C:\Users\carol\x", r"C:\Users\user_1\x"),
        (r"FileNotFoundError: 'C:\\Users\\carol\\x'", r"FileNotFoundError: 'C:\\Users\\user_1\\x'"),
        ("write to a.b@uni-x.de", "write to [email]"),
        ("raw.githubusercontent.com/dave/x/a.py", "raw.githubusercontent.com/user_1/x/a.py"),
        ("HTTPS://GITHUB.COM/dave/x", "HTTPS://GITHUB.COM/user_1/x"),
        ("https://gist.github.com/dave/12", "https://gist.github.com/user_1/12"),
        ("api.github.com/repos/dave/x", "api.github.com/repos/user_1/x"),
        ("dave.github.io/x", "user_1.github.io/x"),
        ("https://github.com/user-attachments/assets/a-b", "https://github.com/[attachment]"),
        ("git@github.com:dave/x.git", "git@github.com:user_1/x.git"),
        (
            "https://github.com/user_1/x by @user_1 in /home/user_1/",
            "https://github.com/user_1/x by @user_1 in /home/user_1/",
        ),
        ("user_7.github.io and eve.github.io", "user_7.github.io and user_1.github.io"),
    ],
)
def test_people_are_replaced(text: str, expected: str) -> None:
    """Accounts, names, mail, addresses and home directories become placeholders; one person has one."""
    assert anonymize(text) == expected


def test_private_images_are_replaced() -> None:
    """Links to private images carry a token and an account's number: nothing of either stays."""
    shown = anonymize("https://private-user-images.githubusercontent.com/4242/a.png?jwt=ey.abc")
    assert shown == "https://private-user-images.githubusercontent.com/[attachment]"


@pytest.mark.parametrize(
    "text",
    [
        "Version 3.9.1 is out",
        "version 1.2.3.4 and numpy-1.2.3.4 and ==1.2.3.4",
        "`10.1.2.3` and ```\n10.1.2.3 @bob\n```",
        "@njit def f",
        "@foo\ndef f(): ...",
        "@pytest.mark.parametrize",
        "@cache(maxsize=1)",
        "A@B.T and A @ B",
        "x = a@b.dot(c) + A@B.inv()",
        "300.1.2.3 and 1.2.3.4.5 and 127.0.0.1",
        "/home/runner/work and /home/docs/checkouts",
        "https://github.com/features",
    ],
)
def test_code_and_versions_stay(text: str) -> None:
    """Decorators, matrix products, versions, code and nobody's directories are no people."""
    assert anonymize(text) == text


def test_the_tasks_own_repository_stays() -> None:
    """Links to the repository that the task is about are not hidden."""
    assert anonymize("https://github.com/numpy/numpy/issues/1", keep=["NumPy"]).endswith("/numpy/numpy/issues/1")


def test_known_names_in_any_case() -> None:
    """A known name is replaced wherever it stands as a word, with the placeholder of the account of that name."""
    assert anonymize("Bob and BOB, not Bobby; @bob", names=["bob"]) == "user_1 and user_1, not Bobby; @user_1"


def test_one_person_over_several_texts() -> None:
    """The same anonymiser gives the same placeholder in every text."""
    hide = Anonymizer()
    assert [hide("@ann"), hide("@ben"), hide("@Ann")] == ["@user_1", "@user_2", "@user_1"]


PIECES = st.sampled_from(
    [
        *("@alice", "@bob-b", "@njit", "@pytest.mark.x", "@A.T", "a.b@c.org", "<j@e.com>", "git@github.com:dave/x.git"),
        *("https://github.com/alice/r", "HTTPS://GitHub.com/Carol/x.py", "raw.githubusercontent.com/dave/x"),
        *("gist.github.com/eve/1", "dave.github.io", "/home/alice/x", "C:\\Users\\carol\\y", "/Users/Bob/"),
        *("192.168.1.42", "1.2.3.4", "version", "==1.2.3.4", "`", "```", "`x`", "user_1", "@user_2", "[ip]", "[email]"),
        *(
            "https://private-user-images.githubusercontent.com/1/a?jwt=b",
            "https://github.com/user-attachments/assets/1",
        ),
        *("Signed-off-by:", "Co-authored-by:", "John", "Smith", "<1+js@users.noreply.github.com>", "alice", "BOB"),
        *("github.com/", "(", ")", ".", "@", "/", ":", "-", "\u0130", "\u00e4"),
    ]
)
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from([" ", "\n", ", "])), max_size=14).map(
    lambda pairs: "".join(piece + gap for piece, gap in pairs)
)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("version 192.168.1.42 Signed-off-by: version <j@e.com> ")
def test_what_is_anonymous_stays_as_it_is(text: str) -> None:
    """Twice is once: a placeholder is nobody, for the same anonymiser and for a new one."""
    hide = Anonymizer(names=["alice"])
    hidden = hide(text)
    assert hide(hidden) == hidden
    assert anonymize(hidden, names=["alice"]) == hidden


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_known_people_are_in_no_text(text: str) -> None:
    """Wherever it stands, a known name that is a word of its own outside code is gone."""
    hidden = anonymize(text, names=["alice", "Bob"])
    assert not re.search(r"(?<!\w)(?:alice|bob)(?!\w)", hidden, re.IGNORECASE)


@pytest.mark.parametrize(
    "piece",
    ["@", "@a", "`", "a@", "a.b@c.", "@a.", "github.com/a", "-by: x ", "/home/a", "1.", "1.1.1.1 ", "@a \n", "a-"],
)
def test_time_is_linear(piece: str) -> None:
    """A hostile text of 100,000 pieces is read within seconds of CPU time."""
    started = time.process_time()
    anonymize(piece * 100_000, names=["someone"])
    assert time.process_time() - started < 5
