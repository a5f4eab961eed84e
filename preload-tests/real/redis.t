#!/bin/bash
# redis: a server with threads for input and output, forks that write the whole
# heap to a file, and active use of malloc_usable_size; asked by its own
# benchmark. The server sits on 127.0.0.1, on a port the kernel chose.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

# Debian's server is the checker under another name, in a package that starts
# no service: either will do.
server=$(command -v redis-server || command -v redis-check-rdb)
[ -n "$server" ] || require redis-server
require redis-cli redis-benchmark python3
mkdir "$work/bin" && ln -s "$(readlink -f "$server")" "$work/bin/redis-server"

ask() { run -t 20 redis-cli -h 127.0.0.1 -p "$port" "$@"; }

answers() { [ "$(ask ping 2>/dev/null)" = PONG ]; }
answers_or_ended() { answers || ! kill -0 "$server_pid"; }
serve() { # OPTION...
    local try
    # Between choosing a free port and using it someone else may take it.
    for try in 1 2 3; do
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        start -t 100 "$work/bin/redis-server" --bind 127.0.0.1 --port "$port" --dir "$PWD" --save '' "$@" >server.log 2>&1
        server_pid=$started
        wait_until answers_or_ended
        answers && return
        kill "$server_pid" 2>/dev/null
        wait "$server_pid"
    done
    echo "no server after $try tries"
    tail -5 server.log
    return 1
}
unserve() {
    ask shutdown nosave
    wait "$server_pid"
    local rc=$?
    if [ "$rc" != 0 ] || grep -q 'CRASHED\|BUG REPORT\|crashed by signal' server.log; then
        echo "the server ended with $rc"
        tail -20 server.log
        return 1
    fi
}
is() { ask info persistence | tr -d '\r' | grep -qx "$1:$2"; }
wait_for() { # FIELD VALUE
    wait_until is "$1" "$2" || { echo "$1 never became $2"; return 1; }
}

keeps() {
    serve --appendonly yes --io-threads 2 || return 1
    local bad=0
    says "filled" 3000 "$(ask eval 'for i = 1, 3000 do redis.call("set", "k" .. i, string.rep("v", i)); redis.call("hset", "h", i, i * i); redis.call("zadd", "z", i % 97, "m" .. i); redis.call("rpush", "l", string.rep("x", i % 300)) end return 3000' 0)" || bad=1
    says "one of them" 2500 "$(ask strlen k2500)" || bad=1
    says "a set by rank" m97 "$(ask zrange z 0 1000 | sort | grep -x m97)" || bad=1
    ask bgsave >/dev/null
    wait_for rdb_bgsave_in_progress 0 || bad=1
    wait_for rdb_last_bgsave_status ok || bad=1
    ask bgrewriteaof >/dev/null
    wait_for aof_rewrite_in_progress 0 || bad=1
    wait_for aof_last_bgrewrite_status ok || bad=1
    says "deleted in the background" 1 "$(ask unlink l)" || bad=1
    says "expired" OK "$(ask set e 1 px 1)" || bad=1
    ask memory doctor >/dev/null || bad=1
    says "memory usage" yes "$([ "$(ask memory usage k2500)" -gt 2500 ] && echo yes)" || bad=1
    # Digest of all data, before and after a restart from the files.
    local digest
    digest=$(ask eval 'local s = 0; for i = 1, 3000 do s = s + #redis.call("get", "k" .. i) + redis.call("hget", "h", i) end return s' 0)
    unserve || return 1
    serve --appendonly yes || return 1
    says "after a restart" "9009002000" "$((digest + 0))" || bad=1
    says "digest" "$digest" "$(ask eval 'local s = 0; for i = 1, 3000 do s = s + #redis.call("get", "k" .. i) + redis.call("hget", "h", i) end return s' 0)" || bad=1
    unserve || bad=1
    return $bad
}
both -p "$work/bin/redis-server redis-cli" "redis keeps its data over saves, rewrites and a restart" keeps

endures() {
    serve --io-threads 2 --io-threads-do-reads yes || return 1
    local bad=0 t
    run -t 60 redis-benchmark -h 127.0.0.1 -p "$port" -q -n 4000 -c 20 -P 4 --threads 2 -r 5000 -d 700 \
        -t ping,set,get,incr,lpush,lpop,sadd,hset,spop,zadd,lrange_100,mset >bench.log 2>&1
    says "exit code" 0 $? || bad=1
    tr '\r' '\n' <bench.log | grep 'requests per second' >done.log
    for t in PING_INLINE SET GET INCR LPUSH LPOP SADD HSET SPOP ZADD 'LRANGE_100 (first 100 elements)' 'MSET (10 keys)'; do
        grep -qF "$t: " done.log || { echo "$t is missing"; bad=1; }
    done
    says "errors" 0 "$(ask info stats | tr -d '\r' | sed -n 's/^total_error_replies://p')" || bad=1
    says "flushed" OK "$(ask flushall async)" || bad=1
    unserve || bad=1
    return $bad
}
both -p "$work/bin/redis-server redis-benchmark" "redis endures its benchmark" endures
finish
