"""Which files are read."""

from datasmith.resolution.reading import MAX_FILES, texts_to_read


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
