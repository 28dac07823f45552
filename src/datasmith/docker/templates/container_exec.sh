#!/bin/sh
# Inside a container: run one command from a clean start, and leave nothing of it behind.
# Arguments: a mark to print once the command starts, cores for taskset (or an empty word), the command.
# Exit code 97, without the mark: the places that every command finds empty could not be emptied.
mark=$1
cores=$2
shift 2
places="/tmp /home/agent /dev/shm"
if [ -d /dev/mqueue ]; then places="$places /dev/mqueue"; fi
empty() {
    # shellcheck disable=SC2086  # several places
    /usr/bin/find $places -xdev -mindepth 1 -delete
}
if ! empty 2>/dev/null; then
    # shellcheck disable=SC2086
    /usr/bin/find $places -xdev -mindepth 1 -type d -exec /bin/chmod u+rwx {} \; 2>/dev/null
    empty || exit 97
fi
/usr/bin/ipcrm --all >/dev/null 2>&1
printf '%s' "$mark" >&2
if [ -n "$cores" ]; then
    /usr/bin/taskset -c "$cores" "$@"
else
    "$@"
fi
code=$?
# Everything of this user but this shell: what was left in the background would hold the output open.
kill -9 -1 2>/dev/null
exit "$code"
