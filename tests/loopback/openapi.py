"""GitHub's published OpenAPI description, out of its npm package, and what it says of a response."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

PACKAGE = "@octokit/openapi@23.0.2"
_ROOT = "urn:github"
_MEMBER = "package/generated/api.github.com.json"


def _missing(what: str) -> NoReturn:
    """In CI everything that can be installed must be there."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def download(place: Path) -> Path:
    """The description as a file below `place`; without npm or its registry the test is skipped, in CI it fails."""
    target = place / "api.github.com.json"
    npm = shutil.which("npm")
    if npm is None:
        _missing("npm is not installed (scripts/install-system.sh test installs it)")
    words = [npm, "pack", PACKAGE, "--ignore-scripts", "--silent", "--pack-destination", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=place)
    if done.returncode:
        _missing(f"npm pack {PACKAGE} failed: {done.stderr.strip()[-300:]}")
    (archive,) = place.glob("octokit-openapi-*.tgz")
    with tarfile.open(archive) as members:
        member = members.extractfile(_MEMBER)
        assert member is not None
        target.write_bytes(member.read())
    archive.unlink()
    return target


class Description:
    """The description, asked about one response at a time."""

    def __init__(self, file: Path) -> None:
        from referencing import Registry, Resource

        self._spec = json.loads(file.read_text(encoding="utf-8"))
        self._registry: Any = Registry().with_resource(_ROOT, Resource.opaque(self._spec))
        self._paths = [(path, _pattern(path), operations) for path, operations in self._spec["paths"].items()]
        self._validator = cache(self._make_validator)

    def problems(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """How a body breaks what the description says of it; empty where it does not.

        Raises:
            LookupError: the description knows no such path, or no such status for it.
        """
        errors = self._validator(self._schema(method, path, status)).iter_errors(body)
        return [f"{error.json_path}: {error.message[:200]}" for error in errors]

    def _schema(self, method: str, path: str, status: int) -> str:
        """Where the description of the body stands, as a JSON pointer."""
        for template, pattern, operations in self._paths:
            if pattern.fullmatch(path) and method.lower() in operations:
                responses = operations[method.lower()]["responses"]
                if str(status) not in responses:
                    raise LookupError(f"{method} {path} never answers {status}")
                place = f"/paths/{_escaped(template)}/{method.lower()}/responses/{status}"
                response = responses[str(status)]
                if "$ref" in response:
                    place = response["$ref"].removeprefix("#")
                    response = self._spec["components"]["responses"][place.rpartition("/")[2]]
                kind = next(kind for kind in response["content"] if "json" in kind)
                return f"{place}/content/{_escaped(kind)}/schema"
        raise LookupError(f"{method} {path} is no path of GitHub's")

    def _make_validator(self, pointer: str) -> Any:
        # It reads 40 grammars when it is imported, which would be in every process that collects tests.
        from openapi_schema_validator import OAS30Validator, oas30_format_checker

        schema = {"$ref": f"{_ROOT}#{pointer}"}
        return OAS30Validator(schema, registry=self._registry, format_checker=oas30_format_checker)


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]*\}", template)
    return re.compile("[^/]+".join(re.escape(part) for part in parts))


def _escaped(word: str) -> str:
    return word.replace("~", "~0").replace("/", "~1")
