#!/bin/bash
# The facts about fork in threaded programs: heap, threads and stacks of the child.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group fork
