"""python -m datasmith.preflight: is there what a run needs? The same report as `fc-data preflight`."""

import argparse
import json
import sys
from collections.abc import Sequence

from datasmith.errors import DatasmithError
from datasmith.preflight.checks import look
from datasmith.redact import Redactor
from datasmith.settings import environment, secrets_of
from datasmith.standard_streams import standard_streams


def main(words: Sequence[str] | None = None) -> int:
    """Print the report; 0 where nothing failed, 1 where something did, 2 for words that make no sense."""
    parser = argparse.ArgumentParser(prog="python -m datasmith.preflight", description="Look before a run.")
    parser.add_argument("--stage", type=int, action="append", default=[], help="only what this stage needs; repeatable")
    parser.add_argument("--forge", default="git", help="where pull requests will come from")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    asked = parser.parse_args(words)
    with standard_streams():
        try:
            return _looked(tuple(asked.stage), asked.forge, as_json=asked.json)
        except DatasmithError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code


def _looked(stages: tuple[int, ...], forge: str, *, as_json: bool) -> int:
    found = look(stages=stages, forge=forge)
    clean = Redactor(secrets_of(environment()))
    said = json.dumps({"ok": not found.failed, "checks": found.rows(clean)}) if as_json else found.text(clean)
    print(said, flush=True)
    return found.rc


if __name__ == "__main__":
    sys.exit(main())
