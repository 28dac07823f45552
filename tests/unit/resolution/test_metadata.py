"""Three files become one description."""

import pytest

from datasmith.errors import ResolutionError
from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.resolution.metadata import LEGACY_BACKEND, pretend_version, read_metadata
from datasmith.resolution.needs import collect


def tree(texts: dict[str, str], *paths: str) -> SourceTree:
    return SourceTree(texts, (*texts, *paths))


def test_a_legacy_project_is_built_with_setuptools() -> None:
    """No pyproject.toml: setuptools and wheel, and what setup_requires adds."""
    found = read_metadata(
        tree({"setup.py": "setup(name='old', setup_requires=['numpy'], install_requires=['six'])"}, "old/__init__.py"),
        "o/old",
    )
    assert found.build_backend == LEGACY_BACKEND
    assert found.build_requires == ("setuptools", "wheel", "numpy")
    assert (found.name, found.dependencies, found.import_names) == ("old", ("six",), ("old",))


def test_each_field_comes_from_the_file_that_has_it() -> None:
    """pyproject.toml before setup.cfg before setup.py; extras add up."""
    found = read_metadata(
        tree(
            {
                "pyproject.toml": '[build-system]\nrequires = ["setuptools", "Cython"]\nbuild-backend = "b"',
                "setup.cfg": "[metadata]\nname = mixed\n[options]\npython_requires = >=3.8\n"
                "[options.extras_require]\ntest = pytest\n",
                "setup.py": "setup(install_requires=['numpy'], extras_require={'bench': ['pandas']})",
            }
        ),
        "o/mixed",
    )
    assert (found.name, found.requires_python, found.dependencies) == ("mixed", ">=3.8", ("numpy",))
    assert found.extras == {"bench": ("pandas",), "test": ("pytest",)}
    assert found.build_requires == ("setuptools", "Cython")


CONDITIONAL = """setup(name='x', install_requires=['numpy'], extras_require={
    ':python_version<"3.11"': ['tomli'], 'test:os_name!="nt"': ['mock; python_version > "3"'], 'test': ['six'],
    ':bad': ['attrs']})"""


def test_an_extra_may_stand_under_a_condition() -> None:
    """Setuptools' keys: without a name they are run-time requirements; what cannot be read is said to go."""
    texts = tree({"setup.py": CONDITIONAL})
    found = read_metadata(texts, "o/x")
    assert found.dependencies == ("numpy", 'tomli; (python_version<"3.11")', "attrs; (bad)")
    assert found.extras == {"test": ('mock; (python_version > "3") and (os_name!="nt")', "six")}
    wanted = collect(texts, found, AsvHints())
    runtime = [need.requirement for need in wanted.needs if need.origin == "runtime"]
    assert runtime == ["numpy", 'tomli; python_version < "3.11"', "attrs"]
    assert [item.requirement for item in wanted.dropped] == ["attrs; (bad)"]


def test_computed_dependencies_are_said_to_be_unknown() -> None:
    """They are none, and the log will say why."""
    found = read_metadata(tree({"setup.py": "setup(name='x', install_requires=read())"}), "o/x")
    assert (found.dependencies, found.dependencies_known, found.notes) == ((), False, ())
    assert found.unknown == ("dependencies",)


@pytest.mark.parametrize(
    ("texts", "known"),
    [
        ({"setup.py": "setup(install_requires=[], extras_require=extras())"}, False),
        ({"setup.py": "extras = {'test': ['six']}\nextras.update(more)\nsetup(extras_require=extras)"}, False),
        ({"setup.py": "setup(extras_require={'test': read()}, tests_require=['six'])"}, False),
        ({"setup.py": "setup(extras_require={'test': ['six']})"}, True),
        ({"setup.py": "setup(install_requires=[])"}, True),
        ({"setup.py": "setup(**more)"}, False),
        ({"setup.py": "setup(**more)", "setup.cfg": "[options]\ninstall_requires = six\n"}, True),
        ({"setup.py": "setup(extras_require=extras())", "pyproject.toml": "[project]\nname = 'x'\n"}, True),
        ({"pyproject.toml": "[project]\nname = 'x'\ndynamic = ['optional-dependencies']\n"}, False),
        (
            {
                "pyproject.toml": "[project]\nname = 'x'\ndynamic = ['optional-dependencies']\n",
                "setup.cfg": "[options.extras_require]\ntest = six\n",
            },
            True,
        ),
        (
            {
                "pyproject.toml": "[project]\nname = 'x'\ndynamic = ['optional-dependencies']\n"
                "[tool.setuptools.dynamic]\noptional-dependencies.test = {file = 'test.txt'}\n"
            },
            True,
        ),
    ],
)
def test_computed_extras_are_said_to_be_unknown(texts: dict[str, str], known: bool) -> None:
    """Not where pyproject.toml leaves nothing to code, and not where files list them."""
    found = read_metadata(tree(texts), "o/x")
    assert found.extras_known is known and ("extras" in found.unknown) is not known


@pytest.mark.parametrize(
    ("setup", "known"),
    [
        ("setup(setup_requires=['pbr>=2'], pbr=True)", False),
        ("setup(pbr=True)", False),
        ("setup(pbr=wanted())", False),
        ("setup(setup_requires=['pbr'])", False),
        ("setup(setup_requires=['pbr'], install_requires=['six'])", True),
        ("setup(setup_requires=['pbr'], install_requires=['six'], pbr=True)", False),
        ("setup(setup_requires=['wheel'], pbr=False)", True),
    ],
)
def test_what_pbr_reads_is_not_known(setup: str, known: bool) -> None:
    """It takes requirements.txt, and the files that its own settings name, when it runs."""
    texts = {"setup.py": setup, "setup.cfg": "[metadata]\nname = x\n", "requirements.txt": "numpy\n"}
    found = read_metadata(tree(texts), "o/x")
    assert found.dependencies_known is known
    assert ("numpy" in [need.requirement for need in collect(tree(texts), found, AsvHints()).needs]) is not known


@pytest.mark.parametrize(
    "texts",
    [
        {
            "pyproject.toml": '[project]\nname = "x"\ndynamic = ["dependencies"]\n'
            '[tool.setuptools.dynamic]\ndependencies = {file = ["needed"]}\n'
        },
        {"setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires = file: needed\n"},
    ],
)
def test_dependencies_in_a_file_are_known_where_it_was_read(texts: dict[str, str]) -> None:
    """Else they are not, whatever the tree holds, and the remark names the file."""
    read = read_metadata(tree(texts | {"needed": "numpy"}), "o/x")
    assert (read.dependencies, read.dependencies_known, read.notes) == (("-r needed",), True, ())
    unread = read_metadata(tree(texts, "needed"), "o/x")
    assert (unread.dependencies, unread.dependencies_known) == ((), False)
    assert unread.notes == ("the dependencies stand in needed, which is not in the tree, or not read",)


def test_the_project_may_lie_in_a_directory() -> None:
    """A tree whose root only configures tools has its project where the metadata is, or where the install goes."""
    files = {
        "pyproject.toml": "[tool.ruff]\nline-length = 100\n",
        "python/pyproject.toml": '[project]\nname = "p"\n',
        "plugin/setup.py": "setup(name='plugin')",
    }
    assert read_metadata(tree(files), "o/r").root == "python"
    assert read_metadata(tree(files), "o/r", ("./plugin[test]",)).root == "plugin"


def test_a_tree_without_a_project_is_an_error_that_says_what_is_missing() -> None:
    """A repository of notes has nothing to install."""
    with pytest.raises(ResolutionError, match="no Python project found in o/notes"):
        read_metadata(tree({"README.md": "# hi"}), "o/notes")


@pytest.mark.parametrize(
    "texts",
    [
        {"pyproject.toml": '[build-system]\nrequires = ["setuptools_scm[toml]>=6"]\n[project]\nname = "x"\n'},
        {"pyproject.toml": '[build-system]\nrequires = ["hatch-vcs", "hatchling"]\n[project]\nname = "x"\n'},
        {"setup.py": "setup(name='x', use_scm_version=True)"},
        {"setup.py": "setup(pbr=True)"},
        {"setup.py": "setup()", "pyproject.toml": '[build-system]\nrequires = ["pbr>=6", "setuptools"]\n'},
        {"setup.py": "import versioneer\nsetup(name='x', version=versioneer.get_version())"},
        {"setup.py": "setup()", "pyproject.toml": "[tool.setuptools_scm]\n"},
    ],
)
def test_a_version_from_version_control_needs_a_stand_in(texts: dict[str, str]) -> None:
    """The change log's highest version, or a plain development version."""
    assert pretend_version(tree(texts)) == "0.0.0.dev0"
    log = "Changes\n=======\n\n2.10.1 (2024-01-02)\n------\n* 99.9 things\n\nVersion 2.9\n---\n2024.01.02 is a day\n"
    assert pretend_version(tree(texts | {"CHANGES.rst": log})) == "2.10.1"


def test_a_static_version_needs_none() -> None:
    """There is nothing to pretend."""
    assert pretend_version(tree({"pyproject.toml": '[project]\nname = "x"\nversion = "1"\n'})) is None


@pytest.mark.timeout(60)
def test_extras_beyond_the_limit_are_a_remark() -> None:
    """Nothing is written out, and the rest of the metadata stays."""
    lines = ", ".join(["'six'"] * 1000)
    rows = "".join(f"e{at} = ['p[all]']\n" for at in range(100))
    text = f"[project]\nname = 'p'\ndependencies = ['attrs']\n[project.optional-dependencies]\nall = [{lines}]\n{rows}"
    found = read_metadata(tree({"pyproject.toml": text}), "o/p")
    assert found.dependencies == ("attrs",) and not found.extras
    assert found.notes == ("the extras cannot be read: they have more than 50000 lines",)
