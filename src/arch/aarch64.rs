//! aarch64: thread-local words through `tpidr_el0`, system calls through `svc`.

use core::arch::asm;

/// Least room that glibc wants on a stack beside the static TLS (MINIMAL_REST_STACK).
pub const LEAST_ROOM: usize = 2048;

/// What the kernel calls its `clock_gettime`.
pub const VDSO_CLOCK_GETTIME: &core::ffi::CStr = c"__kernel_clock_gettime";

/// Least guard that glibc makes when one is asked for (ARCH_MIN_GUARD_SIZE); it reports what was
/// asked.
pub const LEAST_GUARD: usize = 65536;

/// Whether objects that say nothing about it need an executable stack (DEFAULT_STACK_PERMS).
pub const STACK_EXECUTABLE_BY_DEFAULT: bool = false;

/// Defines the thread-local words (once); the arena word of every thread starts as the address of
/// the static `$first`.
macro_rules! define_thread_words {
    ($first:path) => {
        core::arch::global_asm!(
            ".section .tdata.libfix,\"awT\",%progbits",
            ".balign 16",
            ".globl libfix_arena_word",
            ".hidden libfix_arena_word",
            ".type libfix_arena_word, %tls_object",
            ".size libfix_arena_word, 8",
            "libfix_arena_word: .xword {first}",
            ".globl libfix_record_word",
            ".hidden libfix_record_word",
            ".type libfix_record_word, %tls_object",
            ".size libfix_record_word, 8",
            "libfix_record_word: .xword 0",
            ".text",
            first = sym $first,
        );
    };
}
pub(crate) use define_thread_words;

/// The arena word of the running thread.
#[inline(always)]
pub fn arena_word() -> usize {
    let word: usize;
    // SAFETY: reads the running thread's own static TLS, which exists as long as the thread runs.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_arena_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_arena_word]",
             "mrs {w}, tpidr_el0",
             "ldr {w}, [{w}, {o}]",
             o = out(reg) _, w = out(reg) word, options(readonly, nostack, preserves_flags));
    }
    word
}

/// Sets the arena word of the running thread.
#[inline]
pub fn set_arena_word(word: usize) {
    // SAFETY: writes the running thread's own static TLS word, which only this file touches.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_arena_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_arena_word]",
             "mrs {t}, tpidr_el0",
             "str {w}, [{t}, {o}]",
             o = out(reg) _, t = out(reg) _, w = in(reg) word,
             options(nostack, preserves_flags));
    }
}

/// The record word of the running thread.
#[inline]
pub fn record_word() -> usize {
    let word: usize;
    // SAFETY: reads the running thread's own static TLS, which exists as long as the thread runs.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_record_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_record_word]",
             "mrs {w}, tpidr_el0",
             "ldr {w}, [{w}, {o}]",
             o = out(reg) _, w = out(reg) word, options(readonly, nostack, preserves_flags));
    }
    word
}

/// Sets the record word of the running thread.
#[inline]
pub fn set_record_word(word: usize) {
    // SAFETY: writes the running thread's own static TLS word, which only this file touches.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_record_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_record_word]",
             "mrs {t}, tpidr_el0",
             "str {w}, [{t}, {o}]",
             o = out(reg) _, t = out(reg) _, w = in(reg) word,
             options(nostack, preserves_flags));
    }
}

/// Distance in bytes from any thread's `pthread_t` to its arena word (constant in one process).
pub fn arena_word_offset() -> isize {
    let address: usize;
    // SAFETY: computes the address of the running thread's own word.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_arena_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_arena_word]",
             "mrs {t}, tpidr_el0",
             "add {o}, {o}, {t}",
             o = out(reg) address, t = out(reg) _, options(pure, readonly, nostack));
    }
    // SAFETY: always allowed; here `pthread_t` lies a libc-private distance before the pointer.
    address as isize - unsafe { libc::pthread_self() } as isize
}

/// Distance in bytes from any thread's `pthread_t` to its record word (constant in one process).
pub fn record_word_offset() -> isize {
    let address: usize;
    // SAFETY: computes the address of the running thread's own word.
    unsafe {
        asm!("adrp {o}, :gottprel:libfix_record_word",
             "ldr {o}, [{o}, :gottprel_lo12:libfix_record_word]",
             "mrs {t}, tpidr_el0",
             "add {o}, {o}, {t}",
             o = out(reg) address, t = out(reg) _, options(pure, readonly, nostack));
    }
    // SAFETY: always allowed; here `pthread_t` lies a libc-private distance before the pointer.
    address as isize - unsafe { libc::pthread_self() } as isize
}

/// A number that differs between live threads of a process and survives `fork`.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register that user code may read.
    unsafe {
        asm!("mrs {p}, tpidr_el0", p = out(reg) pointer,
             options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}

/// One system call; the kernel's result as it is (an errno is −4095…−1). libc's errno is untouched.
///
/// # Safety
/// The arguments must be what call `number` demands.
#[inline]
pub unsafe fn syscall(number: i64, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel changes x0 and what the caller vouches for.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") args[0] => result,
             in("x1") args[1], in("x2") args[2], in("x3") args[3],
             in("x4") args[4], in("x5") args[5], options(nostack));
    }
    result
}

/// Exports a C function that asks `choose(a, b, caller)` for an address and jumps there with its
/// two arguments, the second one masked. Its caller's return address stays where it is.
macro_rules! export_jump {
    ($name:ident, $choose:path, $mask:expr) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "hint #34",
                "stp x29, x30, [sp, #-32]!",
                "stp x0, x1, [sp, #16]",
                "mov x29, sp",
                "mov x2, x30",
                "bl {choose}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x29, x30, [sp], #32",
                "mov x17, #{mask}",
                "and x1, x1, x17",
                "br x16",
                choose = sym $choose,
                mask = const $mask,
            )
        }
    };
}
pub(crate) use export_jump;
