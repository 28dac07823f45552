#!/usr/bin/env bash
# Inside a sandbox, in front of seal_search.sh and seal_names.sh: what both ask of texts of the fix, one a line in a file.
set -euo pipefail
export LC_ALL=C

# only_new TEXTS: leave those in the file that the commit does not have anyway, whatever lies in the tree. A text may be part of another one,
# and then hide behind it: again, until nothing more is found.
only_new() {
  while [ -s "$1" ]; do
    git --git-dir=.git -c 'safe.directory=*' grep --threads=1 -ohaF -f "$1" HEAD | sort -u >"$1.known" || [ $? = 1 ]
    [ -s "$1.known" ] || break
    grep -vxF -f "$1.known" "$1" >"$1.left" || [ $? = 1 ]
    mv "$1.left" "$1"
  done
}

# archived TEXTS PROGRAM WHAT: the same as `holders` prints, for the archives among the files named on standard input (with
# NUL) that the tree's commit does not have; WHAT is "names" where only machine code in them counts.
archived() {
  git --git-dir=.git -c 'safe.directory=*' ls-tree -rz --name-only HEAD >"$1.tracked"
  reader=/usr/bin/python3
  [ -x "$reader" ] || reader=python3
  "$reader" -I -S -c "$2" "$1" "$1.tracked" "$3"
}

# holders TEXTS FILES: print `file<tab>PATH`, quoted as bash does, of each file (named with NUL) that holds some of the
# texts, followed by `has<tab>TEXT` for each. All of them can be read: where one could not be searched, nothing is known.
holders() {
  # shellcheck disable=SC2016
  xargs -0 -r sh -c 'grep -lZaF -f "$0" -- "$@" || [ $? = 1 ] || exit 255' "$1" <"$2" >"$1.holders"
  while IFS= read -r -d '' path; do
    printf 'file\t%q\n' "$path"
    { grep -ohaF -f "$1" -- "$path" || [ $? = 1 ]; } | sort -u | sed 's/^/has\t/'
  done <"$1.holders"
}
