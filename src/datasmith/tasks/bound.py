"""Names of modules that stand for something else in a patch's new lines, as is seen in the lines around them.

Only those lines are known, and what they do not show may be the module: a name counts as another thing where a
parameter, a loop or the result of a call gives it to one just above, and nothing in between can take it back.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from textwrap import dedent

FURTHEST = 40
"""Lines above the use of a name in which it may be bound."""
LONGEST = 10
"""Lines that are read of the statement that uses it."""
_OWNER = re.compile(r"(?<![\w.])\w+(?=\.)")
_DOCSTRING = re.compile(r'\s*"""[^"\'#\\]*"""\s*')
_ENDLESS = re.compile(r'"""|\'\'\'')
"""Where a hunk begins in a text these end it, and what looks like code above them is none."""
_FETCHES = re.compile(r"import|modules")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor)
_UNCERTAIN = (
    *(*_FUNCTIONS, ast.Lambda, ast.ClassDef, *_LOOPS, ast.While, ast.Match, ast.ExceptHandler),
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal),
)
"""What may bind a name again, or run what uses it at another time."""


def without_bound(lines: Sequence[str], uses: re.Pattern[str], modules: AbstractSet[str]) -> list[str]:
    """A diff's hunk lines with their marks, in which names of modules that are bound in sight are written `_`.

    `uses` finds the lines that matter. Where one of them has another name of a module, all lines are left as they are.
    """
    after = [line for line in lines if not line.startswith("-")]
    imported = {word for line in after if "import" in line for word in re.findall(r"\w+", line)}
    made = list(lines)
    for place, texts, at in _added(lines):
        if uses.search(texts[at]):
            made[place] = "+" + _without(texts, at, modules, modules - imported)
            if uses.search(made[place][1:]):
                return list(lines)
    return made


def _added(lines: Sequence[str]) -> Iterator[tuple[int, list[str], int]]:
    """Of each added line: its place in the diff, the text that its hunk leaves, and its place in that."""
    heads = [place for place, line in enumerate(lines) if line.startswith("@@")]
    for begin, end in pairwise([*heads, len(lines)]):
        places = [place for place in range(begin, end) if lines[place].startswith((" ", "+"))]
        texts = [lines[place][1:].rstrip("\r") for place in places]
        yield from ((place, texts, at) for at, place in enumerate(places) if lines[place].startswith("+"))


def _without(texts: Sequence[str], at: int, modules: AbstractSet[str], names: AbstractSet[str]) -> str:
    """The line with this number, where those of the names that are bound in sight are written `_`."""
    text = texts[at]
    for name in names & set(_OWNER.findall(text)):
        if _is_bound(name, texts, at, modules):
            text = re.sub(rf"(?<![\w.]){name}(?=\.)", "_", text)
    return text


def _is_bound(name: str, texts: Sequence[str], at: int, modules: AbstractSet[str]) -> bool:
    """Whether the nearest line above, or the line itself, certainly gives the name to something that is no module."""
    binds = re.compile(rf"\s*({name}\s*=[^=]|(async\s+)?(for|def)\b.*\b{name}\b)")
    begin = next((place for place in range(at, max(at - FURTHEST, 0), -1) if binds.match(texts[place])), 0)
    if not begin or texts[begin - 1].endswith("\\"):
        return False
    ends = range(at + 1, min(at + LONGEST, len(texts)) + 1)
    body = next((found for end in ends if (found := _parsed(texts[begin:end]))), None)
    return body is not None and _binds(name, body, modules)


def _parsed(texts: Sequence[str]) -> list[ast.stmt] | None:
    """The statements of lines of Python; None where that is no whole piece of a program, or may lie in a text."""
    if any(_ENDLESS.search(text) for text in texts if not _DOCSTRING.fullmatch(text)):
        return None
    try:
        return ast.parse(dedent("\n".join(texts))).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _binds(name: str, body: Sequence[ast.stmt], modules: AbstractSet[str]) -> bool:
    first, later = body[0], list(body[1:])
    if isinstance(first, _FUNCTIONS) and not later:
        given = [*first.args.defaults, *filter(None, first.args.kw_defaults)]
        bound = any(node.arg == name for node in ast.walk(first.args) if isinstance(node, ast.arg))
        later = first.body
    elif isinstance(first, _LOOPS) and not later and not first.orelse:
        given, later = [first.iter], first.body
        bound = any(_stores(name, node) for node in ast.walk(first.target))
    elif isinstance(first, ast.Assign) and isinstance(first.value, ast.Call):
        given, bound = [first.value], [ast.unparse(target) for target in first.targets] == [name]
    else:
        return False
    if any(_FETCHES.search(text) or modules & set(re.findall(r"\w+", text)) for text in map(ast.unparse, given)):
        return False
    nodes = [node for statement in later for node in ast.walk(statement)]
    return bound and not any(isinstance(node, _UNCERTAIN) or _stores(name, node) for node in nodes)


def _stores(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
