"""Names of modules that stand for something else in a patch's new lines, as is seen in the lines around them.

Only those lines are known, and what they do not show may be the module: a name counts as another thing where a
parameter, a loop or the result of a call gives it to one just above, and nothing in between can take it back. Still
the module can be handed in from where the same word is its name: so no line that is shown may use it like that.
"""

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from textwrap import dedent

from datasmith.tasks.targets import is_in_brackets

FURTHEST = 40
"""Lines above the use of a name in which it may be bound."""
LONGEST = 10
"""Lines that are read of the statement that uses it."""
MOST = 200
"""Lines of a hunk that may use a name: of more nobody asks what they mean by it."""
_OWNER = r"(?<![\w.]){0}(?=\.)|(?<=attr\(){0}(?=\s*,)|(?<=attr__\(){0}(?=\s*,)|(?<=vars\(){0}(?=\s*\))"
"""A name where attributes of the thing are meant, and not the thing itself."""
OWNERS = re.compile(_OWNER.format(r"\w+"))
_DOCSTRING = re.compile(r'\s*"""[^"\'#\\]*"""\s*')
_ENDLESS = re.compile(r'"""|\'\'\'')
"""Where a hunk begins in a text these end it, and what looks like code above them is none."""
_FETCHES = re.compile(r"import|modules")
_LOOKS_UP = re.compile(r"attr\(|attrgetter|__getattr|modules|globals|locals|vars|__dict__")
"""What finds a thing by a text that is its name."""
_IMPORTS = re.compile(r"\s*(from\s+[\w.]+\s+)?import\b(?!.*\bas\b)[\w\s.,()]*")
"""Lines that import things by their own names, as most files do: what they do with them stands elsewhere."""
_NEAR = 30
"""Characters before a name in which a word beside it begins."""
_ASSIGN = re.compile(r"(?<![=!<>:+*/%&|^@-])=(?!=)")
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d]\w*)\s+$")
_WORD_AFTER = re.compile(r"\s+([^\W\d]\w*)")
_KEYWORDS = frozenset([*keyword.kwlist, *keyword.softkwlist])
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor)
_UNCERTAIN = (
    *(*_FUNCTIONS, ast.Lambda, ast.ClassDef, *_LOOPS, ast.While, ast.Match, ast.ExceptHandler),
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal),
)
"""What may bind a name again, or run what uses it at another time."""


def without_bound(
    lines: Sequence[str],
    uses: Callable[[Sequence[str]], AbstractSet[int]],
    modules: AbstractSet[str],
    beside: Sequence[Sequence[str]] = (),
) -> list[str]:
    """A diff's hunk lines with their marks, in which names of modules that are bound in sight are written `_`.

    What gives a keyword of a call its value, or a parameter its default, is written as no assignment.

    `uses` gives the numbers of the lines that matter. Where one of them has another name of a module, all lines are
    left as they are. `beside` are the hunk lines of the patch's other files, which may hand a module in.
    """
    made, names = list(lines), _Names(modules, lines, beside)
    found = (
        (places[at], texts, at)
        for places, texts in _hunks(lines)
        for at in sorted(uses(texts) | _used_alone(texts, [lines[place].startswith("+") for place in places], uses))
    )
    for place, texts, at in found:
        if lines[place].startswith("+"):
            text = names.without_bound(texts, at)
            text = _ASSIGN.sub("==", text) if is_in_brackets(texts, at) else text
            if uses([text]):
                return list(lines)
            made[place] = f"+{text}"
    return made


def _used_alone(
    texts: Sequence[str], new: Sequence[bool], uses: Callable[[Sequence[str]], AbstractSet[int]]
) -> set[int]:
    """The same of the new lines without those between them, as they are searched."""
    places = [at for at, is_new in enumerate(new) if is_new]
    return {places[at] for at in uses([texts[at] for at in places])}


def imported(lines: Sequence[str]) -> set[str]:
    """All words of those lines of a diff that stay or are new, and import something."""
    shown = (line for line in lines if "import" in line and not line.startswith("-"))
    return {word for line in shown for word in re.findall(r"\w+", line)}


def _hunks(lines: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Of each hunk the places in the diff of the lines that it leaves, and their texts."""
    heads = [place for place, line in enumerate(lines) if line.startswith("@@")]
    for begin, end in pairwise([*heads, len(lines)]):
        places = [place for place in range(begin, end) if lines[place].startswith((" ", "+"))]
        yield places, [lines[place][1:].rstrip("\r") for place in places]


class _Names:
    """The names of modules in a file of a patch, and which of them no line is seen to use for the module."""

    def __init__(self, modules: AbstractSet[str], lines: Sequence[str], beside: Sequence[Sequence[str]]) -> None:
        self._modules = modules
        self._here = [texts for _, texts in _hunks(lines)]
        self._beside = [
            ["" if _IMPORTS.fullmatch(text) else text for text in texts]
            for other in beside
            for _, texts in _hunks(other)
        ]
        self._unused = dict.fromkeys(imported(lines), False)

    def without_bound(self, texts: Sequence[str], at: int) -> str:
        """The line with this number, where those of the names that are bound in sight are written `_`."""
        text = texts[at]
        for name in self._modules & set(OWNERS.findall(text)):
            if self._is_unused(name) and _is_bound(name, texts, at, self._modules):
                text = re.sub(_OWNER.format(name), "_", text)
        return text

    def _is_unused(self, name: str) -> bool:
        if name not in self._unused:
            pieces = [*((texts, "\\w") for texts in self._here), *((texts, "\\w.") for texts in self._beside)]
            self._unused[name] = not any(_is_used(name, texts, self._modules, more) for texts, more in pieces)
        return self._unused[name]


def _is_used(name: str, texts: Sequence[str], modules: AbstractSet[str], going_on: str) -> bool:
    """Whether a line of Python may mean the module by its name: as a value that is not bound in sight.

    None is what is called, a keyword of a call, or what is assigned to; or what an attribute is asked for, where
    `going_on`, the characters with which other things begin, has the dot: files beside it may use modules.
    """
    after = rf"(?![{going_on}]|\s*\(|\s*=(?!=))"
    value = re.compile(rf"(?<![\w.]){name}{after}")
    fetched = re.compile(rf"(?<=\.){name}(?!\w|\s*[.(]|\s*=(?!=))")
    quoted = re.compile(rf"""["'.]{name}["']""")
    code = [(at, text) for at, text in enumerate(texts) if name in text and not text.lstrip().startswith("#")]
    if any(_is_code(fetched, text) or (quoted.search(text) and _LOOKS_UP.search(text)) for _, text in code):
        return True
    places = [at for at, text in code if _is_code(value, text)]
    return len(places) > MOST or not all(_is_bound(name, texts, at, modules) for at in places)


def _is_code(pattern: re.Pattern[str], text: str) -> bool:
    """Whether it is found where no other word stands beside it, as in prose, unless that is one of Python's own."""
    for found in pattern.finditer(text):
        before = _WORD_BEFORE.search(text, max(0, found.start() - _NEAR), found.start())
        beside = (before, _WORD_AFTER.match(text, found.end()))
        if all(word is None or word[1] in _KEYWORDS for word in beside):
            return True
    return False


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
