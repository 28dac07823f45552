"""What lines of Python assign to or delete, as Python itself reads them: by loops, `with`, `del` or several at once.

The lines are pieces of a program, so each statement is read alone, and the head of one without what stands below it.
What is no statement of Python (an extension of it, or the middle of a text) is left to those who search for words.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

MOST = 50
"""Lines that are read of one statement."""
LONGEST = 50_000
"""Characters of one that is read."""
_TEXT = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\])*\1""")
_FIRST = re.compile(r"\w+")
_BEFORE = {
    "elif": "if _: pass\n",
    "else": "if _: pass\n",
    "except": "try: pass\n",
    "finally": "try: pass\n",
    "case": "match _:\n ",
}
"""What stands before a line of its kind, so that it is a statement."""
_BELOW = ("", "\n  pass", "\nfinally: pass")
_SETTERS = frozenset({"setattr", "delattr", "vars"})
_Chain = ast.Attribute | ast.Subscript


def assignments(texts: Sequence[str], matters: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """(number of the line where its statement begins, `a.b = _`) of each attribute, or item of one, that is bound.

    By a function, too: `setattr(a, _)`. `matters` says whether a piece of code has a first name of one that counts.
    """
    for at, body in statements(texts, matters):
        yield from ((at, target) for target in _targets(body) if matters(target))


def statements(texts: Sequence[str], matters: Callable[[str], bool]) -> Iterator[tuple[int, list[ast.stmt]]]:
    """(number of the line where it begins, itself) of each statement whose text matters."""
    depths = [_depth(text) for text in texts]
    at = 0
    while at < len(texts):
        end = _end(depths, at)
        together = "\n".join(texts[at:end]).strip()
        body = _statements(together) if matters(together) else []
        if body is None and end > at + 1:
            end, body = at + 1, _statements(texts[at].strip())
        if body:
            yield at, body
        at = end


def is_in_brackets(texts: Sequence[str], at: int) -> bool:
    """Whether a line after this one closes a bracket that nothing from this line on opens: all of it stands in one.

    Nothing above the line is asked, so that it does not matter what of it is code.
    """
    depth = 0
    for place in range(at, min(at + MOST, len(texts))):
        code = _TEXT.sub("", texts[place]).split("#", 1)[0]
        if "'" in code or '"' in code:
            return False
        for char in code:
            depth += (char in "([{") - (char in ")]}")
            if depth < 0:
                return place > at
    return False


def _depth(text: str) -> int:
    """How many brackets a line leaves open."""
    code = _TEXT.sub("", text).split("#", 1)[0]
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def _end(depths: Sequence[int], at: int) -> int:
    """The number of the line after a statement's last; it has one line where its brackets are never closed."""
    depth = 0
    for end in range(at, min(at + MOST, len(depths))):
        depth += depths[end]
        if depth <= 0:
            return end + 1
    return at + 1


def _statements(text: str) -> list[ast.stmt] | None:
    """None where the text is no statement, or too long to be read as one."""
    if len(text) > LONGEST:
        return None
    first = _FIRST.match(text)
    before = _BEFORE.get(first[0], "") if first else ""
    for below in _BELOW:
        try:
            return ast.parse(before + text + below).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _targets(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, _Chain) and not isinstance(node.ctx, ast.Load):
            words = list(_words(node))
            if len(words) > 1:
                yield f"{'.'.join(reversed(words))} = _"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SETTERS and node.args:
            words = list(_words(node.args[0]))
            if words:
                yield f"{node.func.id}({'.'.join(reversed(words))}, _)"


def _words(node: ast.expr) -> Iterator[str]:
    """The names of a chain of attributes and items, the last first; none where it does not start with a name."""
    while isinstance(node, _Chain):
        if isinstance(node, ast.Attribute):
            yield node.attr
        node = node.value
    if isinstance(node, ast.NamedExpr):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
