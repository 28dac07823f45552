#!/usr/bin/env bash
# Inside a sandbox: how many commits the object database of this repository holds, and what it holds that HEAD does not
# need, packed or loose. Prints `commits N`, `extra N`, then the first ids of the extra ones.
set -euo pipefail
export LC_ALL=C
git=(git --git-dir=.git -c 'safe.directory=*' --no-replace-objects)
place=$(mktemp -d)
"${git[@]}" cat-file --batch-all-objects --unordered --batch-check='%(objectname) %(objecttype)' | sort >"$place/all"
"${git[@]}" rev-list --objects --no-object-names HEAD | sort -u >"$place/needed"
cut -d ' ' -f 1 "$place/all" | comm -23 - "$place/needed" >"$place/extra"
echo "commits $(grep -c ' commit$' "$place/all" || true)"
echo "extra $(wc -l <"$place/extra")"
head -n 20 "$place/extra"
rm -r "$place"
