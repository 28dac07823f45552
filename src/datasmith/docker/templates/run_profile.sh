#!/bin/sh
# Inside a sandbox: run a script that measures, then print, as a gzipped tar, the result files that it has written, and
# nothing else on standard output. Arguments: the script, and the directory that it is told to write to.
script=$1
target=$2
mark=$(mktemp)
bash "$script" "$target" >&2
code=$?
find / /tmp -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o \
  -type f -name '*.json' -path '*/results/*' -newer "$mark" -size -20000k -print0 2>/dev/null |
  tar --create --gzip --null --files-from=- --file=- --ignore-failed-read 2>/dev/null
exit "$code"
