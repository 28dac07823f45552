#!/usr/bin/env bash
# Inside a sandbox, after seal_common.sh: what of all its files could lead to the fix. Reads lines of the fix. Prints,
# each as `word<tab>text`: `looked N`, the number of files; `cache PATH`, a package that a download left; `copy PATH`, an
# installed module of the given names; `line TEXT`, a line of the fix that the tree's commit does not have anyway; and the
# files that hold some of those. Arguments: module names for a regular expression, as in "a|b".
set -euo pipefail
names=$1
place=$(mktemp -d)
python=$(readlink -f /opt/env/bin/python || echo /opt/env)
# Every mounted place by itself: a walk that stays on one file system does not enter what is mounted in it.
mapfile -t places < <(cut -d ' ' -f 5 /proc/self/mountinfo | grep -vE '^/(proc|dev|sys)(/|$)')
[ "${#places[@]}" -gt 0 ]
{ find "${places[@]//\\040/ }" -xdev \( -path /proc -o -path /dev -o -path /sys -o -path "$place" \) -prune -o \
  -type f -print0 2>/dev/null || true; } | sort -zu >"$place/all"
show() {
  while IFS= read -r -d '' path; do printf '%s\t%q\n' "$1" "$path"; done
}
matching() {
  grep -zE "$1" "$place/all" || [ $? = 1 ]
}
printf 'looked\t%s\n' "$(tr -cd '\0' <"$place/all" | wc -c)"
matching '\.(whl|crate|conda|egg|tar\.gz|tar\.bz2)$|/\.cache/(pip|uv)/' | show cache
if [ -n "$names" ]; then
  matching "/(site|dist)-packages/($names)(/__init__\.py|\.py|(\.[^/]*)?\.so)$" | show copy
fi
cat >"$place/lines"
only_new "$place/lines"
sed 's/^/line\t/' "$place/lines"
if [ -s "$place/lines" ]; then
  # Of the system and the interpreter, which are large and older than the build, only where packages are installed.
  { grep -zvE "^(/usr|${python%/bin/*})/" "$place/all" || [ $? = 1 ]; } >"$place/built"
  { grep -zE "^(/usr|${python%/bin/*})/.*/(site|dist)-packages/" "$place/all" || [ $? = 1 ]; } >>"$place/built"
  holders "$place/lines" "$place/built"
fi
rm -r "$place"
