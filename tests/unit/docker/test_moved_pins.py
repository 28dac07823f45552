"""Some pins of an environment moved: what stays is linked, and the tree is that of a build from nothing, or none."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from datasmith.docker.moved_pins import Moved, moved, take_over
from datasmith.docker.trees import read_tree, tree_digest

SITE = "lib/python3.11/site-packages"
OPTIONS = "--only-binary :all:\n"
VENV = {"pyvenv.cfg": "venv", "bin/activate": "venv", f"{SITE}/_virtualenv.py": "venv"}


def lock(*pins: str, options: str = OPTIONS) -> str:
    """A lock with a hash and a comment for each pin."""
    return options + "".join(f"{pin} \\\n    --hash=sha256:{pin.replace('==', '')}\n    # via {pin}\n" for pin in pins)


def wheel(name: str, version: str, *modules: str, listed: bool = True) -> dict[str, str]:
    """What an environment holds of a distribution, with byte code, by path."""
    info = f"{SITE}/{name}-{version}.dist-info"
    files = {f"{SITE}/{module}": f"{name} {version}" for module in modules} | {f"{info}/METADATA": version}
    record = [path.removeprefix(f"{SITE}/") for path in files] + [f"../../../bin/{name}"] if listed else []
    code = {}
    for path in files:
        if path.endswith(".py"):
            place, _, module = path.rpartition("/")
            code[f"{place}/__pycache__/{module[:-3]}.cpython-311.pyc"] = f"byte code of {name} {version}"
    files[f"{SITE}/../../../bin/{name}"] = f"{name} {version}"
    record.append(f"{name}-{version}.dist-info/RECORD")
    files[f"{info}/RECORD"] = "".join(f"{path},sha256=x,1\n" for path in record)
    return files | code


def environment(place: Path, *wheels: Mapping[str, str]) -> Path:
    """A directory as a new environment with these distributions would be."""
    for files in (VENV, *wheels):
        for name, text in files.items():
            path = Path(os.path.normpath(place / name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (place / "lib64").symlink_to("lib")
    return place


ALPHA = wheel("Al.pha", "1", "alpha/__init__.py", "alpha/data")
BETA, BETTER = wheel("beta", "1", "beta.py", "beta_1.py"), wheel("beta", "2", "beta.py", "beta_2.py")
CHANGE = Moved("", frozenset({"al-pha"}), frozenset({"beta"}))


def test_what_moved_is_told_by_whole_entries() -> None:
    """Other versions, other hashes, new and missing names; comments are none, options stay."""
    old = lock("a==1", "b==1", "c==1", "d==1") + "E_e[x]==1\n"
    new = lock("a==1", "b==2", "f==1").replace("# via a", "# for a") + "e.e==1\n" + "c==1 \\\n    --hash=sha256:other\n"
    found = moved(old, new)
    assert found and set(found.kept) == {"a"} and set(found.gone) == {"b", "c", "d", "e-e"}
    assert [line for line in found.part.splitlines() if "==" in line or line[0] == "-"] == [
        "--only-binary :all:", "b==2 \\", "f==1 \\", "e.e==1", "c==1 \\",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", lock("a==1")),
        (lock("a==1"), lock("a==2")),
        (lock("a==1", options=""), lock("a==1", "b==1")),
        (lock("a==1", "A==2"), lock("a==1", "b==1")),
        (lock("a==1") + "b @ file:///b\n", lock("a==1")),
        (lock("a==1", options="--no-binary a\n"), lock("a==1", options="--no-binary a\n")),
    ],
    ids=["nothing there", "nothing stays", "options", "a name twice", "no pin", "sources"],
)
def test_nothing_stays(old: str, new: str) -> None:
    """Where it cannot be told by pins what is to be installed, everything is."""
    assert moved(old, new) is None


def test_what_stays_is_linked_and_the_tree_is_as_from_nothing(tmp_path: Path) -> None:
    """Files, programs, byte code and the libraries' empty directory of what stays; nothing of what is gone."""
    earlier = environment(tmp_path / "earlier", ALPHA, BETA)
    made, whole = environment(tmp_path / "made", BETTER), environment(tmp_path / "whole", ALPHA, BETTER)
    for place in (earlier, whole):
        (place / SITE / "Al.pha.libs").mkdir()
        (place / SITE / "alpha").chmod(0o700)
    (earlier / SITE / "beta.libs").mkdir()
    linked = take_over(made, earlier, read_tree(earlier).files, CHANGE)
    assert linked and set(linked) == {os.fsencode(os.path.normpath(name)) for name in ALPHA}
    assert tree_digest(made) == tree_digest(whole) == read_tree(made, known=linked, stamps=None).digest
    assert (made / SITE / "alpha/data").samefile(earlier / SITE / "alpha/data")
    assert not (made / "pyvenv.cfg").samefile(earlier / "pyvenv.cfg")


@pytest.mark.parametrize(
    ("there", "anew"),
    [
        ({**wheel("beta", "1", "alpha/__init__.py")}, BETTER),
        (BETA, wheel("beta", "2", "alpha/data")),
        (BETA, {f"{SITE}/alpha": "a file"}),
        ({**BETA, f"{SITE}/beta.txt": "in no RECORD"}, BETTER),
        (wheel("beta", "1", "beta.py", listed=False), BETTER),
        ({**BETA, **wheel("other", "1", "other.py")}, BETTER),
        ({**BETA, f"{SITE}/beta-1.dist-info/RECORD": "\x00\n\n" * 9 + '"' + "x" * 200_000}, BETTER),
    ],
    ids=["both had it", "both have it", "in the way", "nobody's", "no RECORD", "not locked", "broken RECORD"],
)
def test_what_cannot_be_told_is_not_taken(there: Mapping[str, str], anew: Mapping[str, str], tmp_path: Path) -> None:
    """None, and the earlier environment is as it was."""
    earlier, made = environment(tmp_path / "earlier", ALPHA, there), environment(tmp_path / "made", anew)
    before = tree_digest(earlier)
    assert take_over(made, earlier, read_tree(earlier).files, CHANGE) is None
    assert tree_digest(earlier) == before


@pytest.mark.parametrize("what", ["empty", "link", "file that is a link"])
def test_directories_and_links_of_nobody_are_not_taken(what: str, tmp_path: Path) -> None:
    """An empty directory that no distribution's files lie beside, a link that is not there anew."""
    earlier, made = environment(tmp_path / "earlier", ALPHA, BETA), environment(tmp_path / "made", BETTER)
    place = earlier / SITE
    if what == "empty":
        (place / "somebody").mkdir()
    elif what == "link":
        (place / "link").symlink_to("beta.py")
    else:
        (place / "alpha/data").unlink()
        (place / "alpha/data").symlink_to(tmp_path / "made/pyvenv.cfg")
    assert take_over(made, earlier, read_tree(earlier).files, CHANGE) is None


def test_nothing_is_linked_through_a_link(tmp_path: Path) -> None:
    """A directory that the new environment has as a link leads nowhere."""
    earlier, made = environment(tmp_path / "earlier", ALPHA, BETA), environment(tmp_path / "made", BETTER)
    (tmp_path / "outside").mkdir()
    (made / SITE / "alpha").symlink_to(tmp_path / "outside")
    assert take_over(made, earlier, read_tree(earlier).files, CHANGE) is None
    assert not list((tmp_path / "outside").iterdir())
