#!/bin/bash
# The facts about the process as a whole: what it shows to the outside, identity, limits, filters,
# signals, loading of libraries.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group process
