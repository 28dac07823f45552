#!/usr/bin/env bash
# Inside a sandbox: what .git holds beside what one sealed commit needs, and what git would not tell of its packs.
# Argument: HEAD's ref. Prints `there PATH`; and `pack PATH`, one that holds other objects than its list says.
set -euo pipefail
export LC_ALL=C
own=$(printf '%s' "$1" | sed 's/[^[:alnum:]_/-]/[&]/g')
name='[0-9a-f]{38}([0-9a-f]{24})?'
find .git -mindepth 1 ! -type d -printf '%y %P\0' | { grep -zvE \
  "^f (HEAD|config|index|info/exclude|$own|objects/[0-9a-f]{2}/$name|objects/info/packs|objects/pack/pack-[0-9a-f]{2}${name}[.](pack|idx|rev|bitmap))$" ||
  [ $? = 1 ]; } | while IFS= read -r -d '' path; do printf 'there %q\n' "${path#? }"; done
git=(git --git-dir=.git -c 'safe.directory=*' --no-replace-objects)
for pack in .git/objects/pack/pack-*.pack; do
  [ -e "$pack" ] || continue
  count=$(od -An -tu1 -j8 -N4 "$pack" | { read -r a b c d && echo $(((a << 24) + (b << 16) + (c << 8) + d)); })
  if [ ! -e "${pack%.pack}.idx" ] || [ "$("${git[@]}" show-index <"${pack%.pack}.idx" | wc -l)" != "$count" ]; then
    printf 'pack %q\n' "${pack#.git/}"
  fi
done
