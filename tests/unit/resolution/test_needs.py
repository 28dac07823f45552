"""All that an environment must hold."""

from datasmith.resolution.base import AsvHints, SourceTree
from datasmith.resolution.metadata import read_metadata
from datasmith.resolution.needs import Wanted, build_names, collect, for_the_hook


def wanted(texts: dict[str, str], *paths: str, asv: tuple[str, ...] = ()) -> Wanted:
    tree = SourceTree(texts, (*texts, *paths))
    return collect(tree, read_metadata(tree, "o/p"), AsvHints((), asv))


def by_origin(found: Wanted, origin: str) -> list[str]:
    return [need.requirement for need in found.needs if need.origin == origin]


PROJECT = """
[build-system]
requires = ["setuptools>=61", "numpy>=2.0.0rc1", "oldest-supported-numpy"]
build-backend = "setuptools.build_meta"
[project]
name = "p"
dependencies = ["numpy>=1.21", "six; python_version < '3'"]
[project.optional-dependencies]
test = ["hypothesis", "p[io]", "tox"]
io = ["h5py"]
docs = ["sphinx", "furo"]
gpu = ["cupy"]
[dependency-groups]
bench = ["pandas", "asv"]
"""


def test_every_need_knows_where_it_comes_from() -> None:
    """Extras for tests and benchmarks are in, documentation and features are out, pytest is always there."""
    found = wanted({"pyproject.toml": PROJECT}, asv=("numpy==1.26", "pip+bottleneck"))
    assert by_origin(found, "runtime") == ["numpy>=1.21", 'six; python_version < "3"']
    assert by_origin(found, "runner") == ["pytest"]
    assert by_origin(found, "tests") == ["hypothesis", "h5py"]
    assert by_origin(found, "benchmarks") == ["pandas"]
    assert by_origin(found, "asv") == ["numpy==1.26", "bottleneck"]
    assert build_names(found.needs) == ("numpy", "setuptools", "wheel")


def test_asv_lists_names_of_conda() -> None:
    """But for those that it takes from PyPI; a list of pip's has no names of conda."""
    found = wanted({"pyproject.toml": PROJECT, "tests/requirements.txt": "pytorch"}, asv=("pytables", "pip+dask-core"))
    assert by_origin(found, "asv") == ["tables", "dask-core"]
    assert "pytorch" in by_origin(found, "tests")


def test_what_is_left_out_has_a_reason() -> None:
    """asv, environment tools and native names of conda; nothing disappears silently."""
    found = wanted({"pyproject.toml": PROJECT}, asv=("geos", "not !! readable", "python=3.9"))
    reasons = {item.requirement: item.reason for item in found.dropped}
    assert reasons["asv"] == "the host measures with asv_runner"
    assert {"tox", "geos", "not !! readable", "python==3.9.*", "oldest-supported-numpy"} <= reasons.keys()
    assert found.native == ("geos", "python")


def test_the_interpreter_is_no_distribution() -> None:
    """Wherever a list that conda wrote names it: there is a project of that name on PyPI."""
    texts = {"setup.py": "setup(name='p', install_requires=open('x').read())", "requirements.txt": "python=3.8\nsix"}
    found = wanted(texts)
    assert by_origin(found, "runtime") == ["six"]
    assert [(item.requirement, item.reason) for item in found.dropped] == [
        ("python==3.8.*", "the interpreter is no distribution")
    ]


def test_one_numpy_serves_build_and_run() -> None:
    """A build pin goes, a build bound may give way."""
    found = wanted({"pyproject.toml": PROJECT.replace("numpy>=2.0.0rc1", "numpy==1.19.5")})
    assert by_origin(found, "build")[:2] == ["setuptools>=61", "numpy"]
    assert [
        need.fallback for need in wanted({"pyproject.toml": PROJECT}).needs if need.requirement == "numpy>=2.0.0rc1"
    ] == ["numpy"]


def test_requirement_files_for_tests_are_read() -> None:
    """Test files before development files; constraints and documentation are not requirements."""
    texts = {
        "setup.py": "setup(name='p', install_requires=[])",
        "requirements.txt": "ignored-because-known",
        "requirements-dev.txt": "dev-tool",
        "tests/requirements.txt": "-r ../requirements-more.txt\npretend",
        "requirements-more.txt": "more",
        "docs/requirements.txt": "furo",
        "constraints.test.txt": "pinned==1",
    }
    assert by_origin(wanted(texts), "tests") == ["more", "pretend"]
    del texts["tests/requirements.txt"]
    assert by_origin(wanted(texts), "tests") == ["dev-tool"]


def test_requirements_txt_stands_in_for_computed_dependencies() -> None:
    """setup.py that reads the file would have given the same lines."""
    found = wanted({"setup.py": "setup(name='p', install_requires=read())", "requirements.txt": "numpy\n-e .\n"})
    assert by_origin(found, "runtime") == ["numpy"]
    assert [item.requirement for item in found.dropped] == ["-e ."]


def test_dynamic_files_are_followed() -> None:
    """Dynamic = ["dependencies"] with setuptools' file directive."""
    text = '[project]\nname = "p"\n[tool.setuptools.dynamic]\ndependencies = {file = "reqs.in"}\n'
    assert by_origin(wanted({"pyproject.toml": text, "reqs.in": "numpy>1\n"}), "runtime") == ["numpy>1"]


def test_a_file_that_was_not_read_leaves_it_to_requirements_txt() -> None:
    """No untrue word of what is in the tree."""
    text = '[project]\nname = "p"\n[tool.setuptools.dynamic]\ndependencies = {file = "needed"}\n'
    found = wanted({"pyproject.toml": text, "requirements.txt": "numpy\n"}, "needed")
    assert (by_origin(found, "runtime"), found.dropped) == (["numpy"], ())


def test_no_runtime_name_is_lost() -> None:
    """A bound that cannot be read goes; what tests want may go as a whole."""
    text = '[project]\nname = "p"\ndependencies = ["pytz>=2011k"]\noptional-dependencies.test = ["nose>=1x"]\n'
    found = wanted({"pyproject.toml": text})
    assert (by_origin(found, "runtime"), by_origin(found, "tests")) == (["pytz"], [])
    assert {item.requirement for item in found.dropped} == {"pytz>=2011k", "nose>=1x"}


def test_no_runtime_name_is_lost_with_its_path() -> None:
    """Poetry's key tells it; nobody is told the path."""
    text = '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\nbar = {path = "../my bar"}\nfoo = {path = "./foo"}\n'
    found = wanted({"pyproject.toml": text})
    assert by_origin(found, "runtime") == ["bar", "foo"]
    assert {item.requirement for item in found.dropped} == {"bar @ ../my bar", "foo @ ./foo"}


def test_guesses_come_last_and_only_for_what_nobody_declares() -> None:
    """Imports of benchmarks and setup.py, and plugins that pytest's options ask for."""
    found = wanted(
        {
            "setup.py": "import numpy\nimport versioneer\nsetup(name='p', install_requires=['pandas'])",
            "setup.cfg": "[tool:pytest]\naddopts = --cov=p -n 4\n",
            "benchmarks/a.py": "import pandas, PIL\nfrom p import x\n",
        },
        "versioneer.py",
        "p/__init__.py",
    )
    assert by_origin(found, "imports") == ["pytest-cov", "pytest-xdist", "numpy", "pillow"]
    assert [need.origin for need in found.needs][-1] == "imports"


def test_a_word_of_an_option_is_no_plugin() -> None:
    """`--disable-pytest-warnings` asks for nothing: the distribution of that name gives pytest a second -W."""
    options = (
        "addopts = --disable-pytest-warnings --pytest-durations -p no:pytest-warnings\nrequired_plugins = pytest-mock\n"
    )
    found = wanted({"pyproject.toml": '[project]\nname = "p"\n', "pytest.ini": f"[pytest]\n{options}"})
    assert by_origin(found, "imports") == []
    text = '[project]\nname = "p"\n[tool.pytest.ini_options]\naddopts = "--disable-pytest-warnings"\n'
    found = wanted({"pyproject.toml": text + 'required_plugins = ["pytest-mock>=1", "pytest-env"]\n'})
    assert by_origin(found, "imports") == ["pytest-mock", "pytest-env"]


def test_the_project_itself_is_not_a_need() -> None:
    """It is installed from its tree."""
    text = '[project]\nname = "p"\n[project.optional-dependencies]\ntest = ["p", "pytest-p", "P[test]"]\n'
    assert by_origin(wanted({"pyproject.toml": text}, asv=("p",)), "tests") == ["pytest-p"]
    assert by_origin(wanted({"pyproject.toml": text}, asv=("p",)), "asv") == []


def test_a_conda_environment_stands_in_for_lists_of_pip() -> None:
    """Where the project has none for tests; its native names are told, documentation's file is not read.

    One that cannot be read is told, too.
    """
    environment = "dependencies: [python=3.9, geos, pytest-mock, 'conda-forge::dask-core=2021.10', {pip: [pooch]}]"
    texts = {
        "pyproject.toml": '[project]\nname = "p"\n',
        "environment.yml": environment,
        "ci/environment-dev.yml": "dependencies: [later]",
        "doc/environment.yml": "dependencies: [furo]",
    }
    found = wanted(texts)
    assert by_origin(found, "tests") == ["pytest-mock", "dask==2021.10.*", "pooch"]
    assert "geos" in found.native
    broken = wanted({**texts, "environment.yml": "dependencies: [{{ x }}]"})
    assert ("environment.yml", True) in {(each.requirement, "cannot be read" in each.reason) for each in broken.dropped}
    texts["requirements-test.txt"] = "hypothesis"
    assert by_origin(wanted(texts), "tests") == ["hypothesis"]


def test_what_tests_import_is_taken_as_the_project_lists_it_elsewhere() -> None:
    """Not the whole extra: the one line, and the bare name where that line cannot be had."""
    text = '[project]\nname = "p"\n[project.optional-dependencies]\nplot = ["matplotlib>=3.5,<3.8", "plotly"]\n'
    found = wanted({"pyproject.toml": text, "tests/test_a.py": "import matplotlib.pyplot\nimport scipy\n"})
    guesses = [need for need in found.needs if need.origin == "imports"]
    assert [(need.requirement, need.fallback) for need in guesses] == [
        ("matplotlib<3.8,>=3.5", "matplotlib"), ("scipy", ""),
    ]  # fmt: skip


def test_what_may_be_imported_while_tests_are_collected_is_taken_where_it_is_listed() -> None:
    """As xarray's tests ask h5py for its features, which only its conda file names; what nobody lists is optional."""
    asks = "def has_ros3(x):\n    if x:\n        import h5py, plotly, rare\n        h5py.get_config()\n"
    asks += "def has_more():\n    try:\n        import boto\n    except ImportError:\n        pass\n"
    asks += "try:\n    import pooch\nexcept ImportError:\n    pass\n"
    texts = {
        "pyproject.toml": '[project]\nname = "p"\n[project.optional-dependencies]\ntest = ["hypothesis"]\n'
        'plot = ["plotly>=5"]\n',
        "ci/environment.yml": "dependencies: [h5py, pooch, boto, dask]",
        "p/tests/__init__.py": asks,
        "p/tests/test_a.py": "def test_a():\n    import dask\n",
    }
    found = wanted(texts, "p/__init__.py")
    assert by_origin(found, "imports") == ["h5py", "plotly>=5"]
    del texts["ci/environment.yml"]
    assert by_origin(wanted(texts, "p/__init__.py"), "imports") == ["plotly>=5"]


def test_the_hook_is_given_what_the_build_needs() -> None:
    """Backend, build requirements, and what setup.py imports as a guess."""
    texts = {"setup.py": "import numpy\nimport local_tool\nsetup(install_requires=read())", "local_tool.py": ""}
    tree = SourceTree(texts, tuple(texts))
    needs = for_the_hook(tree, read_metadata(tree, "o/p"))
    assert [(need.requirement, need.optional) for need in needs] == [
        ("setuptools", False), ("wheel", False), ("numpy", True),
    ]  # fmt: skip


def test_a_requirements_file_that_stands_in_brings_no_tools() -> None:
    """It lists all that its authors work with: what only sends reports, or checks style, is no dependency."""
    texts = {
        "setup.py": "setup(name='p', install_requires=read())",
        "requirements.txt": "-r requirements/test.txt\nnumpy>=1.11\n",
        "requirements/test.txt": "codecov\npytest-cov\nflake8\n",
    }
    found = wanted(texts)
    assert by_origin(found, "runtime") == ["pytest-cov", "numpy>=1.11"]
    assert {"codecov", "flake8"} <= {item.requirement for item in found.dropped}
