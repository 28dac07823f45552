#!/usr/bin/env bash
# Inside a sandbox: run several commands, each with a copy of what comes in; where one fails, nothing more is said.
# Arguments: of each question its name, how many words its command has, and these. Prints of each how many bytes it
# said, and these; on standard error which one has no answer.
set -euo pipefail
place=$(mktemp -d)
cat >"$place/in"
while [ $# -gt 0 ]; do
  words=("${@:3:$2}")
  "${words[@]}" <"$place/in" >"$place/out" || {
    code=$?
    echo "no answer about $1: exit code $code" >&2
    exit "$code"
  }
  shift $(($2 + 2))
  wc -c <"$place/out"
  cat "$place/out"
done
rm -r "$place"
