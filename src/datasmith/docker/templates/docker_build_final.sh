#!/usr/bin/env bash
# Pr tier: seal. One commit, no way to another one, no caches; what the build changed or left is not part of a diff.
set -euo pipefail
cd "$FC_WORKDIR"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
git="git --git-dir=.git --work-tree=. -c safe.directory=* -c core.hooksPath=/dev/null -c core.fsmonitor=false"
git="$git -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null"
if [ -L .git ] || [ ! -d .git ]; then
  echo "$FC_WORKDIR/.git is no directory" >&2
  exit 1
fi
# What a build wrote into the repository's own settings could send git to another tree: they are made anew, unread but
# for the kind of the objects.
format=$($git rev-parse --show-object-format)
rm -rf .git/config .git/config.worktree .git/config.lock .git/commondir .git/info .git/index.lock
mkdir -p .git/info .git/refs/tags
if [ "$format" = sha256 ]; then
  printf '[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = false\n' >.git/config
  printf '[extensions]\n\tobjectformat = sha256\n' >>.git/config
else
  printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n' >.git/config
fi
$git checkout --quiet --force HEAD -- .
find . -name __pycache__ -type d -prune -exec rm -rf {} +
rm -rf .git/hooks .git/logs .git/ORIG_HEAD .git/FETCH_HEAD .git/packed-refs .git/refs/tags .git/refs/remotes
rm -rf .git/COMMIT_EDITMSG .git/description .git/branches
mkdir -p .git/refs/tags
printf '%s\n' __pycache__/ .pytest_cache/ >.git/info/exclude
$git ls-files --others --exclude-standard --directory | sed 's,^,/,' >>.git/info/exclude
# An index without times and inodes: the same tree is the same bytes, whenever it was built.
rm -f .git/index
$git read-tree HEAD
# When uv installed the package is nobody's business, either.
find "$FC_ENV" -path '*.dist-info/uv_cache.json' -delete
{ find "$FC_ENV" -path '*.dist-info/RECORD' -exec grep -lF /uv_cache.json, {} + || true; } |
  while IFS= read -r record; do sed -i '/\/uv_cache\.json,/d' "$record"; done
rm -rf /home/agent/.cache /home/agent/.gitconfig /home/agent/.config/git
if [ "$(id -u)" = 0 ]; then
  rm -rf /root/.cache
  # Only what the build left to root: a layer holds a copy of each file whose owner changes.
  find "${FC_WORKDIR%/*}" "$FC_ENV" ! -uid 1000 -exec chown -h 1000:1000 {} +
fi
