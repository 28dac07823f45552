#!/usr/bin/env bash
# Verdict inside the sandbox: tests first, then the submission's speed against base, both timed here side by side.
# `fc-eval run` grades from outside and is the stronger judge: what runs in here shares a sandbox with what it judges.
# FC_PATCH names the submission's diff where the sandbox is a fresh one; without it the tree as it stands is judged.
# A reward of 0 is written first, so that every exit path leaves one; only verdict.py replaces it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${FC_WORKDIR:-/workspace/repo}
out=${FC_VERIFIER_DIR:-/logs/verifier}
mkdir -p "$out"
rm -rf -- "$out/reward.json" "$out/details.json"
printf '{"reward": 0.0, "tests_passed": 0.0}\n' >"$out/reward.json"
cd "$work" || exit 1
"${FC_ENV:-/opt/env}/bin/python" "$here/verdict.py" "$here" "$out" "$work"
