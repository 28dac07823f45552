"""Runs the code blocks of README.md and docs/, in a copy of the project."""

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.house.source import ROOT, project_files
from tests.snippets.blocks import Block, agrees, commands, read_blocks, shape

PAGES = [path for path in project_files() if path.suffix == ".md" and path.parent != ROOT / "docs" / "reference"]
PAGES = [path for path in PAGES if path == ROOT / "README.md" or ROOT / "docs" in path.parents]
BLOCKS = [block for path in PAGES for block in read_blocks(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))]


def groups() -> list[tuple[str, list[Block]]]:
    """The blocks to run, by page and group."""
    found: dict[str, list[Block]] = defaultdict(list)
    for block in BLOCKS:
        if not block.reason:
            found[f"{block.page}#{block.group}"].append(block)
    return sorted(found.items())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project's files in a directory of their own."""
    place = tmp_path / "project"
    for path in project_files():
        target = place / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
    return place


def run_words(words: list[str], place: Path) -> str:
    """What a command prints; it must succeed."""
    env = {name: os.environ[name] for name in ("HOME", "LANG", "SSL_CERT_FILE", "PIP_CERT") if name in os.environ}
    env |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def run_block(block: Block, place: Path) -> None:
    """Run one block; the output that a console block shows must have the shape of the real one."""
    if block.language == "python":
        run_words([sys.executable, "-c", block.text], place)
    elif block.language == "bash":
        run_words(["bash", "-euc", block.text], place)
    else:
        for command, shown in commands(block.text):
            printed = run_words(["bash", "-euc", command], place)
            assert agrees(shown, printed), f"{command}\nshown: {shape(shown)}\nprinted: {shape(printed)}"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "blocks"), groups(), ids=[name for name, _ in groups()])
def test_the_documentation_runs(name: str, blocks: list[Block], copy: Path, request: pytest.FixtureRequest) -> None:
    """A reader who copies the blocks of a page gets what the page says."""
    if name.endswith("#demo"):
        (copy / "demo").symlink_to(request.getfixturevalue("demo").place)
    for block in blocks:
        run_block(block, copy)


def test_a_block_that_is_not_run_says_why() -> None:
    """There is a reason, in words, for every block that nothing checks."""
    assert all(len(block.reason.split()) >= 3 for block in BLOCKS if block.reason)


PAGE = """
<!-- run: demo -->
```bash
a
```
- x

  ```python
  b = 1
  ```
<!-- not run: it is long -->
```console
$ c
```
```toml
d
```
"""


def test_marks_and_fences_are_read() -> None:
    """The reader of pages itself: groups, reasons, indentation, and fences of other languages."""
    first, second, third = read_blocks("p.md", PAGE)
    assert (first.group, first.text, second.text, second.group) == ("demo", "a\n", "b = 1\n", "page")
    assert (third.reason, third.language, third.line) == ("it is long", "console", 12)


def test_outputs_are_compared_by_shape() -> None:
    """Figures and widths may differ, words and lines may not; an ellipsis stands for what is left out."""
    assert commands("$ a \\\n  b\nout\n$ c\n") == [("a \\\n  b", "out\n"), ("c", "")]
    assert agrees("took 3.5 s\n...\nend  1\n", "took 12 s\nx\ny\nend 2\n")
    assert not agrees("took 3.5 s\n", "took 3.5 min\n")
    assert not agrees("one\n", "one\ntwo\n")
