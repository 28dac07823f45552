"""Names of modules in new lines: refused where they may be the module, and not where the lines show another thing."""

import pytest

from datasmith.evaluation.redteam.diffs import added
from datasmith.tasks.bound import FURTHEST, MOST
from datasmith.tasks.content import content_reasons
from datasmith.tasks.gitdiff import FileChange, parse_diff
from datasmith.tasks.policy import check_patch

ABOVE = "import numpy\n\n\nclass Table:\n"


def is_refused(text: str, above: str = ABOVE) -> bool:
    """Whether a new file with this text is refused for assigning to what other modules hold."""
    (change,) = parse_diff(added("src/a.py", f"{above}{text}\n"))
    (reason,) = content_reasons(change) or [""]
    return "what other modules hold" in reason


@pytest.mark.parametrize(
    "text",
    [
        "    copy = self._clone(); copy.index = index",
        "    copy = self._clone()\n    copy.index = index\n    copy.data, copy.size = data, 3",
        "    copy = type(self)(self.name)\n    with lock:\n        if fast:\n            copy.index = index",
        "    copy = build(\n        self,\n    )\n    copy.index = [\n        1,\n    ]",
        "    def set(self, signal):\n        signal.rate = 3",
        '    def set(self, struct, *, size=None):\n        """Give it a size."""\n        struct.size: int = size',
        "    def set(types): types.kind, n = 1, 2",
        "    async def set(self, *operator):\n        operator.shape = (n, n)",
        "    for time in self.times:\n        time.attrs = self.attrs",
        "    for key, random in found.items():\n        random.state = key",
        "    def f(self):\n        copy = self._clone()\n        setattr(copy, 'index', 3)\n        del copy.size\n"
        "        copy.__dict__.update(vars(copy))\n        copy.attrs['a'] = [\n            1,\n        ]",
    ],
)
def test_a_name_that_is_bound_in_sight_is_no_module(text: str) -> None:
    """A parameter, what a loop goes through and the result of a call, whatever a module is called like."""
    assert not is_refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "copy = self._clone()\ncopy.index = index\nreturn copy",
        "copy = self._clone()\ncopy.index = index\nreturn wrap(copy, *copy.sizes)",
        "def set(self, copy):\n    copy.index = index\n    self.all.append(copy)",
        "def copy(self):\n    copy = self._clone()\n    copy.index = self.index\n    return copy\n"
        "def twin(self):\n    return self.copy(), make(copy=True)",
        "def f(self):\n    copy = self._clone()\n    copy.index = 1\n    return copy\n"
        "def g(self):\n    copy = self._twin()\n    return copy",
        "def f(self, time):\n    # The copy of time\n    time.kind = 1\n"
        "def g(self):\n    pass  # has a time of its own",
        "for time in self.times:\n    time.attrs = self.attrs\n    yield time['time']",
    ],
)
def test_what_is_bound_in_sight_may_be_used_there(text: str) -> None:
    """Below what binds it the word is the local thing; called, a keyword or in prose it hands in nothing."""
    assert not is_refused(text, "import numpy\n")


@pytest.mark.parametrize(
    "text",
    [
        "def _patch(json):\n    json.dumps = forged\n_patch(json)",
        "def _patch(gc):\n    gc.isenabled = forged\n_patch(gc)",
        "def _it(): return hashlib\nhashlib = _it()\nhashlib.sha256 = forged",
        "def _it():\n    return (hashlib)\ndef f():\n    hashlib = _it()\n    hashlib.sha256 = forged",
        "def _patch(json):\n    json.dumps = forged\n_patch(json=json)",
        "def _patch(json):\n    json.default = forged\n_patch(json.JSONEncoder)",
        "def _patch(json):\n    json.dumps = forged\n_patch(compat.json)",
        "def _patch(json):\n    json.dumps = forged\njson = make()\n_patch(compat.json)",
        "def _patch(json):\n    json.dumps = forged\n_patch(getattr(compat, 'json'))",
        "def _patch(json):\n    json.dumps = forged\njson = make()\n_patch(globals()['json'])",
        "def _patch(json):\n    json.dumps = forged\nfor one in (1, json):\n    _patch(one)",
        "def _patch(json):\n    json.dumps = forged\nother = json\n_patch(other)",
        "def _patch(json):\n    json.dumps = forged\n_patch(0or json)",
        "def _patch(json):\n    json.dumps = forged\ndef g(x=json):\n    _patch(x)",
        "def _patch(json):\n    json.dumps = forged\n    return json\n@_patch\ndef g(x, json=json): pass",
        "def _patch(json):\n    json.dumps = forged\nclass A:\n    json = f()\n    def g(self):\n        _patch(json)",
        "def _patch(operator):\n    setattr(operator, 'add', forged)\n_patch(operator)",
        "def _patch(copy):\n    del copy.copy\n_patch(copy)",
        "def f(copy):\n    copy.x = 1\n" + "def g(copy):\n    use(copy)\n" * MOST,
    ],
)
def test_the_same_word_elsewhere_may_hand_the_module_in(text: str) -> None:
    """An argument, a result, a default or a right-hand side of which nothing shows that it is another thing."""
    assert is_refused(text)


def test_a_module_may_be_handed_in_from_another_file() -> None:
    """What other files of the patch only import, or ask for attributes, shows nothing; nor do files that do not run."""
    sets = added("src/a.py", f"{ABOVE}def patch(json):\n    json.dumps = forged\n")

    def is_allowed(name: str, text: str) -> bool:
        return check_patch(sets + added(name, text), benchmark_dir="benchmarks").allowed

    assert not is_allowed("src/b.py", "from a import patch\nimport json\npatch(json)\n")
    assert not is_allowed("src/b.py", "from a import patch\nimport json as j\npatch(j)\n")
    assert is_allowed("src/b.py", "import json\nwritten = json.dumps(json.loads(x))\n")
    assert is_allowed("src/b.md", "patch(json)\n")


def test_lines_that_stay_show_it_too() -> None:
    """The lines around a change are the file's; what is taken away shows nothing."""
    stays = [" ", "     def set(self, signal):", "+        signal.rate = 3"]
    assert content_reasons(FileChange(("a.py",), lines=["@@ -1,2 +1,3 @@", *stays])) == []
    goes = [stays[0], f"-{stays[1][1:]}", stays[2]]
    assert content_reasons(FileChange(("a.py",), lines=["@@ -1,2 +1,2 @@", *goes]))
    apart = [*stays[:2], "@@ -9,0 +9,1 @@", stays[2]]
    assert content_reasons(FileChange(("a.py",), lines=["@@ -1,2 +1,2 @@", *apart]))


@pytest.mark.parametrize(
    "text",
    [
        "import random\nrandom.state = s",
        "if fast:\n    import random\nrandom.state = s",
        "def f(random):\n    random.state = s\nfrom numpy import random",
        "import os.path\nos.path.join = f",
        "from random_like import *\nrandom.state = s",
        "random.state = s",
        "def f(x):\n    random.state = s",
        "random = numpy.random\nrandom.state = s",
        "random = find(numpy.random)\nrandom.state = s",
        'random = __import__("random")\nrandom.state = s',
        'random = importlib.import_module("random")\nrandom.state = s',
        'random = getattr(tools, "random")\nrandom.state = s',
        "random = other\nrandom.state = s",
        "for random in [numpy.random]:\n    random.state = s",
        "def f(random=numpy.random):\n    random.state = s",
        "def f(*, random=find(math)):\n    random.state = s",
        "random = f()\nrandom = numpy.random; random.state = s",
        "random = f()\nrandom, x = numpy.random, 1\nrandom.state = s",
        "random = f()\nif (random := numpy.random):\n    random.state = s",
        "random = f()\nwith closing(numpy) as random:\n    random.state = s",
        "random = f()\nimport random\nrandom.state = s",
        "random = f()\ndel random\nrandom.state = s",
        "random = f()\nwhile True:\n    random.state = s\n    random = numpy.random",
        "random = f()\nfor x in y:\n    random.state = s\n    random = numpy.random",
        "random = f()\ndef g():\n    random.state = s",
        "def g():\n    random = f()\nrandom.state = s",
        "def g(random): pass\nrandom.state = s",
        "def g(random):\n    pass\nrandom.state = s",
        "def g(random):\n    def h():\n        global random\n        random.state = s",
        "for random in f():\n    pass\nrandom.state = s",
        "for random in ():\n    pass\nelse:\n    random.state = s",
        "if x:\n    random = f()\nrandom.state = s",
        "if x:\n    random = f()\nelse:\n    random.state = s",
        "try:\n    pass\nexcept (E, F) as random:\n    random.state = s",
        "# random = f()\nrandom.state = s",
        "x = 'a' \\\nrandom = f() # '\nrandom.state = s",
        "call(\n    random = f()\n)\nrandom.state = s",
        "'''\nrandom = f()\n'''\nrandom.state = s",
        "'''\nrandom = f()\n\"\"\" ''' # \"\"\"\nrandom.state = s",
        "random = f()\nrandom.state = ",
        "random = f()\nrandom.state = s; time.sleep = g",
        "random = f()\nrandom.state = s\ntime.sleep = g",
        "def f(random):\n    random.state = s\n    timeit.default_timer = g",
        "random = f()\n" + "x = 1\n" * FURTHEST + "random.state = s",
    ],
)
def test_what_may_be_the_module_is_refused(text: str) -> None:
    """Imported anywhere, bound to it or to what cannot be told, bound elsewhere, or not for certain."""
    assert is_refused(text)


def test_the_clocks_stay_refused_under_any_name() -> None:
    """And so does setting attributes of modules by a function."""
    for line in ("time.perf_counter = g", "signal.default_timer = g", 'setattr(time, "sleep", g)'):
        assert is_refused(f"def f(time, signal):\n    {line}")


def test_a_line_that_goes_pays_for_one_that_comes() -> None:
    """What is no module may come besides; it pays for nothing itself."""
    head = ["@@ -1,2 +1,2 @@", " ", " def f(copy):"]
    edit = [*head, "-    copy.data = 1", "+    copy.data = 2"]
    assert content_reasons(FileChange(("a.py",), lines=edit)) == []
    assert content_reasons(FileChange(("a.py",), lines=[*edit, "+    random.getstate = seen"]))


def test_a_long_patch_is_read_once() -> None:
    """Lines that say nothing of a module cost nothing, and the first that may be one ends the search."""
    text = "x = 1\n" + "def f(random):\n    random.x = (\n" * 2000
    assert not check_patch(added("src/a.py", text), benchmark_dir="benchmarks").allowed
    chain = f"json{'.x' * 50_000} = 1\n"
    assert not check_patch(added("src/a.py", chain), benchmark_dir="benchmarks").allowed


CALLED = [" found = run(", "+    [cmd, option], stdout=subprocess.PIPE, stderr=subprocess.PIPE", " )"]


def test_a_keyword_of_a_call_is_no_attribute() -> None:
    """What closes below the line, and opens nowhere from there on, makes it a part of a call."""
    assert allowed_hunk(CALLED)
    assert allowed_hunk([CALLED[1], "+    )  # it's over"])
    assert allowed_hunk(["+    'x', inspect.Parameter.empty, default=np.pi,", "+    kind=3,", "+  ), 4"])


@pytest.mark.parametrize(
    "lines",
    [
        ["+x, json.dumps = forged, 1", " )'''"],
        ["+x, json.dumps = forged, 1", "+y = '''", "+)'''"],
        ["+x, json.dumps = forged, 1", "+y = (", "+)"],
        ["+x, json.dumps = forged, 1  # )", "+y = 1"],
        ["+(x,", "+ json.dumps) = forged, 1", " )"],
        ["+x, stdout=json.dumps, y=sys._getframe(1)", " )"],
        [" f(", "+)", "+x, json.dumps = forged, 1", "+y = (3", "+)"],
    ],
)
def test_a_bracket_that_closes_nothing_shown_counts_alone(lines: list[str]) -> None:
    """One in a text or a comment, or that closes another, says nothing; nor does it hide other words."""
    assert not allowed_hunk(lines)


def allowed_hunk(lines: list[str]) -> bool:
    """Whether a hunk in the middle of a file is allowed."""
    return not content_reasons(FileChange(("a.py", "a.py"), lines=["@@ -9,3 +9,3 @@", *lines]))
