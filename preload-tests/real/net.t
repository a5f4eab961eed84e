#!/bin/bash
# curl against Python's own web server, both as the side under test.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require curl python3

# A threaded server that says its port in a file once it listens.
serve() {
    mkdir site && (cd site && seq 200000 >big && seq 10 >small && mkdir d && echo in >d/x) || return 1
    start -t 100 python3 -c '
import functools, http.server, os
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory="site")
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
open("port.new", "w").write(str(s.server_address[1])); os.rename("port.new", "port")
s.serve_forever()' >server.log 2>&1
    server=$started
    wait_until test -s port || { echo "no server"; cat server.log; return 1; }
    port=$(cat port)
}
unserve() {
    kill -TERM "$server"
    wait "$server"
    local rc=$?
    if [ "$rc" != 143 ]; then
        echo "the server ended with $rc:"
        tail -5 server.log
        return 1
    fi
}

fetches() {
    serve || return 1
    local url=http://127.0.0.1:$port bad=0
    says "a file" "$(md5sum <site/big)" "$(run curl -s "$url/big" | md5sum)" || bad=1
    says "a name through the resolver's thread" "$(cat site/small)" "$(run curl -s "http://localhost:$port/small")" || bad=1
    says "code" 200 "$(run curl -s -o /dev/null -w '%{http_code}' "$url/d/")" || bad=1
    says "missing" 404 "$(run curl -s -o /dev/null -w '%{http_code}' "$url/none")" || bad=1
    run curl -sf "$url/none"
    says "exit code" 22 $? || bad=1
    local i many=()
    for i in $(seq 60); do many+=("$url/big" -o "o$i"); done
    run curl -sZ --parallel-max 20 "${many[@]}"
    says "parallel" 0 $? || bad=1
    says "parallel files" "$(md5sum <site/big)" "$(cat o* | head -c "$(wc -c <site/big)" | md5sum)" || bad=1
    says "all sixty" 1 "$(md5sum o* | cut -c1-32 | sort -u | wc -l)" || bad=1
    says "a range" "$(head -c 100 site/big)" "$(run curl -s -r 0-99 "$url/big" | head -c 100)" || bad=1
    unserve || bad=1
    return $bad
}
both -p "curl python3" "curl fetches from a local server, one by one and sixty at once" fetches

clients() {
    serve || return 1
    local bad=0
    says "two hundred answers" "200 $(($(wc -c <site/small) * 200))" "$(run python3 -c '
import sys, urllib.request, concurrent.futures
u = sys.argv[1]
def get(i): return len(urllib.request.urlopen(u, timeout=20).read())
with concurrent.futures.ThreadPoolExecutor(10) as p: r = list(p.map(get, range(200)))
print(len(r), sum(r))' "http://127.0.0.1:$port/small")" || bad=1
    unserve || bad=1
    return $bad
}
both -p python3 "python's own clients ask from ten threads" clients

same -x 6 -q "curl says that a name does not resolve" curl -s http://name.invalid/
same -x 7 -q "curl says that nobody listens" curl -s http://127.0.0.1:1/
same "curl reads files" bash -c 'seq 1000 >f; curl -s "file://$PWD/f" | md5sum; curl -s "file://$PWD/f" -o g && cmp f g && echo same'
finish
