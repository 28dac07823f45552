#!/bin/sh
# Install the coding agents of stage 5, at the versions that the tests drive. Usage: scripts/install-agents.sh [DIR]
#
# DIR (default: .agents) is what FC_AGENTS_DIR must name. No install script of a package is run.
set -eu
cd "$(dirname "$0")/.."
. scripts/pinned.sh
claude=2.1.197
codex=0.169.0
gemini=0.61.0
mini=2.4.6
mcp=2.3.0
begin "coding agents" "${1:-.agents}" "claude $claude codex $codex gemini $gemini mini $mini mcp $mcp"
npm install --prefix "$target" --no-package-lock --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
    "@anthropic-ai/claude-code@$claude" "@openai/codex@$codex" "@google/gemini-cli@$gemini"
# Sandboxes run it with their own Python, which is that of Debian, and cannot write byte code beside it.
environment mini /usr/bin/python3 --compile-bytecode "mini-swe-agent==$mini" "mcp==$mcp"
finish
