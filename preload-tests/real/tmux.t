#!/bin/bash
# tmux: a server that leaves its terminal, starts shells on pseudo-terminals and
# keeps their output, and clients that come and go.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require tmux

# One socket for each side: a server may still be leaving when the next starts.
tm() { run -t 20 tmux -S "$work/$side.s" -f /dev/null "$@"; }

shows() { tm capture-pane -p | grep -qx "$1"; }

panes() {
    local bad=0 i
    tm new-session -d -x 100 -y 40 'PS1="> " exec sh' || return 1
    says "a window" 1 "$(tm display-message -p '#{session_windows}')" || bad=1
    for i in 1 2 3; do tm split-window -d 'seq 3000; exec sleep 50' && tm select-layout tiled || bad=1; done
    tm new-window -d 'sleep 50' || bad=1
    says "windows and panes" "2 4" "$(tm display-message -p '#{session_windows} #{window_panes}')" || bad=1
    tm send-keys 'echo $((6 * 7)) >answer; seq 500; echo fin''ished' Enter
    wait_until shows finished || { echo 'the shell did not answer'; tm capture-pane -p | tail -5; bad=1; }
    says "the shell's answer" 42 "$(cat answer)" || bad=1
    says "the history" yes "$(tm capture-pane -p -S -1000 | grep -qx 250 && echo yes)" || bad=1
    seq 20000 | head -c 50000 | tm load-buffer - && says "a buffer" 50000 "$(tm show-buffer | wc -c)" || bad=1
    for i in $(seq 20); do tm set -g @x "$i" && tm resize-window -x $((80 + i)) || bad=1; done
    says "an option" 20 "$(tm show -gv @x)" || bad=1
    tm run-shell 'echo sub >ran' && says "run-shell" sub "$(cat ran)" || bad=1
    tm kill-server || { echo 'no server to end'; bad=1; }
    return $bad
}
both -p tmux "tmux keeps panes, history, buffers and options" panes
tm kill-server 2>/dev/null
finish
