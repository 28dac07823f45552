#!/bin/sh
# Make or update .venv exactly as uv.lock says. Usage: scripts/install.sh [options of "uv sync", such as --no-dev]
set -eu
cd "$(dirname "$0")/.."
python=$(scripts/find-python.sh)
if [ -n "${SSL_CERT_FILE:-}" ]; then
    PIP_CERT=${PIP_CERT:-$SSL_CERT_FILE}
    export PIP_CERT
fi
# uv is one of our dependencies: where the machine has none, the environment gets it first, and then uses it on itself.
uv=$(command -v "$PWD/.venv/bin/uv" || command -v uv || true)
if [ -z "$uv" ]; then
    echo "uv: none on this machine; it is installed into .venv first (some 20 MB)"
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"
    uv=.venv/bin/uv
fi
UV_PYTHON_DOWNLOADS=never "$uv" sync --locked --python "$python" "$@"
