"""What a patch is recognised by."""

import pytest

from datasmith.tasks.gitdiff import MalformedDiff
from datasmith.tasks.telltale import fix_of

FULL, SHORT, NONE = "ab" * 20, "abcdef1", "0" * 40
PATCH = f"""diff --git a/a.py b/a.py
index {"12" * 20}..{FULL} 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 kept
-old
+new
diff --git a/b.py b/b.py
deleted file mode 100644
index {"34" * 20}..{NONE}
--- a/b.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/c.py b/c.py
index 1234567..{SHORT} 100644
--- a/c.py
+++ b/c.py
@@ -1 +1,2 @@
 kept
+++ plus
"""


def test_a_fix_is_its_new_blobs_and_its_added_lines() -> None:
    """Ids of new contents, also shortened as git does, not of deleted ones; and what is done to each file."""
    fix = fix_of(PATCH)
    assert fix.objects == {FULL, SHORT}
    assert fix.lines == {"a.py": ["new"], "b.py": [], "c.py": ["++ plus"]}
    assert list(fix.patches) == ["a.py", "b.py", "c.py"] and "".join(fix.patches.values()) == PATCH


def test_a_text_that_is_no_diff_has_no_fix() -> None:
    """The reader of diffs says so."""
    with pytest.raises(MalformedDiff):
        fix_of("hello")
