#!/bin/sh
# Install the coding agents of stage 5, at the versions that the tests drive. Usage: scripts/install-agents.sh [DIR]
#
# DIR (default: .agents) is what FC_AGENTS_DIR must name. No install script of a package is run.
set -eu
cd "$(dirname "$0")/.."
target=${1:-.agents}
claude=2.1.197
codex=0.169.0
gemini=0.61.0
mini=2.4.6
mcp=2.3.0
wanted="claude $claude codex $codex gemini $gemini mini $mini mcp $mcp"
if [ "$(cat "$target/installed" 2>/dev/null)" = "$wanted" ]; then
    echo "coding agents in $target: nothing is missing"
    exit 0
fi
mkdir -p "$target"
rm -f "$target/installed"
npm install --prefix "$target" --no-package-lock --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@anthropic-ai/claude-code@$claude" "@openai/codex@$codex" "@google/gemini-cli@$gemini"
# Sandboxes run it with their own Python, which is that of Debian, and cannot write byte code beside it.
.venv/bin/uv venv --quiet --clear --python /usr/bin/python3 "$target/mini"
.venv/bin/uv pip install --quiet --compile-bytecode --python "$target/mini/bin/python" "mini-swe-agent==$mini" "mcp==$mcp"
printf '%s' "$wanted" >"$target/installed"
