#!/bin/sh
# Mine last month: look first, then run all six stages. Run again, it goes on where it ended.
# Usage: monthly.sh [FLAGS OF fc-data...]; MONTH=2026-02 mines that month.
set -eu
month=${MONTH:-$(date -u -d "$(date -u +%Y-%m-01) -1 month" +%Y-%m)}
first=$(date -u -d "$month-01" +%Y-%m-%d)
after=$(date -u -d "$month-01 +1 month" +%Y-%m-%d)

look() { # look FLAGS...: preflight with those of the flags that say what the run will need
    left=$#
    source=""
    while [ "$left" -gt 0 ]; do
        case $1 in
        --forge* | --repo* | --offline-source*) source=$1 ;;
        esac
        case $1 in
        --forge | --repo | --offline-source | --stage | --engine | --data-dir)
            set -- "$@" "$1" "${2-}"
            shift 2
            left=$((left - 2))
            ;;
        --forge=* | --repo=* | --offline-source=* | --stage=* | --engine=* | --data-dir=*)
            set -- "$@" "$1"
            shift
            left=$((left - 1))
            ;;
        *)
            shift
            left=$((left - 1))
            ;;
        esac
    done
    [ -n "$source" ] || set -- "$@" --forge github # what a run mines that is told nothing
    fc-data preflight "$@"
}

look "$@"
exec fc-data --start-date "$first" --end-date "$after" --resume "$@"
