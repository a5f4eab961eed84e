#!/bin/bash
# The facts about thread stacks: sizes, guards, what the program is told about them, their memory.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group stacks
