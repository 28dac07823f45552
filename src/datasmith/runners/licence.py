"""The licence that a tree states about itself, where it states one that a machine can read."""

import re
import tomllib
from collections.abc import Mapping

_SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def stated_licence(texts: Mapping[str, str], root: str = ".") -> str | None:
    """The SPDX expression in `project.license` of the pyproject.toml in the directory `root`, else None.

    PEP 639's text is taken as it stands, the older table's `text` where it looks like an expression.
    """
    path = "pyproject.toml" if root in {"", "."} else f"{root}/pyproject.toml"
    try:
        project = tomllib.loads(texts.get(path, "")).get("project")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    said = project.get("license") if isinstance(project, dict) else None
    text = said.get("text") if isinstance(said, dict) else said
    return text.strip() if isinstance(text, str) and _SPDX.fullmatch(text.strip()) else None
