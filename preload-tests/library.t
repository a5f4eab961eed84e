#!/bin/bash
# The facts about libfix.so as a file: what it exports and asks of the loader, and what its hot
# code is made of.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"

for tool in nm readelf objdump; do
  command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is not installed (binutils)"; exit 0; }
done

# check NAME OUTPUT: the fact holds if the check printed nothing
check() {
  if [ -z "$2" ]; then say_ok "$1"; else say_bad "$1"; diag <<<"$2"; fi
}

# code SYMBOL: the instructions of an exported function
code() {
  local start size
  read -r start size < <(nm -DS "$library" | awk -v name="$1" '$4 == name { print $1, $2 }')
  [ -n "$size" ] || return
  objdump -d --no-show-raw-insn --start-address="0x$start" --stop-address=$((0x$start + 0x$size)) "$library" |
    sed -n 's/^ *[0-9a-f]*:\t//p'
}

expected=$(sort <<'END'
__libc_calloc
__libc_free
__libc_mallinfo
__libc_malloc
__libc_mallopt
__libc_memalign
__libc_pvalloc
__libc_realloc
__libc_reallocarray
__libc_valloc
__register_atfork
aligned_alloc
calloc
cfree
dlopen
dlsym
free
free_aligned_sized
free_sized
mallinfo
mallinfo2
malloc
malloc_info
malloc_stats
malloc_trim
malloc_usable_size
mallopt
memalign
mlockall
munlockall
posix_memalign
pthread_clockjoin_np
pthread_create
pthread_detach
pthread_getattr_np
pthread_join
pthread_timedjoin_np
pthread_tryjoin_np
pvalloc
realloc
reallocarray
thrd_create
thrd_detach
thrd_join
valloc
END
)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
check "it exports the names it follows and no other" "$(diff <(echo "$expected") <(echo "$exported"))"

dynamic=$(readelf -dW "$library")
flags=$(grep -E 'FLAGS' <<<"$dynamic")
for flag in NOW NODELETE STATIC_TLS; do
  check "the loader is asked for $flag" "$(grep -qw "$flag" <<<"$flags" || echo "no $flag in: $flags")"
done
check "no code is written at load time" "$(grep -w TEXTREL <<<"$dynamic")"
check "function pointers are read-only once loaded" \
  "$(readelf -lW "$library" | grep -q GNU_RELRO || echo 'no GNU_RELRO')"
check "its stack is not executable" "$(readelf -lW "$library" | grep GNU_STACK | grep E)"

if [ "$(uname -m)" = x86_64 ]; then
  for name in malloc free; do
    text=$(code $name)
    check "$name has code to look at" "$([ "$(wc -l <<<"$text")" -gt 12 ] || echo "$text")"
    check "a thread's own $name is free of locked instructions" \
      "$(grep -E '\<lock\>|\<xchg\>.*\(|\<mfence\>' <<<"$text")"
    check "a thread's own $name calls nothing and needs no frame" "$(grep -E '\<call\>|\<sub +.*,%rsp|\<push\>' <<<"$text")"
  done
  # The fast road is the one on which no jump is taken.
  steps=$(for name in malloc free; do code $name | awk 'NF > 1 { print } /\<ret\>/ { exit }'; done | wc -l)
  check "a thread's own malloc and free are at most 45 instructions" \
    "$([ "$steps" -gt 20 ] && [ "$steps" -le 45 ] || echo "$steps")"
  # Handlers on 8 KiB stacks and threads on 16 KiB ones use the heap and start threads.
  check "the heap and the exports need little stack" "$(
    objdump -d --no-show-raw-insn "$library" | awk '
      /^[0-9a-f]+ <.*>:$/ { name = $2; seen += name ~ /fix4heap|fix6thread/ }
      END { if (seen < 30) print "only " seen + 0 " functions of ours have names" }
      /sub +\$0x[0-9a-f]+,%rsp/ && name ~ /fix4heap|fix6thread|<(malloc|free|calloc|realloc|memalign|pthread|thrd|real)/ {
        match($0, /\$0x[0-9a-f]+/)
        digits = substr($0, RSTART + 3, RLENGTH - 3)
        if (length(digits) > 3) print name, $0
      }'
  )"
fi
finish
