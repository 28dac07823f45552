#!/bin/sh
# The whole way on samplelib: a history becomes tasks, agents are scored on them, a page shows the result.
# Usage: examples/demo.sh [DIRECTORY]    (default: demo; what is there already is gone on with, not repeated)
set -eu
cd "$(dirname "$0")/.."
place=${1:-demo}
started=$(date +%s)
PATH="$PWD/.venv/bin:$PATH"

echo "== 1. A repository with sixteen merged pull requests"
python examples/samplelib/make_history.py "$place/samplelib"

echo "== 2. Six stages: from pull requests to sealed, measured tasks; then the funnel: where each one ended, and why"
fc-data --forge git --repo "$place/samplelib" --start-date 2026-02-01 --end-date 2026-07-01 \
    --data-dir "$place/data" --resume --max-rounds 9

echo "== 3. Three agents on the tasks"
fc-eval run --dataset "$place/data/dataset/tasks" --config examples/agents/demo.json \
    --runs-dir "$place/runs" --run-id demo --n-concurrent "$(nproc)" --max-rounds 9

echo "report: $(cd "$place" && pwd)/runs/demo/report.html"
echo "wall time: $(($(date +%s) - started)) s"
