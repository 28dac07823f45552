#!/usr/bin/env bash
# What terminal-bench runs when the agent is done, in the agent's own container, where it also put tests/.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tests=${TEST_DIR:-$here}
[ -e "$tests/test.sh" ] || tests=$here/tests
out=${FC_VERIFIER_DIR:-/tmp/fc-verdict/verifier}
FC_VERIFIER_DIR=$out bash "$tests/test.sh"
"${FC_ENV:-/opt/env}/bin/python" "$tests/summary.py" "$out/reward.json"
