#!/bin/sh
# Process 1 of a container: stays, and collects what ends. Runs as root without capabilities, so that no command
# can take it over.
while :; do
    sleep infinity
done
