"""Which files are read, and how."""

import codecs

import pytest

from datasmith.resolution.reading import MAX_FILES, decoded, texts_to_read


def test_metadata_comes_first_and_the_rest_is_bounded() -> None:
    """Ten thousand tests never push the metadata out; ordinary modules are not read at all."""
    paths = [f"tests/test_{number}.py" for number in range(10_000)]
    chosen = texts_to_read(
        [
            *paths,
            "pkg/core.py",
            "README.md",
            "setup.py",
            "CHANGES.txt",
            "pkg/_fast.pyx",
            "requirements-dev.txt",
            "ci/environment.yml",
        ]
    )
    assert chosen[:4] == ("ci/environment.yml", "requirements-dev.txt", "setup.py", "CHANGES.txt")
    assert len(chosen) == MAX_FILES
    assert not {"pkg/core.py", "README.md"} & set(chosen)


def test_files_that_metadata_may_name_are_read() -> None:
    """Called as such files are; a text of any other name is not."""
    named = ["deps.txt", "requirements.in", "requirements/base.in", "reqs/run.txt", "install-requires.txt"]
    assert texts_to_read([*named, "notes.txt", "pkg/base.in", "data/frequencies.txt", "depth.in"]) == tuple(
        sorted(named)
    )


def test_sources_of_the_product_are_read_those_of_tests_are_not() -> None:
    """What they include tells which system libraries the build needs."""
    assert texts_to_read(["src/a.c", "tests/b.c"]) == ("src/a.c",)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_mark_says_how_a_file_is_encoded(mark: bytes, codec: str) -> None:
    """It is no part of the text; what is cut short or of no encoding is read as far as it goes."""
    text = "numpy # \xe9\r\n"
    assert decoded(mark + text.encode(codec)) == text
    assert decoded(mark + "n".encode(codec) + b"\xff").startswith("n")
