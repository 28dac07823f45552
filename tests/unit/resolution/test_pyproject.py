"""pyproject.toml: PEP 621, PEP 735, Poetry, flit."""

import pytest

from datasmith.resolution.pyproject import read_pyproject


def test_a_standard_project_is_read() -> None:
    """Name, bounds, dependencies, extras, build system and pytest's options."""
    found = read_pyproject("""
        [build-system]
        requires = ["setuptools>=61", "numpy"]
        build-backend = "setuptools.build_meta"
        [project]
        name = "x"
        requires-python = ">=3.9"
        dependencies = ["numpy>=1.2"]
        [project.optional-dependencies]
        test = ["pytest"]
        [tool.setuptools.packages.find]
        where = ["lib"]
        include = ["x*"]
        [tool.pytest.ini_options]
        addopts = ["--cov=x", "-n", "auto"]
        """)
    assert (found.name, found.requires_python, found.dependencies) == ("x", ">=3.9", ("numpy>=1.2",))
    assert found.extras == {"test": ("pytest",)}
    assert found.build_requires == ("setuptools>=61", "numpy")
    assert (found.package_roots, found.package_patterns) == (("lib",), ("x*",))
    assert found.pytest_options == "--cov=x -n auto"


def test_pdm_says_where_its_packages_are() -> None:
    """Its `package-dir`, as setuptools' that for all packages."""
    assert read_pyproject('[tool.pdm.build]\npackage-dir = "lib"').package_roots == ("lib",)


def test_names_of_groups_compare_as_those_of_projects() -> None:
    """Dots, dashes and underscores are one; an include of what is not there is a remark."""
    found = read_pyproject("""
        [dependency-groups]
        test = [{include-group = "typing.stubs"}, {include-group = "A__b"}, {include-group = "none"}, "six"]
        typing-stubs = ["types-six"]
        a-b = ["attrs"]
        """)
    assert found.groups["test"] == ("types-six", "attrs", "six")
    assert found.notes == ("dependency groups include what is not there: 'none'",)
    assert read_pyproject('[dependency-groups]\na = ["six"]\nb = [{include-group = "a"}]').notes == ()


def test_dependency_groups_include_each_other() -> None:
    """Includes are written out, names compare as PEP 735 says, a cycle ends."""
    found = read_pyproject("""
        [dependency-groups]
        Test_Base = ["pytest"]
        bench = ["pip", {include-group = "test-base"}, {include-group = "loop"}]
        loop = [{include-group = "bench"}, "six"]
        """)
    assert found.groups["bench"] == ("pip", "pytest", "six")
    assert found.groups["loop"] == ("pip", "pytest", "six")


def test_poetry_tables_become_pep_508() -> None:
    """Carets, tables, markers, extras, several constraints, git sources and groups."""
    found = read_pyproject("""
        [tool.poetry]
        name = "p"
        version = "1.0"
        [tool.poetry.dependencies]
        python = "^3.9"
        numpy = "^1.21"
        pandas = {version = "~1.4", extras = ["test"], python = "<3.12"}
        tqdm = {version = "*", optional = true}
        rich = {git = "https://example.org/rich.git", develop = true}
        bar = {path = "../bar", develop = true, extras = ["a"]}
        scipy = [{version = "1.9.*", markers = "sys_platform == 'linux'"}]
        [tool.poetry.extras]
        bench = ["tqdm"]
        [tool.poetry.group.test.dependencies]
        pytest = ">=7"
        [tool.poetry.dev-dependencies]
        black = "22.1"
        """)
    assert found.requires_python == ">=3.9,<4"
    assert found.dependencies == (
        "numpy>=1.21,<2",
        "pandas[test]>=1.4,<1.5; (python_version < '3.12')",
        "rich @ https://example.org/rich.git",
        "bar[a] @ ../bar",
        "scipy==1.9.*; (sys_platform == 'linux')",
    )
    assert found.extras == {"bench": ("tqdm",)}
    assert found.groups == {"test": ("pytest>=7",), "dev": ("black==22.1",)}


def test_a_dependency_of_one_platform_has_its_marker() -> None:
    """Poetry's `platform` is `sys.platform`; what is none of its words says nothing."""
    found = read_pyproject("""
        [tool.poetry.dependencies]
        pywin32 = {version = "*", platform = "win32"}
        uvloop = {version = ">=1", platform = "linux || darwin", python = ">=3.8"}
        tzdata = {version = "*", platform = "!=win32"}
        odd = {version = "*", platform = "' or '1' == '1"}
        six = {version = "*", platform = 3}
        """)
    assert found.dependencies == (
        "pywin32; (sys_platform == 'win32')",
        "uvloop>=1; (python_version >= '3.8') and (sys_platform == 'linux' or sys_platform == 'darwin')",
        "tzdata; (sys_platform != 'win32')",
        "odd",
        "six",
    )


def test_dynamic_dependencies_point_to_their_files() -> None:
    """Setuptools' `file =` may be one name or a list; extras have their own."""
    found = read_pyproject("""
        [project]
        name = "d"
        dynamic = ["dependencies", "optional-dependencies"]
        [tool.setuptools.dynamic]
        dependencies = {file = ["requirements.txt"]}
        optional-dependencies.test = {file = "requirements-test.txt"}
        """)
    assert found.dependencies is None
    assert found.files == {
        "dependencies": ("requirements.txt",),
        "optional-dependencies.test": ("requirements-test.txt",),
    }


def test_hatch_reads_requirements_files_by_a_plugin() -> None:
    """hatch-requirements-txt: one name or several, and extras of their own."""
    found = read_pyproject("""
        [project]
        name = "h"
        dynamic = ["dependencies"]
        [tool.hatch.metadata.hooks.requirements_txt]
        files = ["requirements.txt"]
        [tool.hatch.metadata.hooks.requirements_txt.optional-dependencies]
        test = ["requirements-test.txt"]
        """)
    assert found.files == {
        "dependencies": ("requirements.txt",),
        "optional-dependencies.test": ("requirements-test.txt",),
    }


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ('[tool.flit.module]\nname = "m"', ("m",)),
        ('[tool.hatch.build.targets.wheel]\npackages = ["src/m"]', ("src/m",)),
        ('[tool.setuptools]\npackages = ["m", "m.sub"]\npy-modules = ["n"]', ("m", "n")),
        ('[tool.poetry]\npackages = [{include = "m", from = "src"}]', ("m",)),
        ('[tool.maturin]\nmodule-name = "m._lib"', ("m",)),
        ('[tool.poetry]\npackages = [{include = "google/m", from = "src"}, {include = "n.py"}]', ("google.m", "n")),
        ('[tool.poetry]\npackages = [{include = "m/**/*.py"}, {include = "**/*.py"}, {include = "./n/"}]', ("m", "n")),
        ('[tool.scikit-build]\nwheel.packages = ["python/m"]', ("python/m",)),
        ('[tool.scikit-build.wheel.packages]\n"google/m" = "src/m"', ("google.m",)),
    ],
)
def test_backends_name_modules(text: str, modules: tuple[str, ...]) -> None:
    """Each backend's own table is read."""
    assert read_pyproject(text).modules == modules


@pytest.mark.parametrize("text", ["[project", "x = 1\nx = 2", "[" * 3000])
def test_a_broken_file_is_a_remark(text: str) -> None:
    """It says why it cannot be used, and nothing else."""
    found = read_pyproject(text)
    assert "cannot be read" in found.problem
    assert not found.describes_project


def test_odd_types_are_passed_over() -> None:
    """A value of the wrong kind counts as absent."""
    found = read_pyproject("project = 3\n[tool]\npoetry = []\n[build-system]\nrequires = 'numpy'\n")
    assert (found.name, found.dependencies, found.build_requires) == ("", None, ())


def _doubling(levels: int) -> str:
    lines = [f'g{at} = [{{include-group = "g{at + 1}"}}, {{include-group = "g{at + 1}"}}]' for at in range(levels)]
    return "\n".join(["[dependency-groups]", *lines, f'g{levels} = ["six"]'])


@pytest.mark.timeout(20)
def test_a_group_comes_in_once() -> None:
    """Groups that each include the next one twice, deeper than Python calls, are as long as they are."""
    assert read_pyproject(_doubling(60)).groups["g0"] == ("six",)
    chain = "".join(f'g{at} = [{{include-group = "g{at + 1}"}}]\n' for at in range(200))
    assert read_pyproject(f'[dependency-groups]\n{chain}g200 = ["six", "six"]').groups["g0"] == ("six", "six")


@pytest.mark.timeout(20)
def test_groups_beyond_the_limit_are_a_remark() -> None:
    """Many groups that each include a long one."""
    many = "".join(f'g{at} = [{{include-group = "all"}}]\n' for at in range(2000))
    long = ", ".join(["'six'"] * 10_000)
    found = read_pyproject(f"[dependency-groups]\n{many}all = [{long}]")
    assert not found.present and found.problem.endswith("its dependency groups have more than 50000 lines")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = {" + "a." * 100_000 + "a = 1}", "a key of more than 1000 parts"),
        ("[" + "a." * 100_000 + "a]", "a key of more than 1000 parts"),
        ("x = 1\n" * 200_000, "more than 1000000 characters"),
    ],
)
def test_a_file_that_takes_long_to_read_is_a_remark(text: str, said: str) -> None:
    """A key of a hundred thousand parts took minutes."""
    assert read_pyproject(text).problem == f"pyproject.toml cannot be read: {said}"


def test_what_tools_list_for_development_are_groups() -> None:
    """uv's, PDM's and Hatch's own tables; groups of one name are one, and an environment that lists nothing is none."""
    found = read_pyproject(
        """
        [dependency-groups]
        dev = ["attrs"]
        [tool.uv]
        dev-dependencies = ["pytest<7"]
        [tool.pdm.dev-dependencies]
        test = ["pytest-mock"]
        [tool.hatch.envs.default]
        dependencies = ["six<1.15"]
        [tool.hatch.envs.test]
        dependencies = ["hypothesis"]
        extra-dependencies = ["pytz"]
        [tool.hatch.envs.hatch-test]
        extra-dependencies = ["pytest-env"]
        [tool.hatch.envs.docs]
        python = "3.11"
        """
    )
    assert found.groups == {
        "dev": ("attrs", "pytest<7", "six<1.15"),
        "test": ("pytest-mock", "hypothesis", "pytz", "pytest-env"),
    }
