"""What the new lines of a patch may not speak of: the grader, its clocks, frames and processes, other programs' code.

A line counts where the patch adds more of a thing than it takes away: code that is moved may keep what it had.
Words can be hidden from a search like this. It keeps out what is written plainly, and makes the rest look like what it
is; what holds the rest are the clocks, the outputs and the sandbox.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from datasmith.tasks.bound import OWNERS, imported, without_bound
from datasmith.tasks.gitdiff import FileChange
from datasmith.tasks.handed import handed
from datasmith.tasks.runnable import DATA, EXACT, LIKE, Manner, of_c, of_python
from datasmith.tasks.targets import assignments

PYTHON = (".py", ".pyi", ".pyx", ".pxd", ".pxi", ".pyx.in", ".pxd.in", ".pxi.in", ".py.in")
_C = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inc", ".tp")
_NATIVE = (*_C, ".rs", ".go", ".s", ".asm", ".f", ".for", ".f90", ".f95", ".f03", ".f08")
_ONLY_PYTHON = (".py", ".rst", ".md")
"""What no compiler is given. What has none of these ends is data, which may be read as Python, or as C."""
_NO_SOURCE = "|".join(map(re.escape, _ONLY_PYTHON))
_UNREAD = (
    *(".so", ".pyd", ".dll", ".dylib", ".a", ".o", ".lib", ".exe", ".pyc", ".pyo", ".whl", ".egg", ".zip", ".jar"),
    *(".pickle", ".pkl", ".dill", ".joblib"),
)
"""Files that run, and that nobody can read."""


_NAMES = (
    "time timeit gc sys os io pickle json random math statistics signal builtins importlib subprocess copyreg threading"
)
_MODULES = f"(?:{'|'.join(_NAMES.split())})"
_TOOLS = (
    "abc ast base64 collections contextlib copy datetime decimal fractions functools hashlib inspect itertools"
    " linecache operator re struct tokenize traceback types warnings weakref numpy np"
)
_CALLED = frozenset([*_NAMES.split(), *_TOOLS.split()])
"""Modules that a patch has no reason to change; the checks themselves call some of them."""
_VARIABLES = (
    "time io random math statistics signal copy collections datetime operator re struct tokenize types warnings inspect"
    " base64 abc ast decimal fractions"
)
_ONLY_MODULES = _CALLED.difference(_VARIABLES.split())
"""Those that nobody calls anything else; that `time` or `copy` is the module, an import has to say."""
_LIBRARIES = f"(?:{'|'.join(sorted(_CALLED))})"
_OTHERS = f"(?:{'|'.join(_TOOLS.split())})"
_TARGETS = r"(?:\*?[\w.\[\]\"']+\s*,\s*)*"
"""What may stand before the target of an assignment to several."""
_ONE_LINE = r"\b(?:if|elif|else|try|finally|for|while|with)\b.*:"
"""The head of a statement whose body stands in the same line."""
_ASSIGNED = rf"(^|;|{_ONE_LINE})\s*[(\[]*\s*{_TARGETS}{_LIBRARIES}(\.\w+)+\s*(,[\w\s.,*]*)?[)\]]*\s*(:[^=]+)?=(?!=)"
"""An attribute of such a module, as it seems, that is assigned to."""
_BY_FUNCTION = (
    rf"(?:\b(?:setattr|delattr|vars)|__(?:set|del)attr__)\(\s*{_OTHERS}(\.\w+)*\s*[,)]"
    rf"|(?<![\w.]){_OTHERS}(\.\w+)*\.__dict__"
)
"""The same by a function, or in the module's own table."""
_HELD = "what other modules hold"
_NAMED = (
    r"""["'](?!(?:func|perf|mono)|_*(?:get|glob|built|sub|clos|code|dict|cur|exit))_?[a-z]\w\w+(?:%s|\{\w*\})?["']"""
    r"""\s*(?:[+%]|\.format\()\s*[A-Za-z_][\w.\[\]]*\s*[,)]"""
)
"""A text that a name goes on with, such as `"nan" + name`; none with which names begin that are looked for here."""
_NAME_OF = r"[A-Za-z_][\w.\[\]]*"
_LAZILY = (
    rf"""importlib\s*\.\s*import_module\s*\(\s*(?:f["'][\w.]*\{{{_NAME_OF}\}}[\w.]*["']|{_NAME_OF})"""
    rf"""\s*(?:,\s*{_NAME_OF}\s*)?\)\s*,\s*[A-Za-z_]\w*\s*[,)]"""
)
"""A part of a package that is imported when it is asked for, as its `__getattr__` does: both are named by names."""
_OF_DATA = r"\s*\(\s*[A-Za-z_][\w.\[\]]*\s*\)(?!\s*\.)"
"""What a name holds is read, and taken for bytes."""
_IN_PYTHON: Mapping[str, tuple[str, ...]] = {
    "the tools of benchmarks or tests": (
        r"\b(asv_runner|asv_bench|_pytest|pluggy|junitxml|airspeed)\b|PYTEST_",
        r"""["']_?pytest["']|\b(import|from)\s+(pytest|asv)\b|\bpytest11\b""",
        r"""\b(import|from)\s+(inside|__main__)\b|\[\s*["'](__main__|inside)""",
        r"/opt/fc\b|/workspace\b|fc-junit|/logs/(verifier|agent)|\bwall_timer\b",
    ),
    _HELD: (
        _ASSIGNED,
        _BY_FUNCTION,
        rf"__(?:set|del)attr__\(\s*{_MODULES}(\.\w+)*\s*,",
        r"\bdefault_timer\s*=[^=]",
        r"\.(perf_counter|monotonic|process_time|thread_time|timeit)(_ns)?\s*=[^=]",
        rf"\b(setattr|delattr|vars)\(\s*{_MODULES}\b|\b{_MODULES}(\.\w+)*\.__dict__",
        rf"""\bgetattr\(\s*(?!math\s*[,)]|{_LAZILY}){_MODULES}\b|\bgetattr\(\s*math\s*,\s*["']_""",
        rf"\bdir\(\s*(?!math\s*[,)]){_MODULES}\b",
        r"\bunittest\.mock\b|\bmonkeypatch\b|__(globals|builtins|subclasses|closure|self)__\b",
        r"""\b(?:set|del)attr\s*\(\s*\*|[(,=\[]\s*(?:set|del)attr\s*[,)\]]|\.__(?:instance|subclass)check__\s*=[^=]""",
        r"\bsys\.modules\.(values|items|copy)\b|[(=]\s*sys\.modules\s*\)|\bfor\b.*\bin\s+sys\.modules\b",
        r"\bin\s+sys\.modules\b|\bsys\.modules\.(get|keys|setdefault|update|pop|__\w+__)\b|\bsys\.modules\s*\|=",
        r"\bsys\.modules\s*\[(?!\s*__name__\s*\])",
        r"\bget_(objects|referrers|referents)\s*\(",
        r"\bmeta_path\b|\bpath_hooks\b|\bMetaPathFinder\b|\bpath_importer_cache\b",
    ),
    "its callers": (
        r"_getframe|_current_frames|\bco_(consts|code)\b|\bf_(back|locals|globals|builtins)\b|\btb_frame\b",
        r"\btraceback\.((walk|extract|format|print)_stack|walk_tb|StackSummary)\b|\bfaulthandler\b",
        r"\b(gi|cr|ag)_frame\b|\bcell_contents\b",
        r"\bcurrentframe\b|\bgetouterframes\b|\binspect\.(stack|trace)\b|\bfindCaller\b",
        r"\bset(trace|profile)(_all_threads)?\s*\(|\bsys\.monitoring\b|\baddaudithook\b",
    ),
    "its process": (
        r"(?<![^\W_])(os|posix)\.(fork|forkpty|exec[lv]\w*|posix_spawnp?|dup2?|setsid|nice|setpriority|sched_set\w+|kill|killpg)\s*\(",
        r"(?<![^\W_])os\.(write|writev|pwrite|pwritev|closerange|fdopen|abort)\s*\(|\bopen\s*\(\s*\d|\bsys\.argv\b",
        r"\batexit\b|(?<![^\W_])os\._exit\b|\b__stdout__\b|\bsetswitchinterval\b|\borig_argv\b|\bSIGCH?LD\b",
        r"/proc/|/dev/(mem|shm)|\bLD_[A-Z_]+\b|\bPYTHON[A-Z]{3,}\b",
        r"\bctypes\.(pythonapi|PYFUNCTYPE|memmove|memset|string_at)\b|\bfrom_address\s*\(|\bPYFUNCTYPE\b",
        r"\bctypes\.cast\s*\(\s*id\s*\(",
        r"""\b(CDLL|PyDLL|LoadLibrary)\s*\(\s*(None|["']lib\w+\.so)|\bctypes\.util\b""",
    ),
    "code made of text": (
        r"""(?<![\w.])(?<!def )(exec|eval|__import__)\s*\((?!["'][\w.]+["']\))""",
        rf"""\bgetattr\s*\([^,]+,\s*(?!{_NAMED})["'][^"']*["']\s*[+%.]|\b__code__\s*=[^=]|["']__code__["']|\bCodeType\b|\bmarshal\b""",
        r"\brunpy\b|\b(Source|Sourceless|Extension)FileLoader\b|\bspec_from_(file_location|loader)\b",
        rf"\bcodecs\.decode\b|\bb(16|32|64|85)decode\b|(?<!\bfloat\.)\bfromhex\b(?!{_OF_DATA})|\[::-1\]\s*\)\s*\(|\battrgetter\s*\([^\"')]",
    ),
    "equality with everything": (r"def\s+__eq__\b.*:\s*return\s+True\b",),
    "the start of the interpreter": (
        r"""\.pth\b|\b__editable__|\bentry_points\s*=(?!=)|["']entry_points["']|\b(site|user)customize\b|\bpy_compile\b|\bcompileall\b""",
    ),
    "git's objects": (r"\bcat-file\b|\.git/|\brev-list\b|\bfor-each-ref\b",),
}
"""What is refused, and the expressions that find it in one line."""
_IN_NATIVE: Mapping[str, tuple[str, ...]] = {
    "memory": (r"\b(mprotect|process_vm_writev|ptrace|dlsym|dlopen|dl_iterate_phdr)\s*\(",),
    _HELD: (r"->\s*(m_ml|ml_meth)\b",),
    "a clock": (r"\b(clock_gettime|gettimeofday|clock_settime|_?PyTime_\w*)\s*\([^;]*\)\s*\{",),
    "its process": (
        r"\b(fork|vfork|execv[pe]*|_exit|setpriority|sched_set\w+|Py_AddPendingCall|LD_PRELOAD|SIGCH?LD)\b|/proc/",
        r"\b(system|posix_spawnp?|syscall|nice)\s*\(|\b_PyEval_SetSwitchInterval\b",
    ),
    "its callers": (r"\bPyEval_Get(Frame|Locals|Globals)\b|\bPyThreadState_GetFrame\b|\bPyFrame_Get\w+",),
    "code made of text": (
        rf"""(?:^\s*\#?\s*(?:include|define)\b|\bextern\s+from\b)[^=]*(?:{_NO_SOURCE})["'>]""",
        r"__attribute__\s*\(\(\s*constructor|\bPyRun_\w+|\bPy_CompileString\w*",
    ),
}
_ASSIGNS = re.compile(f"{_ASSIGNED}|{_BY_FUNCTION}")
_ROOT = re.compile(r"(?<![\w.])(?!os\.environ\b|sys\.modules\b)(\w+)\b(?!(?:\.\w+)*\()")
"""What a module is whose attributes, and items of these, nobody assigns to, unless it is called: no result of that is
its own. What is loaded has expressions of its own.
"""
_NAME = re.compile(r"(?<![\w.])\w+(?!\w|\s*=(?!=))")
"""A name, unless it is bound itself, or a keyword: what is in the module stays as it is."""
_CHAIN = re.compile(r"(?<![\w.])\w+(?:\.\w+)+")
_FETCHES = re.compile(r"""(?:__import__|\b(?:importlib\s*\.\s*)?import_module)\s*\(\s*["']([A-Za-z_][\w.]*)["']\s*\)""")
Line = tuple[str, ...]
"""A line with other names of modules undone, where there are any, and as it is: who says `as` renames nothing by it.

What the statement that begins with it assigns to may follow.
"""
_RENAMED = re.compile(r"\b(?<!\w\.)(?<!\.\.)([A-Za-z_][\w.]*)\s+as\s+([A-Za-z_]\w*)")
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_READABLE = re.compile(r"utf-?8(-sig)?|(us-?)?ascii|latin-?1|iso-?8859-?\d+|(cp|windows-?)125\d", re.IGNORECASE)
"""Encodings in which what looks like code is that code."""
_FROM = re.compile(r"\s*from\s+([\w.]+)\s+import\s+(.*)")


def content_reasons(change: FileChange, beside: Sequence[FileChange] = ()) -> list[str]:
    """Why a file's new content is refused; empty where nothing speaks against it. `beside` it others are changed."""
    name = change.path.lower()
    unread = name.endswith(_UNREAD) or ".so." in name.rsplit("/", 1)[-1] or not change.known
    if unread or any("\0" in line for line in change.lines if line.startswith("+")):
        return [] if change.deleted else ["machine code, byte code or an archive, which nobody can read"]
    found = [] if name.endswith(_NATIVE) else _in_python(change, beside)
    if not name.endswith(_ONLY_PYTHON):
        manner = EXACT if name.endswith(_C) else LIKE if name.endswith((*_NATIVE, *PYTHON)) else DATA
        added, removed = (of_c(change.lines, mark, manner) for mark in "+-")
        found += _more(_IN_NATIVE, [(text,) for text in added], [(text,) for text in removed])
    return list(dict.fromkeys(found))


def _in_python(change: FileChange, beside: Sequence[FileChange]) -> list[str]:
    name = change.path.lower()
    manner = EXACT if name.endswith(_ONLY_PYTHON) else LIKE if name.endswith(PYTHON) else DATA
    added, removed = (_code(change.lines, mark, manner) for mark in "+-")
    doubtful = added
    if manner != DATA:
        others = [other.lines for other in beside if other is not change and other.path.lower().endswith(PYTHON)]
        doubtful = _code(without_bound(change.lines, _assigning, _CALLED, others), "+", manner)
    cookies = [f"its encoding may hide what it says ({name})" for name in _cookies(change.lines)]
    return [*_more(_IN_PYTHON, added, removed, doubtful), *cookies]


def _cookies(lines: Sequence[str]) -> list[str]:
    """Names of encodings that new lines declare, as far as others than Python may read something else there."""
    found = (_COOKIE.match(line[1:].replace("_", "-")) for line in lines if line.startswith("+"))
    return [cookie[1] for cookie in found if cookie and not _READABLE.fullmatch(cookie[1])]


def _assigning(texts: Sequence[str]) -> set[int]:
    """The numbers of the lines that assign to what modules hold, as it seems."""
    plain = {at for at, text in enumerate(texts) if _ASSIGNS.search(text)}
    return plain | {at for at, text in assignments(texts, _has_root(_CALLED)) if _ASSIGNS.search(text)}


def _has_root(names: AbstractSet[str]) -> Callable[[str], bool]:
    return lambda text: any(found[1] in names for found in _ROOT.finditer(text))


def _more(
    words: Mapping[str, tuple[str, ...]],
    added: Sequence[Line],
    removed: Sequence[Line],
    doubtful: Sequence[Line] | None = None,
) -> Iterator[str]:
    """`doubtful` are the added lines where names that certainly are no modules' are left out."""
    for what, patterns in words.items():
        pattern = re.compile("|".join(f"(?:{one})" for one in patterns))
        more, fewer = list(_hits(pattern, added)), list(_hits(pattern, removed))
        left = more if doubtful is None or what != _HELD else list(_hits(pattern, doubtful))
        if left and len(more) > len(fewer):
            yield f"its new lines speak of {what} ({left[0].strip()[:40]!r})"


def _hits(pattern: re.Pattern[str], lines: Sequence[Line]) -> Iterator[str]:
    """What is found in each line, however it is read, that speaks of a thing."""
    for line in lines:
        found = next(filter(None, map(pattern.search, line)), None)
        if found:
            yield found[0]


def _code(lines: Sequence[str], mark: str, manner: Manner) -> list[Line]:
    """What Python may run of the lines with a mark, each also with other names of modules undone, in new ones all."""
    texts = of_python(lines, mark, manner)
    renamed = {name: full for text in texts for name, full in _names(text) if name != full}
    code = [_fetched(text) for text in texts]
    given, held = handed(_ONLY_MODULES | (imported(lines) & _CALLED), code) if mark == "+" else ({}, {})
    code = [_through(text, given | held) for text in code]
    # What is only handed on is meant where it is asked for attributes: a call may have a keyword of that name.
    undone = [partial(_NAME.sub, lambda found: renamed.get(found[0], found[0]))] if renamed else []
    undone += [partial(OWNERS.sub, lambda found: given.get(found[0], found[0]))] if given else []
    return [
        line
        if _FROM.match(line[0])
        else tuple(dict.fromkeys([*(undo(text) for undo in undone for text in line), *line]))
        for line in _readings(texts, code, {*_CALLED, *renamed, *given})
    ]


def _through(text: str, held: Mapping[str, str]) -> str:
    """A line in which what holds a module, as an attribute of something, is that module."""
    return _CHAIN.sub(partial(_last, held=held), text) if held else text


def _last(chain: re.Match[str], held: Mapping[str, str]) -> str:
    words = chain[0].split(".")
    at = next((at for at in reversed(range(1, len(words))) if words[at] in held), 0)
    return ".".join([held[words[at]], *words[at + 1 :]]) if at else chain[0]


def _fetched(text: str) -> str:
    """A line in which calls that import such a module by its name are that name."""
    return _FETCHES.sub(lambda found: found[1] if found[1] in _CALLED else found[0], text)


def _readings(texts: Sequence[str], code: Sequence[str], names: AbstractSet[str]) -> list[Line]:
    """Each line, the same in `code`, and what the statement that begins there assigns to of these names."""
    assigned = defaultdict[int, list[str]](list)
    for at, text in assignments(code, _has_root(names)):
        assigned[at].append(text)
    return [tuple(dict.fromkeys((text, code[at], *assigned[at]))) for at, text in enumerate(texts)]


def _names(line: str) -> Iterator[tuple[str, str]]:
    """(name, what it stands for) of an import."""
    whole = _FROM.match(line)
    module = f"{whole[1]}." if whole else ""
    yield from ((found[2], module + found[1]) for found in _RENAMED.finditer(line))
    if whole:
        yield from ((name, module + name) for name in re.split(r"[\s,()]+", whole[2]) if name.isidentifier())
