# shellcheck shell=bash
# What the scripts need from the machine: sourced by demo and test. Owns how a
# missing program is installed, and what is said when it cannot be.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# The caller's own choice of a target folder is relative to where it stands.
target=${CARGO_TARGET_DIR:-$top/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
export CARGO_TARGET_DIR=$target
# shellcheck disable=SC2034  # for the scripts
library=$target/release/libfix.so
# rustup changes the PATH of later logins only.
command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
PATH=$PATH:/usr/sbin:/sbin
export PATH

# A preloaded library must not sit in the compiler and in the tools that measure.
unset LD_PRELOAD
for variable in $(compgen -e LIBFIX); do unset "$variable"; done

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# install_missing PROGRAM=PACKAGE...: PROGRAM is a name in PATH, or a file. What
# stays missing is said in one line; the caller goes on without it.
install_missing() {
    local pair package packages=() missing=() log
    for pair; do present "${pair%%=*}" || packages+=("${pair#*=}"); done
    [ ${#packages[@]} -gt 0 ] || return 0
    echo "installing ${packages[*]}"
    log=$(mktemp)
    if ! command -v apt-get >/dev/null; then
        echo "no apt-get here" >"$log"
    elif as_root true 2>"$log"; then
        as_root apt-get -q update >>"$log" 2>&1
        # One package that cannot be had must not keep the others away.
        quietly_install "${packages[@]}" >>"$log" 2>&1 ||
            for package in "${packages[@]}"; do quietly_install "$package" >>"$log" 2>&1; done
    fi
    for pair; do present "${pair%%=*}" || missing+=("${pair%%=*} (package ${pair#*=})"); done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "not installed: ${missing[*]}"
        tail -n 3 "$log" | sed 's/^/  /'
    fi
    rm -f "$log"
}
present() {
    case $1 in /*) [ -e "$1" ] ;; *) command -v "$1" >/dev/null ;; esac
}
quietly_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "$@" </dev/null
}

# Without Rust there is nothing to build.
require_cargo() {
    command -v cargo >/dev/null && return
    echo "cargo is not installed: install Rust (rustup), then run this again" >&2
    exit 1
}
