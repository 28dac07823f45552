#!/usr/bin/env bash
# Pr tier: seal. One commit, no way to another one, no caches; what the build changed or left is not part of a diff.
set -euo pipefail
cd "$FC_WORKDIR"
git="git -c safe.directory=* -c core.hooksPath=/dev/null"
$git checkout --quiet --force HEAD -- .
find . -name __pycache__ -type d -prune -exec rm -rf {} +
rm -rf .git/hooks .git/logs .git/ORIG_HEAD .git/FETCH_HEAD .git/packed-refs .git/refs/tags .git/refs/remotes
mkdir -p .git/info .git/refs/tags
printf '%s\n' __pycache__/ .pytest_cache/ >>.git/info/exclude
$git ls-files --others --exclude-standard --directory | sed 's,^,/,' >>.git/info/exclude
# An index without times and inodes: the same tree is the same bytes, whenever it was built.
rm -f .git/index
$git read-tree HEAD
# When uv installed the package is nobody's business, either.
find "$FC_ENV" -path '*.dist-info/uv_cache.json' -delete
{ find "$FC_ENV" -path '*.dist-info/RECORD' -exec grep -lF /uv_cache.json, {} + || true; } |
  while IFS= read -r record; do sed -i '/\/uv_cache\.json,/d' "$record"; done
rm -rf /home/agent/.cache
if [ "$(id -u)" = 0 ]; then
  rm -rf /root/.cache
  # Only what the build left to root: a layer holds a copy of each file whose owner changes.
  find "${FC_WORKDIR%/*}" "$FC_ENV" ! -uid 1000 -exec chown -h 1000:1000 {} +
fi
