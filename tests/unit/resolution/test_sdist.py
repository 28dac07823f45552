"""Source distributions, read and never run."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from datasmith.errors import ResolutionError
from datasmith.resolution import sdist
from datasmith.resolution.base import SourceRelease
from datasmith.resolution.sdist import read_sdist
from tests.integration.loopback_index import sdist_bytes

SETUP = "from setuptools import setup\nsetup(name='x', install_requires=['six>1'], setup_requires=['pbr'])\n"


def read(texts: Mapping[str, str]) -> SourceRelease:
    return read_sdist("x", "1.0", "x-1.0.tar.gz", sdist_bytes("x-1.0", texts))


def test_constants_of_setup_py_are_enough() -> None:
    """A sdist of distutils says nothing else; what it builds with is setuptools, wheel and what it names."""
    found = read({"setup.py": f"\ufeff{SETUP}", "PKG-INFO": "Metadata-Version: 1.1\nName: x\nVersion: 1.0\n"})
    assert found == SourceRelease("x", "1.0", ("six>1",), ("setuptools", "wheel", "pbr"))


def test_requirements_under_a_condition_are_read_from_setup_py_too() -> None:
    """Setuptools' keys of extras_require hold conditions, with an extra and without."""
    keys = "{':python_version<\"3\"': ['futures'], 'test:os_name==\"posix\"': ['mock']}"
    found = read({"setup.py": f"setup(install_requires=['six'], extras_require={keys})"})
    expected = ("six", 'futures; python_version < "3"', 'mock; os_name == "posix" and extra == "test"')
    assert found.requires == expected


def test_the_egg_info_goes_before_setup_py() -> None:
    """Sections are extras and markers, and both at once."""
    lines = (
        "six\n\n[:python_version<'3']\nfutures\n\n[test]\npytest; os_name=='posix'\n\n[test:python_version<'3']\nmock\n"
    )
    found = read(
        {
            "setup.py": "setup(install_requires=compute())",
            "x.egg-info/PKG-INFO": "",
            "x.egg-info/requires.txt": lines,
            "vendored/y.egg-info/PKG-INFO": "",
            "vendored/y.egg-info/requires.txt": "stranger\n",
        }
    )
    assert found.requires == (
        "six",
        'futures; python_version < "3"',
        'pytest; os_name == "posix" and extra == "test"',
        'mock; python_version < "3" and extra == "test"',
    )


def test_a_name_stays_where_its_bound_cannot_be_read() -> None:
    """Releases of their day were allowed to write such bounds."""
    assert read({"setup.py": "setup(install_requires=['pytz >= 2011k'])"}).requires == ("pytz",)


def test_an_egg_info_without_requirements_means_none() -> None:
    """Setuptools leaves the file out where there is nothing to write."""
    assert read({"setup.py": "setup(install_requires=compute())", "x.egg-info/PKG-INFO": ""}).requires == ()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("Metadata-Version: 2.2\nRequires-Dist: attrs", ("attrs",)),
        ("Metadata-Version: 2.2", ()),
        ("Metadata-Version: 2.2\nDynamic: Requires-Dist\nRequires-Dist: attrs", ("six",)),
        ("Metadata-Version: 2.1\nRequires-Dist: attrs", ("six",)),
    ],
)
def test_static_metadata_goes_before_everything(head: str, expected: tuple[str, ...]) -> None:
    """From 2.2 on, unless it says that the requirements are dynamic."""
    texts = {"PKG-INFO": f"{head}\nName: x\nVersion: 1.0\n", "x.egg-info/PKG-INFO": "", "setup.py": SETUP}
    assert read({**texts, "x.egg-info/requires.txt": "six\n"}).requires == expected


def test_pyproject_is_read_like_that_of_a_repository() -> None:
    """Dependencies, extras, backend, and the Debian packages that its sources ask for."""
    text = (
        '[build-system]\nrequires = ["setuptools>=61", "cython<3"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "x"\ndependencies = ["numpy", "y @ https://example.org/y.zip"]\n'
        '[project.optional-dependencies]\nfast = ["numba"]\n'
    )
    found = read({"pyproject.toml": text, "x/fast.c": "#include <zlib.h>\n"})
    assert found.requires == ("numpy", "y", 'numba; extra == "fast"')
    assert found.build_requires == ("setuptools>=61", "cython<3", "setuptools", "wheel")
    assert (found.compiled, found.apt_packages) == (True, ("build-essential", "zlib1g-dev"))


def test_what_old_setup_py_use_bounds_setuptools() -> None:
    """Features that later setuptools refuse."""
    assert "setuptools<58" in read({"setup.py": "setup(name='x', use_2to3=True)"}).build_requires
    assert "setuptools<81" in read({"setup.py": "import pkg_resources\nsetup(name='x')"}).build_requires


def test_computed_dependencies_are_not_guessed() -> None:
    """No metadata and a setup.py that computes: refused, with the reason."""
    with pytest.raises(ResolutionError, match=r"computed by setup\.py, which is not run"):
        read({"setup.py": "setup(install_requires=open('r.txt').read().split())"})


def test_nothing_is_run(tmp_path: Path) -> None:
    """A setup.py that would leave a trace leaves none."""
    trace = tmp_path / "trace"
    read({"setup.py": f"open({str(trace)!r}, 'w').close()\nsetup(name='x')", "x.egg-info/PKG-INFO": ""})
    assert not trace.exists()


def test_a_zip_is_read_too() -> None:
    """Some projects published nothing else."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("x-1.0/setup.py", SETUP)
    assert read_sdist("x", "1.0", "x-1.0.zip", target.getvalue()).requires == ("six>1",)


@pytest.mark.parametrize("name", ["x-1.0.tar.gz", "x-1.0.zip"])
@pytest.mark.parametrize(
    "data", [b"", b"not an archive", gzip.compress(b"no tar" * 200)[:-9]], ids=["empty", "text", "cut"]
)
def test_a_damaged_archive_is_refused(name: str, data: bytes) -> None:
    """With its name; nothing else goes wrong."""
    with pytest.raises(ResolutionError, match="x-1"):
        read_sdist("x", "1.0", name, data)


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What unpacks to more than the limit is not read to its end, nor is a crowd of members."""
    texts = {"setup.py": SETUP, "zeros": "0" * 3_000_000}
    monkeypatch.setattr(sdist, "MOST_BYTES", 1_000_000)
    with pytest.raises(ResolutionError, match="unpacks to more than"):
        read(texts)
    monkeypatch.setattr(sdist, "MOST_BYTES", 100_000_000)
    monkeypatch.setattr(sdist, "MOST_MEMBERS", 3)
    with pytest.raises(ResolutionError, match="more than 3 members"):
        read({f"f{number}": "" for number in range(5)})


def test_links_and_places_outside_are_data() -> None:
    """A link to a host file is not followed, a path outside is no path of the tree."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        link = tarfile.TarInfo("x-1.0/setup.cfg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        for path, text in {"../../x-1.0/pyproject.toml": "broken [", "x-1.0/setup.py": SETUP}.items():
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert read_sdist("x", "1.0", "x-1.0.tar.gz", target.getvalue()).requires == ("six>1",)
