"""Comments, prose, and what only looks like them."""

import pytest

from datasmith.evaluation.redteam.diffs import added
from datasmith.tasks.content import content_reasons
from datasmith.tasks.gitdiff import FileChange, parse_diff

WORDS = "gc.get_objects()"


def reasons(name: str, *lines: str) -> list[str]:
    """Against a new file of these lines, in which Q stands for three quotation marks."""
    (change,) = parse_diff(added(name, "\n".join(lines).replace("Q", '"' * 3) + "\n"))
    return content_reasons(change)


def of_hunk(name: str, *lines: str) -> list[str]:
    """Against lines of a hunk in the middle of a file, with their marks."""
    return content_reasons(
        FileChange((name, name), lines=["@@ -9,3 +9,3 @@", *(line.replace("Q", "'''") for line in lines)])
    )


SPOKEN = {
    "a comment": ["# as gc.get_objects() would"],
    "a comment behind code": ["x = 1  # as gc.get_objects() would"],
    "a comment with a mark in a text before it": ["x = '#'  # gc.get_objects()"],
    "one with a quotation mark": ["x = 1  # don't use gc.get_objects() here"],
    "prose": ["Q", "As slow as gc.get_objects() would be.", "Q"],
    "prose with an apostrophe": ["Q", "It doesn't use gc.get_objects()", "Q"],
    "an example": ["Q", ">>> gc.get_objects()", "Q"],
    "a command": ["Q", "For example: `PYTHONPATH=. python`", "Q"],
}


@pytest.mark.parametrize("how", SPOKEN)
def test_what_python_cannot_run_may_speak(how: str) -> None:
    """A comment, or a line that Python would refuse if it were code, wherever the texts of the file begin."""
    assert reasons("src/a.py", *SPOKEN[how]) == []
    assert reasons("docs/a.rst", *SPOKEN[how]) == []
    assert of_hunk("src/a.py", *(f"+{line}" for line in SPOKEN[how])) == []


RUN = {
    "a text that ends in what looks like a comment": ["x = Q", f"#Q; {WORDS}"],
    "one that ends behind what looks like code": ["x = Q", f"x = 1 # Q; {WORDS}"],
    "one that ends in what looks like an example": ["x = Q", f">>> Q; {WORDS}"],
    "one that ends in prose": ["x = Q", f"two words Q; {WORDS}"],
    "code in a text, in a comment": ["x = fQ", f"# {{{WORDS}}}", "Q"],
    "code in a text, in prose": ["x = fQ", f"two words {{{WORDS}}}", "Q"],
    "code of two lines in a text": ["x = f'{", f"3}}' + {WORDS}  # two words"],
    "a mark of a comment in a text": [f"x = '#', {WORDS}"],
    "one behind an escape": [rf"x = '\'#', {WORDS}"],
    "words that Python puts side by side": [f"assert not {WORDS}"],
    "words that it does in some places": [f"match {WORDS}:"],
    "words that later versions do": [f"type X = {WORDS}"],
    "a quotation mark of another shape": [f'x = "＂ # ", {WORDS}'],
    "a backslash of another shape": ["# a ＼", WORDS],
    "a text that goes on": ["x = 'two \\", f"words', {WORDS}"],
    "a text that goes on in what looks like a comment": ["x = 'a \\", f"# ', {WORDS}"],
    "a word over two lines": ["x = gc.get_obj\\", "ects()"],
}


@pytest.mark.parametrize("how", RUN)
def test_what_only_looks_so_is_read(how: str) -> None:
    """Behind the end of a text, or within one, there is code."""
    assert reasons("src/a.py", *RUN[how])


def test_what_a_backslash_joins_to_a_new_line_is_read_with_it() -> None:
    """Lines that stay belong to the line that the patch writes into."""
    assert of_hunk("a.py", " x = 'a \\", f"+# ', {WORDS} + '\\", " '")
    assert of_hunk("a.py", "+x = gc.get_obj\\", " ects()")
    assert of_hunk("a.py", " y = gc.get_obj\\", " ects()", "+x = 1") == []


def test_other_languages_say_what_a_comment_is() -> None:
    """In Cython and templates two names stand side by side; only a line that is a comment as a whole is left out."""
    assert reasons("a.pyx", f"cdef list x = {WORDS}") and reasons("a.py.in", f"@A@ b {WORDS}")
    assert reasons("a.pyx", f"# {WORDS}") == []
    assert reasons("run.sh", f"python -c '{WORDS}'")


C_SPOKEN = {
    "one line": ["/* it would fork() here */", 'x = 1; // or system("it")'],
    "lines": ["/* it would", " * fork() here, and", " * system() there */", "int x;"],
    "a text that looks like one": ['char *x = "/*";', "/* fork */"],
}
C_RUN = {
    "a comment that ended above": ['// */ system("x"); /*'],
    "one that ends in another": ['/* a /* b */ system("x"); /* */'],
    "a text with a beginning": ['char *x = "/*"; system("x"); /* */'],
    "a text that goes on": [' b "; /* " */ system("x"); /* */'],
    "a letter that goes on": [" '/* ", 'system("x"); /* */'],
    "a comment that goes on": [" a /*", 'system("x"); /* */'],
    "a raw text": ['R"(/*)"; system("x"); /* */'],
    "the end of a raw text": ['/* )"; system("x"); /* */'],
    "marks between digits": ["x = 1'0; y = \"'/*\"; system(x); /* */"],
    "a division": ['x = a / *b; system("x"); /* */'],
    "a word over two lines": ["/* */ sys\\", 'tem("x");'],
}


@pytest.mark.parametrize("how", C_SPOKEN)
def test_comments_of_c_may_speak(how: str) -> None:
    """Where all ways to read the hunk say that it is one; of its first line nobody knows."""
    assert reasons("src/a.c", "int a;", *C_SPOKEN[how]) == []
    assert of_hunk("src/a.c", " int a;", *(f"+{line}" for line in C_SPOKEN[how])) == []
    assert of_hunk("src/a.c", " int a;", " /*", *(f"-{line}" for line in C_SPOKEN[how]), "+ * fork", " */") == []


@pytest.mark.parametrize("how", C_RUN)
def test_code_of_c_that_looks_like_a_comment_is_read(how: str) -> None:
    """A hunk may begin in a comment or a text."""
    assert of_hunk("src/a.cpp", *(f"+{line}" for line in C_RUN[how]))


def test_long_lines_of_data_are_read_in_pieces() -> None:
    """What is short is whole in one of them, wherever it stands, and blanks do not make it long."""
    for before in range(0, 1500, 100):
        assert reasons("a.json", f'["{"1.5, " * before}x = {WORDS}{", 2" * 400}"]')
    assert reasons("a.dat", f"{'2,' * 999}setattr({' ' * 999}json, x)")
    assert reasons("a.csv", "1.5,2," * 999) == []
