#!/usr/bin/env bash
# Inside a sandbox, in front of seal_search.sh and seal_names.sh: what both ask of the files and of texts of the fix,
# one a line in a file. What they keep on the way lies in a directory of its own. They print paths with `\n` for the end
# of a line, and `\\` for a backslash. First arguments: the names of programs, with what is in them, and `--`.
set -euo pipefail
export LC_ALL=C
place=$(mktemp -d)
export TMPDIR=$place # what sort keeps there is no file of the image
git=(git --git-dir=.git -c 'safe.directory=*')
reader=/usr/bin/python3
[ -x "$reader" ] || reader=python3
programs=$place/seal
mkdir "$programs"
while [ "$1" != -- ]; do
  printf '%s' "$2" >"$programs/$1"
  shift 2
done
shift
# The files of the interpreter and of uv are older than the build, unless it could have put them there: then they count.
python=$(readlink -f /opt/env/bin/python || true)
prefix=${python%/bin/*}
case $prefix/ in /opt/env/* | /workspace/* | /tmp/* | /home/agent/* | /dev/* | /) prefix=/usr ;; esac
# anyone PATH: whether everybody may write to it, or to what it lies in.
anyone() {
  [ -n "$(find "$1" -maxdepth 0 -perm -o=w 2>/dev/null)" ] || { [ "$1" != / ] && anyone "$(dirname "$1")"; }
}
if anyone "$prefix"; then prefix=/usr; fi
system="^(/usr|$(printf '%s' "$prefix" | sed 's/[^[:alnum:]_/-]/[&]/g'))/"
tools='^/opt/fc/bin/uv$'
if anyone /opt/fc/bin/uv; then tools=$system; fi
# Every mounted place by itself: a walk that stays on one file system does not enter what is mounted in it.
mapfile -t places < <(cut -d ' ' -f 5 /proc/self/mountinfo | grep -vE '^/(proc|dev|sys)(/|$)')
[ "${#places[@]}" -gt 0 ]

# One walk for both: what can be read, and what this user, whose it is, could make readable.
{ find "${places[@]//\\040/ }" -xdev \( -path /proc -o -path /dev -o -path /sys -o -path "$place" \) -prune -o \
  -type f -readable -print0 -o -user "$(id -u)" \( -type f -o -type d ! \( -readable -executable \) \) \
  -fprint0 "$place/closed" 2>/dev/null || true; } | sort -zu >"$place/all"
# Without the system, the interpreter and uv, which are large and older than the build.
{ grep -zvE -e "$system" -e "$tools" "$place/all" || [ $? = 1 ]; } >"$place/built"

# matching EXPRESSION: those of all files whose path fits.
matching() {
  grep -zE "$1" "$place/all" || [ $? = 1 ]
}

# said WORD PATH: print both.
said() {
  local path=${2//\\/\\\\}
  printf '%s\t%s\n' "$1" "${path//$'\n'/\\n}"
}
# show WORD: print what comes in, each as `WORD<tab>PATH`.
show() {
  while IFS= read -r -d '' path; do said "$1" "$path"; done
}

# listed: the paths that the RECORDs coming in list, one a line.
listed() {
  while IFS= read -r -d '' path; do
    site=$(printf '%s/' "${path%/*/RECORD}" | sed 's/[\\&|]/\\&/g')
    cut -d , -f 1 "$path" | sed -e 's/^"//' -e 's/"$//' -e "s|^|$site|" -e ':up' -e 's|[^/]*/[.][.]/||' -e 't up'
  done
}
# Distributions that were installed from the tree, and the files that they list; and those that others list as theirs,
# and the byte code of these.
matching '/direct_url\.json$' | while IFS= read -r -d '' path; do
  if grep -q '"file:///workspace/' "$path"; then printf '%s\0' "${path%/*}"; fi
done >"$place/own"
matching '/(site|dist)-packages/[^/]*\.dist-info/RECORD$' >"$place/records"
sed -z 's,$,/RECORD,' "$place/own" | sort -zu >"$place/of_own"
comm -z -12 "$place/records" "$place/of_own" | listed | tr '\n' '\0' | sort -zu >"$place/own_listed"
comm -z -23 "$place/records" "$place/of_own" | listed >"$place/listed"
sed -nE 's#^(.*/python3\.([0-9]+)t?/(.*/)?)([^/]+)\.py$#\1__pycache__/\4.cpython-3\2.pyc#p' "$place/listed" >"$place/code"
cat "$place/listed" "$place/code" | tr '\n' '\0' | sort -zu >"$place/foreign"
# What names of files end in that hold names of code: machine code, caches of compilers, indexes of documentation.
# shellcheck disable=SC2034
code='\.(so|pyd|dll|o|obj|a|pyc|pyo|dylib|rlib|rmeta|debug|dwo|nbc|nbi|inv|data\.json)$|\.so\.[0-9.]+$'
code="$code|(^|/)(searchindex\.js|tags|TAGS)\$"

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

# archived TEXTS NAMES [FILES]: the same as `holders` prints, for the archives among the files named on standard input
# (with NUL) that the tree's commit does not have; in them files count whose names fit. FILES lists whole files of the
# fix, which count in an archive and by themselves. Those that were looked into are written to $place/archives, which is
# all that another search needs.
archived() {
  "${git[@]}" ls-tree -rz --name-only HEAD >"$1.tracked"
  "$reader" -I -S -c 'import sys
sys.path.insert(0, sys.argv[1])
from seal.seal_archives import main
main(*sys.argv[2:])' "$place" "$1" "$1.tracked" "$2" "$place/foreign" "${3:-/dev/null}" "$place/archives"
}

# holders TEXTS FILES: print `file<tab>PATH` of each file (named with NUL) that holds some of the texts, followed by
# `has<tab>TEXT` for each. All of them can be read: where one could not be searched, nothing is known.
holders() {
  # shellcheck disable=SC2016
  xargs -0 -r sh -c 'grep -lZaF -f "$0" -- "$@" || [ $? = 1 ] || exit 255' "$1" <"$2" >"$1.holders"
  while IFS= read -r -d '' path; do
    said file "$path"
    { grep -ohaF -f "$1" -- "$path" || [ $? = 1 ]; } | sort -u | sed 's/^/has\t/'
  done <"$1.holders"
}
