#!/usr/bin/env bash
# Inside a sandbox, after seal_common.sh and before seal_names.sh: what of all its files could lead to the fix. Reads
# what seal_given.py reads. Prints, each as `word<tab>text`: `looked N`, the number of files; `cache PATH`, a package
# that a download left; `copy PATH`, an installed module of the given names, and `part PATH`, a file below its
# directory; `own NAME`, a distribution that was installed from the tree; `dist PATH`, the metadata of another one
# that brings those modules; `repo PATH`, a repository, pack or object store beside the tree's own; `unread PATH`,
# what cannot be read, and can be made readable by the user of sandboxes, whose it is; `line TEXT`, a line of the fix
# that the tree's commit does not have anyway; the files and archives that hold some of those; `same N PATH`, what
# holds file N as the fix leaves it; and what seal_given.py prints. Arguments: module names for a regular expression,
# as in "a|b/c"; words that call git.
# shellcheck disable=SC2154
set -euo pipefail
names=$1
shift
sort -zu "$place/closed" | show unread
printf 'looked\t%s\n' "$(tr -cd '\0' <"$place/all" | wc -c)"
# beside: of what comes in, what does not lie in the tree.
beside() {
  grep -zv '^/workspace/repo/' || [ $? = 1 ]
}
# tracked PATH: whether the tree's commit has this very path.
tracked() {
  [[ $1 == /workspace/repo/* ]] &&
    "${git[@]}" cat-file -e "HEAD:${1#/workspace/repo/}" 2>/dev/null
}
# untracked DIRECTORY: whether something lies in it that the tree's commit does not have.
untracked() {
  [ -n "$("${git[@]}" --work-tree=. ls-files --others -- "$1" | head -n 1)" ]
}
matching '\.(whl|crate|conda|egg|zip|tgz|tbz2|txz|tar|tar\.(gz|bz2|xz|zst))$|/\.cache/(pip|uv)/' |
  beside | show cache
matching '/HEAD$' | while IFS= read -r -d '' path; do
  there=${path%/HEAD}
  if [ "$there" = /workspace/repo/.git ] || [ ! -d "$there/objects" ] || [ ! -d "$there/refs" ]; then continue; fi
  if ! tracked "$path" || untracked "$there"; then printf '%s\0' "$there" | show repo; fi
done
# Of the objects that a build packed anew a lower layer holds the former files: they are the tree's own where all that
# is in them is.
"${git[@]}" cat-file --batch-all-objects --batch-check='%(objectname)' | sort -u >"$place/objects"
former='/workspace/cache/\.fc-below/[0-9]+/workspace/repo/\.git/objects/'
packs_own() {
  [[ $1 =~ ^$former ]] && "${git[@]}" index-pack -o "$place/former.idx" "$1" >/dev/null 2>&1 &&
    "${git[@]}" show-index <"$place/former.idx" | cut -d ' ' -f 2 | sort | comm -23 - "$place/objects" >"$place/new" &&
    [ ! -s "$place/new" ]
}
matching "^${former}[0-9a-f]{2}/[0-9a-f]+$" | "$reader" -I -S "$programs/seal_former.py" "$place/objects" |
  sort -zu >"$place/former"
matching '\.(pack|bundle)$' | while IFS= read -r -d '' path; do
  if [[ $path == /workspace/repo/.git/objects/pack/* ]] || tracked "$path" || packs_own "$path"; then continue; fi
  case $(head -c 16 -- "$path" | tr '\0' ' ') in PACK* | '# v2 git bundle'* | '# v3 git bundle'*)
    printf '%s\0' "$path" | show repo ;;
  esac
done
# What git calls its loose objects, below another directory: stores that no HEAD lies beside.
matching '/[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?$' | comm -z -23 - "$place/former" | while IFS= read -r -d '' path; do
  if [[ $path == /workspace/repo/.git/objects/* ]] || tracked "$path"; then continue; fi
  if [ "$(head -c 1 -- "$path")" = x ]; then printf '%s\0' "${path%/*/*}"; fi
done | sort -zu | show repo
while IFS= read -r -d '' path; do
  { sed -n 's/^Name: */own\t/p' "$path/METADATA" 2>/dev/null || true; } | head -n 1
done <"$place/own"
if [ -n "$names" ]; then
  { matching '/(site|dist)-packages/[^/]*\.dist-info/RECORD$' |
    xargs -0 -r grep -lZE -e "^($names)(/__init__\.py|\.py|(\.[^/,]*)?\.so)," -- || true
    matching '/(site|dist)-packages/[^/]*\.(dist|egg)-info/top_level\.txt$' | while IFS= read -r -d '' path; do
      # Distributions that share a namespace all list it, with or without saying so; what one brings is in its RECORD.
      if [ -s "${path%/*}/RECORD" ]; then continue; fi
      cat "${path%/*}/namespace_packages.txt" 2>/dev/null >"$place/shared" || true
      if grep -vxF -f "$place/shared" -- "$path" | grep -xE -e "($names)" >"$place/brought"; then
        printf '%s\0' "$path"
      fi
    done; } | while IFS= read -r -d '' path; do
    if ! grep -qzxF -e "${path%/*}" "$place/own"; then printf '%s\0' "${path%/*}"; fi
  done | sort -zu | show dist
  matching "/(site|dist)-packages/($names)(/__init__\.py|\.py|(\.[^/]*)?\.so)$" | beside | show copy
  # The machine code of a tree that is installed as it lies there is its own; its names are looked at like all others.
  { grep -zE "$code" "$place/own_listed" || [ $? = 1 ]; } >"$place/own_code"
  matching "/(site|dist)-packages/($names)/.*\.(py|pyc|pyx|so|pyd)$" | beside | not_foreign |
    comm -z -23 - "$place/own_code" | show part
fi
"$reader" -I -S "$programs/seal_given.py" "$place/lines" "$place/files" "$place/names" "$@"
only_new "$place/lines"
sed 's/^/line\t/' "$place/lines"
if [ -s "$place/lines" ] || [ -s "$place/files" ]; then
  # Of the system and the interpreter only where packages are installed.
  { grep -zE "$system.*/(site|dist)-packages/" "$place/all" || [ $? = 1 ]; } >>"$place/built"
  holders "$place/lines" "$place/built"
  archived "$place/lines" '' "$place/files" <"$place/built"
fi
