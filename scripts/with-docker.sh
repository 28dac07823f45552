#!/bin/sh
# Run a command with a Docker engine that answers. Usage: scripts/with-docker.sh COMMAND...
#
# An engine that answers already is used. Otherwise, as root, one is started without network set-up for the time of
# the command, with everything it writes in a directory of its own. Where neither is possible the command runs all the
# same, and what needs Docker is skipped or fails there.
set -eu
if docker version >/dev/null 2>&1; then
    exec "$@"
fi
if [ "$(id -u)" -ne 0 ] || ! command -v dockerd >/dev/null 2>&1; then
    echo "with-docker: no Docker engine answers, and none can be started here" >&2
    exec "$@"
fi

place=$(mktemp -d "${TMPDIR:-/tmp}/fc-docker.XXXXXX")
dockerd --host "${DOCKER_HOST:-unix:///var/run/docker.sock}" --iptables=false --bridge=none --data-root "$place/data" --exec-root "$place/exec" \
    --pidfile "$place/dockerd.pid" >"$place/log" 2>&1 &
daemon=$!
stop() {
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    umount "$place/exec/netns/default" 2>/dev/null || true
    rm -rf "$place" || true
}
trap stop EXIT
trap 'exit 130' INT TERM
waited=0
until docker version >/dev/null 2>&1; do
    waited=$((waited + 1))
    if [ "$waited" -gt 60 ] || ! kill -0 "$daemon" 2>/dev/null; then
        echo "with-docker: dockerd did not come up:" >&2
        tail -n 5 "$place/log" >&2
        break
    fi
    sleep 0.5
done
"$@"
