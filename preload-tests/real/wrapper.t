#!/bin/bash
# scripts/libfix: a program started through it is started with the library and
# otherwise as if it were not there.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

wrapper=$root/scripts/libfix
# Away from the sources: nothing may depend on where the caller stands.
cd "$work" || exit 1

# is NAME EXPECTED COMMAND...: the command's stdout and stderr, then its code.
is() {
    local name=$1 want=$2 got rc
    shift 2
    got=$(timeout -k 2 30 "$@" 2>&1 </dev/null)
    rc=$?
    got="$got${got:+ }[$rc]"
    if [ "$got" = "$want" ]; then
        pass "$name"
    else
        fail "$name"
        note "expected: $want"
        note "got:      $got"
    fi
}
# For the lines that another shell runs.
export wrapper LIBFIX fix="$work/fix"
printf '#!/bin/sh\nexec env -i PATH="$PATH" "$wrapper" --lib="$LIBFIX" "$@"\n' >"$fix" && chmod +x "$fix"
with=(env -i "${clean[@]}" "$wrapper" --lib="$LIBFIX")

is "the program carries the library" "1 [0]" "${with[@]}" sh -c "grep -c 'r-x.*/lib/libfix.so' /proc/self/maps"
is "its children carry it" "1 [0]" "${with[@]}" sh -c "sh -c \"grep -c 'r-x.*/lib/libfix.so' /proc/self/maps\""
is "arguments pass unchanged" "<a b><><*><-x><--stats><\$HOME> [0]" "${with[@]}" printf '<%s>' 'a b' '' '*' -x --stats '$HOME'
is "stdin passes" "line [0]" bash -c 'echo line | env -i PATH="$PATH" "$wrapper" --lib="$LIBFIX" cat'
is "the exit code passes" "[37]" "${with[@]}" sh -c 'exit 37'
is "the end by a signal passes" "[143]" "${with[@]}" sh -c 'kill -TERM $$'
is "signals reach the program itself" "caught [5]" bash -c '
    "$wrapper" --lib="$LIBFIX" bash -c "trap \"echo caught; exit 5\" USR1; echo >ready; while :; do sleep .05; done" & p=$!
    for i in $(seq 100); do [ -e ready ] && break; sleep .05; done; kill -USR1 $p; wait $p'
is "the program is the process that was started" "same [0]" bash -c \
    '"$wrapper" --lib="$LIBFIX" sh -c "echo \$\$" >pid & p=$!; wait $p; [ "$(cat pid)" = $p ] && echo same'
is "an LD_PRELOAD that is there stays, behind" "$LIBFIX:/usr/lib/none.so [0]" \
    bash -c 'LD_PRELOAD=/usr/lib/none.so "$wrapper" --lib="$LIBFIX" printenv LD_PRELOAD 2>/dev/null'
is "a wrapper in a wrapper adds the library once" "$LIBFIX [0]" "${with[@]}" "$wrapper" --lib="$LIBFIX" printenv LD_PRELOAD
is "no setting is set unasked" "[1]" "${with[@]}" sh -c 'env | grep ^LIBFIX'
is "the caller's settings pass" "7M [0]" env -i "${clean[@]}" LIBFIX_STACK_CACHE=7M "$wrapper" --lib="$LIBFIX" printenv LIBFIX_STACK_CACHE
is "--stack-cache sets its variable" "2M [0]" "${with[@]}" --stack-cache=2M printenv LIBFIX_STACK_CACHE
is "--stats sets its variable" "1 [0]" bash -c '"$fix" --stats printenv LIBFIX_STATS 2>/dev/null'
is "--stats=PATH is made absolute" "$(pwd -P)/r [0]" "${with[@]}" --stats=r printenv LIBFIX_STATS
is "options end at --" "1 [0]" bash -c '"$fix" --stats -- printenv LIBFIX_STATS 2>/dev/null'

is "--stats reports on stderr" "yes [0]" bash -c '"$fix" --stats true 2>err; grep -q "^libfix: threads created 0" err && grep -q "^libfix: heap " err && echo yes'
is "--stats=PATH reports in the file, wherever the program goes" "yes [0]" bash -c \
    'rm -f rep; "$fix" --stats=rep perl -e "chdir q(/)" 2>err; grep -q "^libfix: threads created" rep && [ ! -s err ] && echo yes'

refused() { # NAME TEXT ARGUMENT...
    local name=$1 text=$2 out rc
    shift 2
    out=$(env -i "${clean[@]}" "$wrapper" "$@" 2>&1 </dev/null)
    rc=$?
    if [ $rc = 125 ] && grep -qF -- "$text" <<<"$out" && grep -q '^libfix: ' <<<"$out"; then
        pass "$name"
    else
        fail "$name"
        note "exit code $rc: $out"
    fi
}
refused "no program is an error" "no program to start"
refused "an unknown option is an error" "unknown option --frob" --frob true
refused "a bad size is an error" "--stack-cache=12X: expected a number of bytes" --stack-cache=12X true
refused "an empty size is an error" "--stack-cache=: expected a value" --stack-cache= true
refused "a size without a number is an error" "--stack-cache=M: expected a number of bytes" --stack-cache=M true
refused "an empty path of statistics is an error" "--stats=: expected a value" --stats= true
refused "a missing library is an error" "no library at /none.so" --lib=/none.so true
mkdir "$work/a b" && cp "$LIBFIX" "$work/a b/libfix.so"
refused "a path that the loader would part is an error" "a blank, a colon or a dollar sign" "--lib=$work/a b/libfix.so" true
is "a program that is not there gives 127" "[127]" bash -c '"$fix" no-such-program 2>/dev/null'
is "a program that cannot be started gives 126" "[126]" bash -c 'echo x >plain; "$fix" ./plain 2>/dev/null'

# An installed copy, and a source tree without a build, each reached by a link.
mkdir -p "$work/prefix/bin" "$work/prefix/lib" "$work/links" "$work/tree/scripts"
cp "$wrapper" "$work/prefix/bin/" && cp "$LIBFIX" "$work/prefix/lib/" && ln -s ../prefix/bin/libfix "$work/links/fix"
is "an installed wrapper finds the library of its prefix" "$work/prefix/lib/libfix.so [0]" \
    env -i "${clean[@]}" "$work/prefix/bin/libfix" printenv LD_PRELOAD
is "a link to the wrapper finds it, too" "$work/prefix/lib/libfix.so [0]" env -i "${clean[@]}" "$work/links/fix" printenv LD_PRELOAD
is "a wrapper found in PATH finds it, too" "$work/prefix/lib/libfix.so [0]" env -i "${clean[@]}" PATH="$work/links:$PATH" fix printenv LD_PRELOAD
is "a relative call finds it, too" "$work/prefix/lib/libfix.so [0]" bash -c 'cd prefix/lib && env -i PATH="$PATH" ../bin/libfix printenv LD_PRELOAD'
rm "$work/prefix/lib/libfix.so"
is "an installed wrapper without a library says where it looked" "yes [0]" bash -c \
    'env -i PATH="$PATH" prefix/bin/libfix true 2>err; [ $? = 125 ] && grep -q "no libfix.so" err && grep -q cargo.build.--release err && echo yes'
cp "$wrapper" "$work/tree/scripts/" && touch "$work/tree/Cargo.toml"
is "a source tree without a build says how to build" "yes [0]" bash -c \
    'env -i PATH="$PATH" tree/scripts/libfix true 2>err; [ $? = 125 ] && grep -q "cargo build --release" err && echo yes'

is "--version is the package's" "libfix $(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1) [0]" "$wrapper" --version
help=$("$wrapper" --help)
name="--help names every option and every setting that the source knows"
missing=''
for word in $(sed -n 's/^ *\(--[a-z-]*\).*)$/\1/p' "$wrapper" | grep -vx -- --) $(grep -rhow 'LIBFIX_[A-Z_]*' "$root/src" | sort -u); do
    grep -qF -- "$word" <<<"$help" || missing="$missing $word"
done
if [ -z "$missing" ] && [ "$(wc -l <<<"$help")" -gt 20 ]; then pass "$name"; else fail "$name"; note "missing:$missing"; fi
name="the README's table of settings is that of --help"
if [ -f "$root/README.md" ] && [ "$(grep -c '^| `LIBFIX_' <<<"$help")" -gt 0 ] &&
    [ "$(grep '^| `LIBFIX_' <<<"$help")" = "$(grep '^| `LIBFIX_' "$root/README.md")" ]; then
    pass "$name"
else
    fail "$name"
    note "$(diff <(grep '^| `LIBFIX_' <<<"$help") <(grep '^| `LIBFIX_' "$root/README.md" 2>&1))"
fi
finish
