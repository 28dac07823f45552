"""What of an image's machine code speaks against the seal: decided from names, without a sandbox."""

import pytest

from datasmith.docker.seal_names import MOST_NAMES, Names, brought, problems

ADDED = {
    "core.pyx": [
        "    cdef Table *fresh = build_the_table_once(key, PyUnicode_READ_CHAR)",
        "    return keptIndexOf(self)",
    ],
    "doc.rst": ["Everything is extraordinarily faster than it was before, notwithstanding"],
}


def test_only_composed_names_tell() -> None:
    """Words of a language, short names and those of the interpreter's own interface are in any machine code."""
    assert brought(ADDED) == {"core.pyx": frozenset({"build_the_table_once", "keptIndexOf"})}
    generated = ["code = unwrap(func).__code__", "names = code.co_varnames[: code.co_argcount]", "except ImportError:"]
    assert brought({"decorators.py": generated}) == {}
    many = {"a.c": [f"int a_function_number_{number}(void);" for number in range(MOST_NAMES + 50)]}
    assert len(brought(many)["a.c"]) == MOST_NAMES


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"build_the_table_once", "keptIndexOf"}, ["/x.so holds 2 of 2 names that the fix brings in core.pyx"]),
        ({"build_the_table_once"}, []),
        (set(), []),
    ],
)
def test_two_names_of_one_file_are_told(found: set[str], says: list[str]) -> None:
    """One of several may be there by chance."""
    search = Names(frozenset({"build_the_table_once", "keptIndexOf"}), {"/x.so": frozenset(found)})
    assert list(problems(search, brought(ADDED))) == says


def test_a_single_name_has_to_be_a_long_one() -> None:
    """Where the fix brings only one that base does not have, a long one tells and a short one does not."""
    for name, n_problems in (("build_the_table_once", 1), ("keptIndexOf", 0)):
        search = Names(frozenset({name}), {"/x.so": frozenset({name})})
        assert len(list(problems(search, brought(ADDED)))) == n_problems


def test_an_answer_is_read_back_and_another_is_refused() -> None:
    """Names, files and what they hold; a script that broke off gives no report."""
    found = Names.read("name\tan_index\nname\tother_one\nfile\t/a.so\nhas\tan_index\nfile\t/b.so\n")
    assert found.names == {"an_index", "other_one"}
    assert found.files == {"/a.so": frozenset({"an_index"}), "/b.so": frozenset()}
    with pytest.raises(ValueError, match="unknown answer"):
        Names.read("segfault\n")
