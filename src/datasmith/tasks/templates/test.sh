#!/usr/bin/env bash
# Verdict on correctness inside the sandbox: test files are put back to base, then every test that passed at base
# must pass. Speed is measured from outside, by `fc-eval`: no clock in here can be trusted with a reward.
# A reward of 0 is written first, so that every exit path leaves one; only verdict.py replaces it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${FC_WORKDIR:-/workspace/repo}
out=${FC_VERIFIER_DIR:-/logs/verifier}
mkdir -p "$out"
rm -rf -- "$out/reward.json" "$out/details.json"
printf '{"reward": 0.0, "tests_passed": 0.0}\n' >"$out/reward.json"
cd "$work" || exit 1
cp -R --remove-destination "$here/base/." . || exit 1
"${FC_ENV:-/opt/env}/bin/python" "$here/verdict.py" "$here/expected.json" "$out"
