"""Task ids: one spelling out, all known ones in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasmith.tasks.ids import canonical, legacy_task_id, spellings, task_id

names = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,10}", fullmatch=True)


@pytest.mark.parametrize(
    ("owner", "repo", "number", "written", "legacy"),
    [
        ("shapely", "shapely", 2283, "shapely_shapely_2283", "shapely_shapely_2283"),
        ("pandas-dev", "pandas", 50643, "pandas-dev_pandas_50643", "pandas_dev-pandas_50643"),
        ("Textualize", "rich", 3807, "textualize_rich_3807", "textualize_rich_3807"),
        ("a-b", "c-d", 1, "a-b_c-d_1", "a-b_c-d_1"),
    ],
)
def test_the_written_and_the_older_spelling(owner: str, repo: str, number: int, written: str, legacy: str) -> None:
    """Case 78: the owner's and the repository's hyphens stay; the older spelling cuts the joined name in the middle."""
    assert (task_id(owner, repo, number), legacy_task_id(owner, repo, number)) == (written, legacy)
    assert spellings(owner, repo, number)[0] == written
    assert set(spellings(owner, repo, number)) == {written, legacy}


@pytest.mark.parametrize(
    ("asked", "means"),
    [
        ("shapely_shapely_2283", "shapely_shapely_2283"),
        ("shapely__shapely-2283", "shapely_shapely_2283"),
        ("Shapely/Shapely#2283", "shapely_shapely_2283"),
        ("pandas-dev__pandas-50643", "pandas-dev_pandas_50643"),
        ("scikit-learn/scikit-learn#00007", "scikit-learn_scikit-learn_7"),
        ("Shapely_*", "shapely_*"),
        ("", ""),
        ("a/b#", "a/b#"),
        ("a/b#" + "9" * 5000, "a/b#" + "9" * 5000),
    ],
)
def test_what_a_user_may_write(asked: str, means: str) -> None:
    """References and double underscores are read; anything else stays as it is, in lower case."""
    assert canonical(asked) == means


@given(names, names, st.integers(0, 10**9))
def test_every_known_form_leads_to_the_written_one(owner: str, repo: str, number: int) -> None:
    """The reference and the double underscore mean the id that is written, which means itself."""
    written = task_id(owner, repo, number)
    forms = (f"{owner}/{repo}#{number}", f"{owner}__{repo}-{number}", written)
    assert [canonical(form) for form in forms] == [written] * 3
