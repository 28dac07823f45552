#!/bin/sh
# Mine last month: look first, then run all six stages. Run again, it goes on where it ended.
# Usage: monthly.sh [FLAGS OF fc-data...]; MONTH=2026-02 mines that month.
set -eu
month=${MONTH:-$(date -u -d "$(date -u +%Y-%m-01) -1 month" +%Y-%m)}
first=$(date -u -d "$month-01" +%Y-%m-%d)
after=$(date -u -d "$month-01 +1 month" +%Y-%m-%d)
fc-data preflight
exec fc-data --start-date "$first" --end-date "$after" --resume "$@"
