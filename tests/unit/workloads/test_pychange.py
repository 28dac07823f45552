"""What an edit of a Python file changes."""

import pytest

from datasmith.workloads.pychange import FileChange, file_change

BASE = '''"""A module."""
import functools

LIMIT = 3


def f(x):
    """Say what f does."""
    return x + 1


@functools.lru_cache
def g(x, n=2):
    def inner(y):
        return y * n

    return inner(x)


class C:
    size = 1

    def method(self):
        return self.size

    @property
    def wide(self):
        return self.size * 2
'''


def change(old: str, new: str) -> FileChange:
    assert old in BASE
    return file_change(BASE, BASE.replace(old, new), own={"mine"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return x + 1", "return x + 1  # one more"),
        ('"""Say what f does."""', '"""Say it otherwise."""'),
        ('"""A module."""', '"""The module."""'),
        ("LIMIT = 3\n", "LIMIT = (3)\n\n\n"),
        ("def f(x):", "# before\ndef f( x ):"),
        ("LIMIT = 3", "LIMIT = 3\nif TYPE_CHECKING:\n    import os"),
    ],
    ids=["comment", "docstring", "module docstring", "layout", "comment before", "for type checkers"],
)
def test_what_does_not_run_is_no_change(old: str, new: str) -> None:
    """Comments, docstrings, layout, and imports for type checkers."""
    if "TYPE_CHECKING" in new:
        with_block = BASE.replace(old, new)
        assert file_change(with_block, with_block.replace("import os", "import re")) == FileChange()
    else:
        assert change(old, new) == FileChange()


@pytest.mark.parametrize(
    "reader",
    [
        "D = f.__doc__",
        "D = getattr(f, '__doc__')",
        "print(__doc__)",
        "f.__doc__ += ' More.'",
        "class D:\n    __doc__ = f.__doc__",
        "def d(doc=f.__doc__):\n    return doc",
        "@documented(f.__doc__)\ndef d():\n    return 1",
    ],
)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Say what f does."""', '"""Say it otherwise."""'),
        ('    """Say what f does."""\n', ""),
        ('"""A module."""', '"""The module."""'),
        ("class C:", 'class C:\n    """Sizes."""\n'),
    ],
)
def test_a_docstring_that_is_read_at_import_is_code(reader: str, old: str, new: str) -> None:
    """In whatever way the file's own top level asks for one, and whichever that is."""
    text = f"{BASE}\n\n{reader}\n"
    assert file_change(text, text.replace(old, new)).at_import is not None
    assert file_change(text, text.replace("return x + 1", "return 1 + x")).at_import is None


@pytest.mark.parametrize(
    "bystander",
    ["f.__doc__ = 'Another.'", "def d():\n    return f.__doc__", "class D:\n    def d(self):\n        return __doc__"],
)
def test_a_docstring_that_is_not_read_at_import_is_nothing(bystander: str) -> None:
    """To write one, or to define who reads it, reads none."""
    text = f"{BASE}\n\n{bystander}\n"
    assert file_change(text, text.replace("Say what f does", "Say it otherwise")) == FileChange()


@pytest.mark.parametrize(
    ("old", "new", "functions"),
    [
        ("return x + 1", "return 1 + x", {(7, "f")}),
        ("def f(x):", "def f(y):", {(7, "f")}),
        ("return y * n", "return n * y", {(14, "g.<locals>.inner")}),
        ("return inner(x)", "return inner(x + 0)", {(12, "g")}),
        ("return self.size\n", "return self.size + 0\n", {(23, "C.method")}),
        ("return self.size * 2", "return 2 * self.size", {(26, "C.wide")}),
    ],
)
def test_the_body_of_a_function_is_that_function(old: str, new: str, functions: set[tuple[int, str]]) -> None:
    """By the line that its code object begins at: that of its first decorator."""
    assert change(old, new) == FileChange(functions=frozenset(functions))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("import functools", "import functools\nfrom . import other"),
        ("import functools", "import functools\nimport mine.other"),
        ("import functools", "import functools\nfrom __future__ import annotations"),
        ("import functools", "import functools\nfrom re import *"),
        ("import functools", "import functools\nMADE = work()"),
        ("import functools", "import functools\nimport sys\n_OLD = sys.setswitchinterval(1)"),
        ("import functools", "import functools\nfrom gc import freeze as dict\n_OLD = dict()"),
        ("import functools", "import functools\nimport time as re\n_OLD = re.compile()"),
        ("LIMIT = 3", "LIMIT = 3\n_SEEN = functools.reduce(f, [1, 2])"),
        ("LIMIT = 3", "LIMIT = 3\n_MODE: f(1) = 1"),
        ("LIMIT = 3", "LIMIT = 3\n_MODE = f.fast"),
        ("LIMIT = 3", "LIMIT = 3\n_MODE = list(C)"),
        ("class C:", "def dict():\n    return 1\n\n\n_MODE = dict()\n\n\nclass C:"),
        ("class C:", "class C:\n    pass\n\n\n_MODE = C[1]\n\n\nclass C:"),
        ("LIMIT = 3", "LIMIT = 3\nLIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3\n__all__ = []"),
        ("@functools.lru_cache\n", ""),
        ("@functools.lru_cache", "@functools.cache"),
        ("n=2", "n=3"),
        ("size = 1", "size = 2"),
        ("class C:", "class C(list):"),
        ("class C:", "class D:\n    pass\n\n\nclass C:"),
        ("class C:", "def __getattr__(name):\n    return 1\n\n\nclass C:"),
        ("    def method", "    def __len__(self):\n        return 1\n\n    def method"),
        ("class C:", "@register\ndef new():\n    return 1\n\n\nclass C:"),
        ("class C:", "def new(x=work()):\n    return 1\n\n\nclass C:"),
        ("def f(x)", "def f(x"),
    ],
)
def test_code_that_runs_at_import_is_told(old: str, new: str) -> None:
    """Constants, imports, decorators, defaults, classes; methods that Python calls itself; what cannot be parsed."""
    assert change(old, new).at_import is not None


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("class C:", "def fresh(x, n=1):\n    return x\n\n\nclass C:", "fresh"),
        ("    def method", "    @staticmethod\n    def fresh():\n        return 1\n\n    def method", "fresh"),
    ],
)
def test_a_new_function_is_only_its_name(old: str, new: str, name: str) -> None:
    """Nobody runs it who does not look it up."""
    assert change(old, new) == FileChange(names=frozenset({name}))


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("import functools", "import functools\nfrom re import match as find", {"find"}),
        ("import functools", "import functools\nimport os.path", {"os"}),
        ("import functools", "import mine_not.functools as functools", {"functools"}),
        ("import functools", "import functools\nimport re\n_WORD = re.compile('a' + 'b')", {"re", "_WORD"}),
        ("LIMIT = 3", "LIMIT = 3\n_CACHE: dict = {}", {"_CACHE"}),
        ("LIMIT = 3", "LIMIT = 3\n_HALF: float = LIMIT / 2", {"_HALF"}),
        ("LIMIT = 3", "LIMIT = 3\n_ERRORS = (ValueError, TypeError)", {"_ERRORS"}),
        ("class C:", "_BY_NAME = {'f': f, 'g': [g]}\n\n\nclass C:", {"_BY_NAME"}),
        ("class C:", "_LATER = functools.partial(f, 1)\n\n\nclass C:", {"_LATER"}),
        ("import functools", "import functools\nimport os\nimport os.path\n_SEP = os.sep", {"os", "_SEP"}),
        (
            "import functools",
            "import functools\nfrom logging import getLogger as log\n_LOG = log('a')",
            {"log", "_LOG"},
        ),
        ("LIMIT = 3", "LIMIT = 3\n_HALF = functools.partial(int, base=2)", {"_HALF"}),
    ],
)
def test_imports_from_elsewhere_and_new_constants_are_their_names(old: str, new: str, names: set[str]) -> None:
    """They run no code of the tree, but importing the file takes another time."""
    assert change(old, new) == FileChange(names=frozenset(names), loads=True)


@pytest.mark.parametrize(
    "code",
    ["set('fast')", "settings['fast']", "types.SimpleNamespace()", "list(settings)", "{types: 1}", "type['fast']"],
)
def test_what_comes_from_the_tree_may_do_anything_when_it_is_used(code: str) -> None:
    """Under whatever name, and wherever it stands in a new constant."""
    old = "from .config import set, settings, type\nfrom . import types\n"
    assert file_change(old, f"{old}_MODE = {code}\n").at_import is not None


def test_an_annotation_that_is_not_evaluated_is_nothing() -> None:
    """It may name a class of the tree."""
    old = "from __future__ import annotations\nfrom .v import V\n"
    assert file_change(old, f"{old}_SEEN: dict[str, V] = {{}}\n").at_import is None
    assert file_change(old[35:], f"{old[35:]}_SEEN: dict[str, V] = {{}}\n").at_import is not None


@pytest.mark.parametrize(
    "old",
    [
        "from .config import *",
        "try:\n    pass\nexcept ValueError as set:\n    pass",
        "class set:\n    pass",
        "def set(*given):\n    pass",
        "set = f",
    ],
)
def test_a_name_that_is_bound_by_the_tree_is_no_builtin(old: str) -> None:
    """However it is bound."""
    assert file_change(f"{old}\n", f"{old}\n_MODE = set('fast')\n").at_import is not None


def test_another_part_of_a_package_is_another_import() -> None:
    """Both bind the same name."""
    found = file_change("import scipy\n", "import scipy.special\n")
    assert found == FileChange(names=frozenset({"scipy"}), loads=True)


def test_a_function_that_is_gone_or_renamed_is_a_change_of_it() -> None:
    """Who ran it notices; its new name may be noticed, too."""
    assert change("def f(x):", "def h(x):") == FileChange(frozenset({(7, "f")}), frozenset({"h"}))
    assert change('def f(x):\n    """Say what f does."""\n    return x + 1\n', "").functions == {(7, "f")}


def test_functions_may_change_places() -> None:
    """Definitions have no order of their own, but two of one name have."""
    first, second = "def a():\n    return 1\n", "def b():\n    return 2\n"
    assert file_change(first + second, second + first) == FileChange()
    again = "def a():\n    return 3\n"
    assert file_change(first + again, again + first).functions == {(1, "a"), (3, "a")}
