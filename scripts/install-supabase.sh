#!/bin/sh
# Install Supabase's program from npm, as package.json says: a test applies supabase/migrations with it.
set -eu
cd "$(dirname "$0")/.."
wanted=$(sed -n 's/.*"supabase": "\(.*\)".*/\1/p' package.json)
program=node_modules/.bin/supabase
if [ -x "$program" ] && [ "$("$program" --version 2>/dev/null)" = "$wanted" ]; then
    echo "supabase $wanted: nothing is missing"
    exit 0
fi
npm install --no-package-lock --ignore-scripts --no-audit --no-fund
