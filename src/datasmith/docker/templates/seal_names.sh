#!/usr/bin/env bash
# Inside a sandbox, after seal_search.sh: which machine code, anywhere but in the system and in what other distributions
# list as theirs, holds names that the fix brings. Prints `names`, then `name<tab>TEXT`, a name that the tree's commit
# does not have anyway; `unread PATH`, code that is too large to be searched; and the compiled code that holds some of
# those names, also in archives.
# shellcheck disable=SC2154
set -euo pipefail
echo names
only_new "$place/names"
sed 's/^/name\t/' "$place/names"
if [ -s "$place/names" ]; then
  not_foreign <"$place/built" >"$place/own_built"
  { grep -zE "$code" "$place/own_built" || [ $? = 1 ]; } >"$place/called_code"
  "$reader" -I -S "$programs/seal_code.py" <"$place/own_built" | sort -zu - "$place/called_code" >"$place/compiled"
  xargs -0 -r sh -c 'find "$@" -maxdepth 0 -size +200M -print0' find <"$place/compiled" | sort -z >"$place/large"
  show unread <"$place/large"
  comm -z -23 "$place/compiled" "$place/large" >"$place/small"
  holders "$place/names" "$place/small"
  archives=$place/archives
  [ -e "$archives" ] || archives=$place/built
  archived "$place/names" "$code" <"$archives"
fi
rm -r "$place"
