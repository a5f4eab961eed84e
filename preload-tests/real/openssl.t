#!/bin/bash
# openssl: keys, ciphers, certificates, a server and a client, and its speed
# test, which forks and is ended by a timer.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require openssl

same "openssl hashes and encrypts" bash -c '
    seq 200000 >f; for h in md5 sha1 sha256 sha512 sha3-256 blake2b512; do openssl dgst -$h f; done; openssl dgst -hmac key f
    for c in aes-256-cbc aes-128-ctr chacha20 camellia-256-cbc; do openssl enc -$c -pbkdf2 -S 0011223344556677 -k pw -in f -out e && md5sum e && openssl enc -d -$c -pbkdf2 -S 0011223344556677 -k pw -in e | cmp - f && echo back; done
    openssl base64 -in f | openssl base64 -d | cmp - f && echo same; openssl prime 1000003; openssl version -v; openssl kdf -keylen 16 -kdfopt pass:p -kdfopt salt:salt -kdfopt n:1024 -kdfopt r:8 -kdfopt p:1 SCRYPT'
same "openssl makes keys and certificates and checks them" bash -ec '
    openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out ca.key 2>/dev/null || openssl genrsa -out ca.key 2048 2>/dev/null
    openssl req -x509 -new -key ca.key -subj /CN=ca -days 30 -out ca.crt; openssl ecparam -genkey -name prime256v1 -noout -out s.key; openssl req -new -key s.key -subj /CN=localhost -out s.csr
    openssl x509 -req -in s.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 10 -out s.crt 2>/dev/null; openssl verify -CAfile ca.crt s.crt; openssl x509 -in s.crt -noout -subject -issuer
    seq 1000 >f; openssl dgst -sha256 -sign s.key -out g f; openssl ec -in s.key -pubout -out s.pub 2>/dev/null; openssl dgst -sha256 -verify s.pub -signature g f; openssl pkcs12 -export -in s.crt -inkey s.key -passout pass:x -out p; openssl pkcs12 -in p -passin pass:x -nokeys 2>/dev/null | grep -c BEGIN
    openssl cms -sign -nodetach -in f -signer s.crt -inkey s.key -outform DER -out m; openssl cms -verify -inform DER -in m -CAfile ca.crt -purpose any 2>/dev/null | tr -d "\r" | cmp - f; echo signed; openssl asn1parse -in s.crt | grep -c SEQUENCE'

conversation() {
    local bad=0 i port pid got
    run openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=localhost -days 5 2>/dev/null || return 1
    start -t 60 openssl s_server -accept 127.0.0.1:0 -cert c -key k -www >server.log 2>&1
    pid=$started
    wait_until grep -q '^ACCEPT 127.0.0.1:' server.log || { echo "no server"; cat server.log; return 1; }
    port=$(sed -n 's/^ACCEPT 127.0.0.1://p' server.log)
    for i in 1 2 3 4 5 6; do
        got=$(printf 'GET / HTTP/1.0\r\n\r\n' | run -t 20 openssl s_client -connect "127.0.0.1:$port" -CAfile c -verify_return_error -ign_eof -quiet 2>/dev/null)
        grep -q 'HTTP/1.0 200 ok' <<<"$got" || { echo "no answer to the client"; bad=1; }
        if command -v curl >/dev/null; then
            got=$(run -t 20 curl -s --cacert c --resolve "localhost:$port:127.0.0.1" "https://localhost:$port/")
            grep -q s_server <<<"$got" || { echo "no answer to curl"; bad=1; }
        fi
    done
    kill -TERM "$pid"
    wait "$pid"
    i=$?
    [ "$i" = 143 ] || { echo "the server ended with $i"; tail -5 server.log; bad=1; }
    return $bad
}
both -p openssl "openssl serves pages to its own client and to curl" conversation

speed() {
    run -t 40 openssl speed -seconds 1 -bytes 1024 -multi 2 sha256 >out 2>err || { echo "exit code $?"; tail -5 err; return 1; }
    # sha256   123456.78k
    awk '$1 == "sha256" && $2 + 0 > 1000 { ok = 1 } END { exit !ok }' out || { cat out; return 1; }
}
both -p openssl "openssl measures itself in two processes" speed
finish
