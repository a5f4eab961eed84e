#!/bin/bash
# The harness of the fact tests: builds each fact program, runs it bare and with the library
# preloaded, and says the results in TAP. Sourced by the .t files.
#
# A fact is one C or C++ program in facts/GROUP/, named as the sentence it proves. It ends with 0
# and nothing on standard error when the fact holds, with 1 and a FAIL line when it does not, with
# 77 and a SKIP line when this machine cannot tell. Lines of its head comment direct the harness:
#
#   // flags: FLAGS                  further flags of the compiler
#   // variant: FLAGS                build and run once more for each such line, with these flags
#   // variant (bare fails): FLAGS   the same; the fact of this variant is the library's alone
#   // bare: expect-fail REASON      the fact is the library's alone: bare it must FAIL
#   // fails-with: TEXT              what the FAIL line must contain then
#   // bare: skip REASON             bare it cannot be asked
#   // constructor: skip REASON      it makes no sense before main
#   // object: NAME.c FLAGS          build facts/objects/NAME.c into NAME.so (directory: OBJECTS)
#   // linked: NAME.c FLAGS          the same, and link the program with it
#   // limits: ULIMIT-ARGUMENTS      run once for each such line under this ulimit
#   // env: NAME=VALUE ...           environment of the program (MALLOC_ARENA_MAX=1 keeps glibc's
#                                    arenas, of 64 MiB each, out of facts about address space)
#   // user: ordinary                run as a user without privileges
#   // output: same                  standard output must be what it is bare, byte for byte
#   // repeat: N                     run N times
#   // timeout: SECONDS              instead of 30
#
# LIBFIX names the library under test; by default target/release/libfix.so of this repository.

set -u

tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$tests_dir/.." && pwd)
# Our own tools must not run on the library under test.
unset LD_PRELOAD
ulimit -c 0

tap_n=0
tap_bad=0

diag() { sed 's/^/# /'; }
say_ok() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1"; }
say_skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
say_bad() { tap_n=$((tap_n + 1)); tap_bad=$((tap_bad + 1)); echo "not ok $tap_n - $1"; }
bail() { echo "Bail out! $1"; exit 1; }
finish() { echo "1..$tap_n"; [ "$tap_bad" = 0 ]; }

library=${LIBFIX:-target/release/libfix.so}
case $library in /*) ;; *) library=$repo_dir/$library ;; esac
[ -f "$library" ] || bail "the library under test, $library, is not there (cargo build --release, or set LIBFIX)"

build=$(mktemp -d "${TMPDIR:-/tmp}/libfix-facts.XXXXXX") || exit 1
running=
trap 'if [ -n "$running" ]; then kill -KILL -- "-$running"; fi 2>/dev/null; rm -rf "$build"' EXIT
trap 'exit 130' INT TERM
# Programs that run as another user need to read the library and their own file.
chmod 755 "$build" && cp "$library" "$build/libfix.so" && chmod 755 "$build/libfix.so"
preload=$build/libfix.so
mkdir "$build/scratch" && chmod 1777 "$build/scratch"

CC=${CC:-gcc}
CXX=${CXX:-g++}
# Without these the compiler drops pairs of malloc and free and assumes that free keeps errno:
# the programs would test nothing.
flags=(-O2 -g -pthread -Wall -Wextra -I "$tests_dir" -fno-allocation-dce)
for f in malloc free calloc realloc reallocarray strdup strndup memalign posix_memalign aligned_alloc; do
  flags+=("-fno-builtin-$f")
done

# directive KEY FILE: the values of that key, one a line
directive() {
  sed -n -e '/^\/\//!q' -e "s|^// $1: *||p" "$2"
}

# build_objects SOURCE DIR: shared libraries the program asks for; sets link_args
build_objects() {
  local line name more
  link_args=()
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    read -r name more <<<"$line"
    # shellcheck disable=SC2086
    "$CC" "${flags[@]}" -shared -fPIC -o "$2/${name%.c}.so" "$tests_dir/facts/objects/$name" $more || return 1
  done < <(directive object "$1"; directive linked "$1")
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    read -r name more <<<"$line"
    link_args+=("-Wl,--no-as-needed" "$2/${name%.c}.so" "-Wl,-rpath,$2")
  done < <(directive linked "$1")
  return 0
}

# compile SOURCE DIR HOW FLAGS...: DIR/p, which runs main or, HOW=constructor, a constructor
compile() {
  local src=$1 dir=$2 how=$3 cc=$CC own
  shift 3
  case $src in *.cc) cc=$CXX ;; esac
  own=$(directive flags "$src")
  build_objects "$src" "$dir" || return 1
  # shellcheck disable=SC2086
  if [ "$how" = constructor ]; then
    "$CC" "${flags[@]}" -c -fPIC -o "$dir/run.o" "$tests_dir/in-constructor/run.c" &&
      "$cc" "${flags[@]}" "-DOBJECTS=\"$dir\"" -DIN_CONSTRUCTOR -Dmain=fact_main "$@" -shared -fPIC \
        -Wl,-soname,libfact.so -o "$dir/libfact.so" "$src" "$dir/run.o" "${link_args[@]}" $own &&
      "$CC" "${flags[@]}" -DAS_PROGRAM -o "$dir/p" "$tests_dir/in-constructor/run.c" \
        "${link_args[@]}" -Wl,--no-as-needed "$dir/libfact.so" -Wl,-rpath,"$dir"
  else
    "$cc" "${flags[@]}" "-DOBJECTS=\"$dir\"" "$@" -o "$dir/p" "$src" "${link_args[@]}" $own
  fi
}

# execute SOURCE DIR MODE LIMIT: runs DIR/p bare or preloaded; sets rc, leaves out and err in DIR
execute() {
  local src=$1 dir=$2 mode=$3 limit=$4 seconds command word
  seconds=$(directive timeout "$src")
  command=(timeout -k 2 "${seconds:-30}")
  if [ "$(directive user "$src")" = ordinary ] && [ "$(id -u)" = 0 ]; then
    command+=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
  fi
  # timeout and setpriv stay in front of env: only the program itself gets the library.
  command+=(env)
  for word in $(directive env "$src"); do command+=("$word"); done
  [ "$mode" = preloaded ] && command+=("LD_PRELOAD=$preload")
  # timeout makes itself the leader of a process group. What of it is left when the program has
  # ended, children that hang for example, ends with it. The braces keep what the shell says about
  # programs killed by a signal out of our output.
  {
    (
      cd "$build/scratch" || exit 1
      # shellcheck disable=SC2086
      if [ -n "$limit" ]; then ulimit $limit || exit 1; fi
      exec "${command[@]}" "$dir/p" </dev/null >"$dir/out" 2>"$dir/err" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    ) &
    running=$!
    wait "$running"
    rc=$?
    kill -KILL -- "-$running"
    running=
  } 2>/dev/null
}

explain() {
  case $1 in
    124 | 137) echo "exit status $1: timed out or killed" ;;
    *) if [ "$1" -gt 128 ]; then echo "exit status $1: signal $(kill -l $(($1 - 128)))"; else echo "exit status $1"; fi ;;
  esac
}
tell() {
  {
    explain "$rc"
    head -c 6000 "$1/out"
    head -c 6000 "$1/err"
  } | diag
}

# verdict NAME SOURCE DIR MODE EXPECT: says the result of the last execute
verdict() {
  local name=$1 src=$2 dir=$3 mode=$4 expect=$5
  if [ "$rc" = 77 ]; then
    say_skip "$name" "$(sed -n 's/^SKIP: //p' "$dir/err" | head -n 1)"
  elif [ "$expect" = fail ]; then
    if [ "$rc" = 1 ] && grep '^FAIL ' "$dir/err" | grep -qF -e "$(directive fails-with "$src")"; then
      say_ok "$name: fails, as it must"
    else
      say_bad "$name: must FAIL with: $(directive fails-with "$src")"
      tell "$dir"
    fi
  elif [ "$rc" != 0 ]; then
    say_bad "$name"
    tell "$dir"
  elif [ -s "$dir/err" ]; then
    say_bad "$name: wrote on standard error"
    tell "$dir"
  elif [ "$mode" = preloaded ] && [ "$(directive output "$src")" = same ] && ! cmp -s "$dir/out" "$dir/bare-out"; then
    say_bad "$name: output is not what it is bare"
    diff "$dir/bare-out" "$dir/out" | head -n 40 | diag
  else
    say_ok "$name"
    sed -n 's/^info: //p' "$dir/out" | diag
  fi
}

# run_fact SOURCE HOW: every variant and limit of one fact, bare and preloaded
run_fact() {
  local src=$1 how=$2 name limit variant label bare i n mark dir
  name=$(basename "$src")
  name=${name%.*}
  name=${name//-/ }
  if [ "$how" = constructor ]; then
    mark=$(directive constructor "$src")
    if [ -n "$mark" ]; then
      say_skip "$name" "${mark#skip }"
      return
    fi
  fi
  local -a variants=() limits=()
  mapfile -t variants < <(directive variant "$src"; directive 'variant (bare fails)' "$src" | sed 's/^/!/')
  mapfile -t limits < <(directive limits "$src")
  [ ${#variants[@]} = 0 ] && variants=("")
  [ ${#limits[@]} = 0 ] && limits=("")
  n=$(directive repeat "$src")
  for variant in "${variants[@]}"; do
    bare=$(directive bare "$src")
    case $variant in '!'*) bare='expect-fail' variant=${variant#!} ;; esac
    dir=$(mktemp -d "$build/p.XXXXXX") && chmod 755 "$dir"
    # shellcheck disable=SC2086
    if ! compile "$src" "$dir" "$how" $variant >"$dir/cc" 2>&1; then
      say_bad "$name${variant:+ [$variant]}: compiles"
      head -n 40 "$dir/cc" | diag
      continue
    fi
    for limit in "${limits[@]}"; do
      label="$name${variant:+ [$variant]}${limit:+ (ulimit $limit)}"
      rm -f "$dir/bare-out"
      case $bare in
        skip*) say_skip "$label, bare" "${bare#skip }" ;;
        *)
          for ((i = 0; i < ${n:-1}; i++)); do
            execute "$src" "$dir" bare "$limit"
            [ "$rc" = 0 ] || break
          done
          cp "$dir/out" "$dir/bare-out"
          case $bare in
            expect-fail*) verdict "$label, bare" "$src" "$dir" bare fail ;;
            *) verdict "$label, bare" "$src" "$dir" bare pass ;;
          esac
          ;;
      esac
      for ((i = 0; i < ${n:-1}; i++)); do
        execute "$src" "$dir" preloaded "$limit"
        [ "$rc" = 0 ] || break
      done
      verdict "$label, preloaded" "$src" "$dir" preloaded pass
    done
    rm -rf "$dir"
  done
}

# run_group GROUP [constructor]: every fact of facts/GROUP; FACTS limits it to names that match
run_group() {
  local src
  command -v "$CC" >/dev/null || bail "no C compiler ($CC)"
  command -v "$CXX" >/dev/null || bail "no C++ compiler ($CXX)"
  for src in "$tests_dir/facts/$1"/*.c "$tests_dir/facts/$1"/*.cc; do
    [ -f "$src" ] || continue
    case $src in *${FACTS:-}*) run_fact "$src" "${2:-main}" ;; esac
  done
  [ "$tap_n" -gt 0 ] || bail "facts/$1 holds no fact"
  finish
}
