#!/bin/bash
# The facts of the group heap for a program that runs inside a constructor of another library, which
# comes before that of the library under test, and before main.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
run_group heap constructor
