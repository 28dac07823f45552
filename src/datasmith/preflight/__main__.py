"""python -m datasmith.preflight: is there what a run needs? The same report as `fc-data preflight`."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from datasmith.errors import DatasmithError
from datasmith.preflight.checks import look
from datasmith.redact import Redactor
from datasmith.settings import environment, secrets_of
from datasmith.standard_output import standard_output


def main(words: Sequence[str] | None = None) -> int:
    """Print the report; 0 where nothing failed, 1 where something did, 2 for words that make no sense."""
    parser = argparse.ArgumentParser(prog="python -m datasmith.preflight", description="Look before a run.")
    parser.add_argument("--stage", type=int, action="append", default=[], help="only what this stage needs; repeatable")
    parser.add_argument("--forge", default="git", help="where pull requests will come from")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    asked = parser.parse_args(words)
    try:
        found = look(stages=tuple(asked.stage), forge=asked.forge)
        clean = Redactor(secrets_of(environment()))
        said = json.dumps({"ok": not found.failed, "checks": found.rows(clean)}) if asked.json else found.text(clean)
        with redirect_stdout(standard_output()):
            print(said, flush=True)
    except DatasmithError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return found.rc


if __name__ == "__main__":
    sys.exit(main())
