#!/bin/sh
# Inside a sandbox: run a test command, then print the report it wrote, gzipped, and nothing else on standard output.
# Arguments: the report's path, the command.
report=$1
shift
rm -f -- "$report"
"$@" >&2
code=$?
if [ -f "$report" ] && [ ! -L "$report" ]; then gzip -c -- "$report"; fi
exit "$code"
