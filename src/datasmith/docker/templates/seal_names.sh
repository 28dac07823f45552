#!/usr/bin/env bash
# Inside a sandbox, after seal_common.sh: which machine code below /workspace holds names that the fix brings. Reads
# names. Prints `name<tab>TEXT`, a name that the tree's commit does not have anyway; and the compiled code that holds some
# of those, also in archives anywhere but in the system. Argument: the program that reads archives.
set -euo pipefail
archives=$1
place=$(mktemp -d)
export TMPDIR=$place # what sort keeps there is no file of the image
cat >"$place/names"
only_new "$place/names"
sed 's/^/name\t/' "$place/names"
if [ -s "$place/names" ]; then
  { find /workspace /workspace/repo /workspace/cache -xdev -type f -readable -size -200M \
    -regex '.*\(\.\(so\|pyd\|o\|obj\|a\|pyc\|pyo\|dylib\|rlib\)\|\.so\.[0-9.]+\)' -print0 2>/dev/null || true; } | sort -zu >"$place/all"
  holders "$place/names" "$place/all"
  { find /workspace /workspace/repo /workspace/cache /opt /home /srv /tmp -xdev -path "$place" -prune -o \
    -type f -readable -size -2000M -print0 2>/dev/null || true; } | sort -zu >"$place/any"
  archived "$place/names" "$archives" names <"$place/any"
fi
rm -r "$place"
