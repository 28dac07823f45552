#!/usr/bin/env bash
# Inside a sandbox: run several commands, each with a copy of what comes in; where one fails, nothing more is said.
# Arguments: of each command how many words it has, and these. Prints of each how many bytes it said, and these.
set -euo pipefail
place=$(mktemp -d)
cat >"$place/in"
while [ $# -gt 0 ]; do
  words=("${@:2:$1}")
  shift $(($1 + 1))
  "${words[@]}" <"$place/in" >"$place/out"
  wc -c <"$place/out"
  cat "$place/out"
done
rm -r "$place"
