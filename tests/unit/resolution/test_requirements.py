"""Requirement lines as people write them."""

import gzip
import json

import pytest
from packaging.requirements import Requirement

from datasmith.resolution.requirements import (
    MOST_LINES,
    Need,
    asks_for_releases,
    is_requirements_file,
    read_file,
    read_line,
    read_lines,
    unique,
)
from tests.real_data import real_data


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("numpy; platform_system=='Windows'", 'numpy; platform_system == "Windows"'),
        ("numpy~=1.2", "numpy~=1.2"),
        ("  pandas[test]>=1,<3  # because", "pandas[test]<3,>=1"),
        ("six==1.16.0 --hash=sha256:00", "six==1.16.0"),
        ("conda-forge::scipy=1.7", "scipy==1.7.*"),
        ("conda-forge/linux-64::pytables", "tables"),
        ("numpy=1.26.4=py312_0", "numpy==1.26.4.*"),
        ("numpy==1.21.0=py39h_0", "numpy==1.21.0"),
        ("numpy>=1.20=*openblas", "numpy>=1.20"),
        ("libblas=*=*openblas", "libblas"),
        ("scipy[version='>=1.7']", "scipy>=1.7"),
        ("python[version='>=3.8']", "python>=3.8"),
        ('python [version=">=3.8,<3.12"]', "python<3.12,>=3.8"),
        ("conda-forge::numpy[version='>=1.20',build=py38*]", "numpy>=1.20"),
        ("numpy[build=py38*, version=1.26]", "numpy==1.26.*"),
        ("numpy[channel=conda-forge]", "numpy"),
        ("numpy=1.21rc1", "numpy==1.21rc1"),
        ("\ufeffnumpy", "numpy"),
        ("pip+colorama", "colorama"),
        ("conda-forge::numpy 1.26.* py312_0", "numpy==1.26.*"),
        ("six==1.16.0 ; python_version<'4' --hash=sha256:00", 'six==1.16.0; python_version < "4"'),
    ],
)
def test_a_readable_line_gives_its_pep_508_form(line: str, requirement: str) -> None:
    """Markers, extras, comments, pip's hashes and conda's matches are understood; nothing is dropped."""
    reading = read_line(line)
    assert reading.requirements == (requirement,)
    assert reading.dropped == ()


@pytest.mark.parametrize(
    "line",
    [
        "-r other.txt",
        "-c constraints.txt",
        "--constraint=c.txt",
        "-e .",
        "--index-url https://x/simple",
        "--no-binary :all:",
        "./local",
        "git+https://x/y",
    ],
)
def test_an_option_or_a_path_is_never_taken_for_a_name(line: str) -> None:
    """What is no release is left out with a reason that says what it is."""
    reading = read_line(line)
    assert reading.requirements == ()
    assert reading.dropped[0].requirement == line
    assert reading.dropped[0].reason


@pytest.mark.parametrize("line", ["", "   ", "# a comment", "\t# another"])
def test_an_empty_line_says_nothing(line: str) -> None:
    """Neither a requirement nor something dropped comes from it."""
    assert read_line(line) == read_lines([])


def test_an_unreadable_line_does_not_cost_its_siblings() -> None:
    """Only the line itself is dropped, with the reader's reason."""
    reading = read_lines(["numpy", "this is !! none", "scipy>=1"])
    assert reading.requirements == ("numpy", "scipy>=1")
    assert [item.requirement for item in reading.dropped] == ["this is !! none"]
    assert "not a requirement" in reading.dropped[0].reason


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pytz >= 2011k", "pytz"),
        ("numpy>=1.2<2", "numpy"),
        ("pandas[test] ^1", "pandas[test]"),
        ("six; py == 3", "six"),
    ],
)
def test_a_name_may_stay_of_what_cannot_be_read(line: str, name: str) -> None:
    """Where it is needed, with the reason for what was lost; prose has none."""
    kept = read_lines([line, "this is !! none", "-e ."], keep_names=True)
    assert kept.requirements == (name,)
    assert kept.dropped[0].requirement == line and kept.dropped[0].reason.endswith("its name alone stays")
    assert read_line(line).requirements == ()


@pytest.mark.parametrize("line", ["numpy=1.20|1.21", "conda-forge::numpy >=1.7,<1.9|1.10.*"])
def test_conda_alternatives_keep_their_name(line: str) -> None:
    """What was lost is told."""
    reading = read_line(line)
    assert reading.requirements == ("numpy",)
    assert reading.dropped[0].requirement == line and "alternatives" in reading.dropped[0].reason


def test_a_url_keeps_its_name_and_says_what_was_lost() -> None:
    """The release of the same name stands in for something that no date can cap."""
    reading = read_line('foo[x] @ git+https://example.org/foo.git ; python_version > "3"')
    assert reading.requirements == ('foo[x]; python_version > "3"',)
    assert "cannot be capped" in reading.dropped[0].reason


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("evil @ http:/127.0.0.1:1/evil-1.0-py3-none-any.whl", ("evil",)),
        ("bar @ git@github.com:foo/bar.git", ("bar",)),
        ("a @ {root:uri}/a", ("a",)),
        ("foo[x]@./libs/foo;python_version>'3'", ('foo[x]; python_version > "3"',)),
        ("evil[version='@ http:/127.0.0.1:1/evil.whl']", ("evil",)),
        ("channel::evil @ http:/127.0.0.1:1/evil.whl", ("evil",)),
        ("evil @ some where", ("evil",)),
        ("evil-1.0-py3-none-any.whl", ("evil",)),
        ("git+https://example.org/foo.git@main#egg=foo", ("foo",)),
        (
            "git+ssh://git@h/foo#subdirectory=x&egg=foo[a,b]&x=1 ; python_version>'3'",
            ('foo[a,b]; python_version > "3"',),
        ),
        ("-e git+https://example.org/foo.git#egg=foo[x]", ("foo[x]",)),
        ("--editable=./libs/foo#egg=foo", ("foo",)),
        ("https://example.org/evil_one-1.0%2Bcpu-1-py2.py3-none-any.whl#sha256=00", ("evil_one",)),
        ("./dist/evil-1.0-py3-none-any.whl ; os_name=='nt'", ('evil; os_name == "nt"',)),
        ("https://example.org/foo.git#egg=", ()),
        ("https://example.org/evil-1.0.whl", ()),
        ("evil.tar.gz", ()),
    ],
)
def test_nothing_says_where_to_download_from(line: str, kept: tuple[str, ...]) -> None:
    """However it is written: the name alone stays, where there is one, and the rest is told."""
    reading = read_line(line, keep_name=True)
    assert reading.requirements == kept and len(reading.dropped) == 1
    assert not any(Requirement(text).url for text in read_line(line).requirements)


@pytest.mark.parametrize(
    "line",
    [
        "evil @ http:/h/evil.whl", "evil.whl", "-e .", "--index-url=http://h", "./evil", "/evil", "", "not one",
        "six\n-e ./evil", "six; os_name == '\n-e ./evil'", "six \\", "http://h/evil.whl", "six; " + "(" * 900,
    ],
)  # fmt: skip
def test_what_asks_for_releases_is_told_from_the_rest(line: str) -> None:
    """One line, a name, bounds and a marker; nothing of it is an option, an address or a path to anybody."""
    assert not asks_for_releases(line)
    assert asks_for_releases("six[x]<2,>=1; (os_name == 'a' or python_version > '3')")


def test_included_files_are_followed_once_and_cycles_end() -> None:
    """-r is relative to the file it stands in; a file outside the tree is dropped with its reason."""
    texts = {
        "requirements/test.txt": "-r base.txt\npytest \\\n  >=7\n-r gone.txt\n",
        "requirements/base.txt": "-r test.txt\nnumpy\n",
    }
    reading = read_file("requirements/test.txt", texts)
    assert reading.requirements == ("numpy", "pytest>=7")
    assert [item.requirement for item in reading.dropped] == ["-r gone.txt"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_continued_line_is_one(end: str) -> None:
    """Whatever system its file was written on."""
    reading = read_file("a.txt", {"a.txt": end.join(["numpy \\", "  >=1.2, \\", "  <2", "six", ""])})
    assert (reading.requirements, reading.dropped) == (("numpy<2,>=1.2", "six"), ())


def test_a_file_beyond_the_limit_is_told_and_costs_no_other() -> None:
    """Of all that is included together, wherever it stands."""
    texts = {
        "long.txt": "six\n" * MOST_LINES,
        "more.txt": "numpy\n" * 2,
        "all.txt": "-r more.txt\n-r long.txt\nscipy\n",
    }
    reading = read_file("all.txt", texts)
    assert reading.requirements == ("numpy", "numpy", "scipy")
    assert [item.requirement for item in reading.dropped] == ["-r long.txt"]
    assert len(read_file("long.txt", texts).requirements) == MOST_LINES


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("requirements.txt", True),
        ("ci/requirements-dev.txt", True),
        ("constraints.ci.txt", True),
        ("test_requirements.txt", True),
        ("requirements/tests.txt", True),
        ("reqs.txt", False),
        ("requirements.in", False),
        ("my-requirements-notes.md", False),
    ],
)
def test_requirements_files_are_known_by_their_names(path: str, expected: bool) -> None:
    """The name decides, not the place."""
    assert is_requirements_file(path) is expected


def test_the_same_text_is_wanted_once_for_its_first_reason() -> None:
    """A run-time requirement that the tests list again stays a run-time requirement."""
    needs = unique([Need("numpy", "runtime"), Need("numpy", "tests"), Need("numpy>1", "tests")])
    assert [(need.requirement, need.optional) for need in needs] == [("numpy", False), ("numpy>1", True)]


def test_every_pin_of_the_published_environments_is_read() -> None:
    """48 thousand pins of 782 real tasks: each becomes a PEP 508 requirement, none is lost."""
    with gzip.open(real_data("published_environments.jsonl.gz"), "rt") as lines:
        pins = {pin for line in lines for pin in json.loads(line)["pins"]}
    read = {pin: read_line(pin).requirements for pin in sorted(pins)}
    assert len(read) > 3000
    assert not [pin for pin, found in read.items() if len(found) != 1]
    assert all(Requirement(found[0]).name for found in read.values())


@pytest.mark.parametrize(
    "line", ["a" + " " * 900_000 + "x", "a" + "1" * 900_000, "a-" * 400_000, "a; " + "(" * 900_000]
)
def test_a_line_without_an_end_is_read_to_its_end(line: str) -> None:
    """Of a hostile repository: no pattern tries it in every way there is, and nothing of it is asked for."""
    found = read_line(line, keep_name=True)
    assert found.requirements in ((), ("a",)) and len(found.dropped) == 1
