#!/bin/bash
# The facts about locked processes: what is locked, what is charged, what the limit means.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group locked
