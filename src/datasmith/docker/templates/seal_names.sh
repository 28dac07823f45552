#!/usr/bin/env bash
# Inside a sandbox: which machine code below /workspace holds names that the fix brings. Reads names. Prints, each as
# `word<tab>text`: `name TEXT`, a name that the tree's commit does not have anyway; `file PATH`, compiled code that holds
# some of those, followed by `has TEXT` for each. Paths are quoted as bash does.
set -euo pipefail
export LC_ALL=C
place=$(mktemp -d)
cat >"$place/names"
# A name may be part of another one, and then hide behind it: again, until nothing more is found.
while [ -s "$place/names" ]; do
  git -c 'safe.directory=*' -c core.fsmonitor=false grep --threads=1 -ohaF -f "$place/names" | sort -u >"$place/known" || [ $? = 1 ]
  [ -s "$place/known" ] || break
  grep -vxF -f "$place/known" "$place/names" >"$place/left" || [ $? = 1 ]
  mv "$place/left" "$place/names"
done
sed 's/^/name\t/' "$place/names"
if [ -s "$place/names" ]; then
  find /workspace /workspace/repo /workspace/cache -xdev -type f -size -200M \
    -regex '.*\(\.\(so\|pyd\|o\|obj\|a\|pyc\|pyo\|dylib\|rlib\)\|\.so\.[0-9.]+\)' -print0 2>/dev/null | sort -zu >"$place/all"
  xargs -0 -r grep -lZaF -s -f "$place/names" -- <"$place/all" >"$place/files" || [ -e "$place/files" ]
  while IFS= read -r -d '' path; do
    printf 'file\t%q\n' "$path"
    { grep -ohaF -f "$place/names" -- "$path" || [ $? = 1 ]; } | sort -u | sed 's/^/has\t/'
  done <"$place/files"
fi
rm -r "$place"
