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
# Of the repository its objects stay, and where HEAD is; the rest is made anew, unread: a build's own settings could
# send git to another tree, and git itself leaves other things there.
format=$($git rev-parse --show-object-format)
commit=$($git rev-parse HEAD)
branch=$($git symbolic-ref -q HEAD || echo refs/heads/main)
find .git -mindepth 1 -maxdepth 1 ! -name objects -exec rm -rf {} +
find .git/objects -mindepth 1 -maxdepth 1 ! -name pack ! -name '[0-9a-f][0-9a-f]' -exec rm -rf {} +
find .git/objects -mindepth 2 ! -name 'pack-*.pack' ! -name 'pack-*.idx' ! -regex '.*/[0-9a-f][0-9a-f]/[0-9a-f]*' \
  -exec rm -rf {} +
mkdir -p .git/info .git/refs/tags ".git/${branch%/*}"
printf 'ref: %s\n' "$branch" >.git/HEAD
printf '%s\n' "$commit" >".git/$branch"
if [ "$format" = sha256 ]; then
  printf '[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = false\n' >.git/config
  printf '[extensions]\n\tobjectformat = sha256\n' >>.git/config
else
  printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n' >.git/config
fi
$git checkout --quiet --force HEAD -- .
find . -name __pycache__ -type d -prune -exec rm -rf {} +
printf '%s\n' __pycache__/ .pytest_cache/ >.git/info/exclude
$git ls-files --others --exclude-standard --directory | sed 's,^,/,' >>.git/info/exclude
# An index without times and inodes: the same tree is the same bytes, whenever it was built.
rm -f .git/index
$git read-tree HEAD
# Beside the tree nothing is left: pytest and Python look for configuration in the directories above, too.
find "${FC_WORKDIR%/*}" -mindepth 1 -maxdepth 1 ! -name "${FC_WORKDIR##*/}" ! -name cache -exec rm -rf {} +
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
