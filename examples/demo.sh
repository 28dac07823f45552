#!/bin/sh
# The whole way on samplelib: a history becomes tasks, agents are scored on them, a page shows the result.
# Usage: examples/demo.sh [DIRECTORY]    (default: demo; what is there already is gone on with, not repeated)
set -eu
cd "$(dirname "$0")/.."
place=${1:-demo}
started=$(date +%s)
trap 'echo "make demo goes on where this one ended" >&2; exit 130' INT
PATH="$PWD/.venv/bin:$PATH"

echo "== 1. A repository with sixteen merged pull requests"
python examples/samplelib/make_history.py "$place/samplelib"

echo "== 2. Six stages: from pull requests to sealed, measured tasks; then the funnel: where each one ended, and why"
code=0
fc-data --forge git --repo "$place/samplelib" --start-date 2026-02-01 --end-date 2026-07-01 \
    --data-dir "$place/data" --resume --max-rounds 9 || code=$?

tasks=$(ls "$place/data/dataset/tasks" 2>/dev/null || true)
# 1: all that was left to measure failed. The tasks that there are have agents to run on them all the same.
if [ "$code" -gt 1 ] || [ -z "$tasks" ]; then
    [ "$code" -gt 1 ] || echo "error: no task yet; where the machine was too busy, the same command tries again" >&2
    exit "$((code > 0 ? code : 1))"
fi
count=$(echo "$tasks" | wc -l)
run=demo
if [ -e "$place/runs/demo.tasks" ] && [ "$(cat "$place/runs/demo.tasks")" != "$tasks" ]; then
    run="demo-$count-tasks" # the earlier run is of other tasks, and stays
fi
echo "== 3. Three agents on the tasks ($count of 4)"
mkdir -p "$place/runs"
[ "$run" != demo ] || echo "$tasks" >"$place/runs/demo.tasks"
fc-eval run --dataset "$place/data/dataset/tasks" --config examples/agents/demo.json \
    --runs-dir "$place/runs" --run-id "$run" --n-concurrent "$(nproc)" --max-rounds 8

if [ "$count" -lt 4 ]; then
    echo "only $count of 4 tasks: this machine was too busy to measure the others; the same command tries them again"
fi
echo "report: $(cd "$place" && pwd)/runs/$run/report.html"
echo "wall time: $(($(date +%s) - started)) s"
