#!/bin/bash
# The facts about the life of threads: what they start with, how they end, what they cost.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group threads
