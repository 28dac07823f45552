"""Git diffs of one file: made, changed, deleted, or turned into a link."""

import difflib
from hashlib import sha1

_NO_END = "\\ No newline at end of file\n"


def changed(path: str, before: str, after: str) -> str:
    """A file's text is replaced."""
    return f"diff --git a/{path} b/{path}\n" + _body(f"a/{path}", f"b/{path}", before, after)


def added(path: str, text: str, *, mode: str = "100644") -> str:
    """A file that was not there; mode 120000 makes it a link to `text`."""
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..{_blob(text)}\n"
    return head + _body("/dev/null", f"b/{path}", "", text)


def deleted(path: str, text: str) -> str:
    """A file that is gone."""
    head = f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex {_blob(text)}..0000000\n"
    return head + _body(f"a/{path}", "/dev/null", text, "")


def _blob(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()


def _body(old: str, new: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends; git knows no other line end than a line feed."""
    parts = text.split("\n")
    whole = [f"{part}\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole
