#!/usr/bin/env bash
# Inside a sandbox, in front of seal_search.sh and seal_names.sh: what both ask of the files and of texts of the fix,
# one a line in a file. What they keep on the way lies in a directory of its own.
set -euo pipefail
export LC_ALL=C
place=$(mktemp -d)
export TMPDIR=$place # what sort keeps there is no file of the image
git=(git --git-dir=.git -c 'safe.directory=*')
reader=/usr/bin/python3
[ -x "$reader" ] || reader=python3
# The interpreter's own files, unless a build could have put them there: what it left there counts.
python=$(readlink -f /opt/env/bin/python || true)
case $python in /opt/env/* | /workspace/* | /tmp/* | /home/agent/* | /dev/* | '') python=/usr/bin/python ;; esac
system="^(/usr|$(printf '%s' "${python%/bin/*}" | sed 's/[^[:alnum:]_/-]/[&]/g'))/"
# Every mounted place by itself: a walk that stays on one file system does not enter what is mounted in it.
mapfile -t places < <(cut -d ' ' -f 5 /proc/self/mountinfo | grep -vE '^/(proc|dev|sys)(/|$)')
[ "${#places[@]}" -gt 0 ]

# all TEST...: the paths that pass a test of find's.
all() {
  { find "${places[@]//\\040/ }" -xdev \( -path /proc -o -path /dev -o -path /sys -o -path "$place" \) -prune -o \
    "$@" -print0 2>/dev/null || true; } | sort -zu
}
all -type f -readable >"$place/all"
# Without the system and the interpreter, which are large and older than the build.
{ grep -zvE "$system" "$place/all" || [ $? = 1 ]; } >"$place/built"

# matching EXPRESSION: those of all files whose path fits.
matching() {
  grep -zE "$1" "$place/all" || [ $? = 1 ]
}

# show WORD: print what comes in, each as `WORD<tab>PATH`, quoted as bash does.
show() {
  while IFS= read -r -d '' path; do printf '%s\t%q\n' "$1" "$path"; done
}

# Distributions that were installed from the tree; and the files that others list as theirs, and the byte code of these.
matching '/direct_url\.json$' | while IFS= read -r -d '' path; do
  if grep -q '"file:///workspace/' "$path"; then printf '%s\0' "${path%/*}"; fi
done >"$place/own"
matching '/(site|dist)-packages/[^/]*\.dist-info/RECORD$' | while IFS= read -r -d '' path; do
  if grep -qzxF -e "${path%/*}" "$place/own"; then continue; fi
  site=$(printf '%s/' "${path%/*/RECORD}" | sed 's/[\\&|]/\\&/g')
  cut -d , -f 1 "$path" | sed -e 's/^"//' -e 's/"$//' -e "s|^|$site|" -e ':up' -e 's|[^/]*/[.][.]/||' -e 't up'
done >"$place/listed"
sed -nE 's#^(.*/python3\.([0-9]+)t?/(.*/)?)([^/]+)\.py$#\1__pycache__/\4.cpython-3\2.pyc#p' "$place/listed" >"$place/code"
cat "$place/listed" "$place/code" | tr '\n' '\0' | sort -zu >"$place/foreign"

# not_foreign: of what comes in, the paths that no other distribution lists.
not_foreign() {
  sort -zu | comm -z -23 - "$place/foreign"
}

# only_new TEXTS: leave those in the file that the commit does not have anyway, whatever lies in the tree. A text may be
# part of another one, and then hide behind it: again, until nothing more is found.
only_new() {
  while [ -s "$1" ]; do
    "${git[@]}" grep --threads=1 -ohaF -f "$1" HEAD | sort -u >"$1.known" || [ $? = 1 ]
    [ -s "$1.known" ] || break
    grep -vxF -f "$1.known" "$1" >"$1.left" || [ $? = 1 ]
    mv "$1.left" "$1"
  done
}

# archived TEXTS PROGRAM WHAT [FILES]: the same as `holders` prints, for the archives among the files named on standard
# input (with NUL) that the tree's commit does not have; WHAT is "names" where only machine code in them counts. FILES
# lists whole files of the fix, which count in an archive and by themselves.
archived() {
  "${git[@]}" ls-tree -rz --name-only HEAD >"$1.tracked"
  "$reader" -I -S -c "$2" "$1" "$1.tracked" "$3" "$place/foreign" "${4:-/dev/null}"
}

# holders TEXTS FILES: print `file<tab>PATH`, quoted as bash does, of each file (named with NUL) that holds some of
# the texts, followed by `has<tab>TEXT` for each. All of them can be read: where one could not be searched, nothing is
# known.
holders() {
  # shellcheck disable=SC2016
  xargs -0 -r sh -c 'grep -lZaF -f "$0" -- "$@" || [ $? = 1 ] || exit 255' "$1" <"$2" >"$1.holders"
  while IFS= read -r -d '' path; do
    printf 'file\t%q\n' "$path"
    { grep -ohaF -f "$1" -- "$path" || [ $? = 1 ]; } | sort -u | sed 's/^/has\t/'
  done <"$1.holders"
}
