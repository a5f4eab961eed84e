#!/bin/bash
# The facts about the heap: its interface, its memory, its errors.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
run_group heap
