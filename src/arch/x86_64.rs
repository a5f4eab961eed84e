//! x86_64: thread-local words through `%fs`, system calls through `syscall`.

use core::arch::asm;

/// Least room that glibc wants on a stack beside the static TLS (MINIMAL_REST_STACK).
pub const LEAST_ROOM: usize = 2048;

/// What the kernel calls its `clock_gettime`.
pub const VDSO_CLOCK_GETTIME: &core::ffi::CStr = c"__vdso_clock_gettime";

/// Least guard that glibc makes when one is asked for (ARCH_MIN_GUARD_SIZE); it reports what was
/// asked.
pub const LEAST_GUARD: usize = 1;

/// Whether objects that say nothing about it need an executable stack (DEFAULT_STACK_PERMS).
pub const STACK_EXECUTABLE_BY_DEFAULT: bool = true;

/// Defines the thread-local words (once); the arena word of every thread starts as the address of
/// the static `$first`.
macro_rules! define_thread_words {
    ($first:path) => {
        core::arch::global_asm!(
            ".section .tdata.libfix,\"awT\",@progbits",
            ".balign 16",
            ".globl libfix_arena_word",
            ".hidden libfix_arena_word",
            ".type libfix_arena_word, @tls_object",
            ".size libfix_arena_word, 8",
            "libfix_arena_word: .quad {first}",
            ".globl libfix_record_word",
            ".hidden libfix_record_word",
            ".type libfix_record_word, @tls_object",
            ".size libfix_record_word, 8",
            "libfix_record_word: .quad 0",
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
        asm!("mov {w}, qword ptr [rip + libfix_arena_word@GOTTPOFF]",
             "mov {w}, qword ptr fs:[{w}]",
             w = out(reg) word, options(readonly, nostack, preserves_flags));
    }
    word
}

/// Sets the arena word of the running thread.
#[inline]
pub fn set_arena_word(word: usize) {
    // SAFETY: writes the running thread's own static TLS word, which only this file touches.
    unsafe {
        asm!("mov {o}, qword ptr [rip + libfix_arena_word@GOTTPOFF]",
             "mov qword ptr fs:[{o}], {w}",
             o = out(reg) _, w = in(reg) word, options(nostack, preserves_flags));
    }
}

/// The record word of the running thread.
#[inline]
pub fn record_word() -> usize {
    let word: usize;
    // SAFETY: reads the running thread's own static TLS, which exists as long as the thread runs.
    unsafe {
        asm!("mov {w}, qword ptr [rip + libfix_record_word@GOTTPOFF]",
             "mov {w}, qword ptr fs:[{w}]",
             w = out(reg) word, options(readonly, nostack, preserves_flags));
    }
    word
}

/// Sets the record word of the running thread.
#[inline]
pub fn set_record_word(word: usize) {
    // SAFETY: writes the running thread's own static TLS word, which only this file touches.
    unsafe {
        asm!("mov {o}, qword ptr [rip + libfix_record_word@GOTTPOFF]",
             "mov qword ptr fs:[{o}], {w}",
             o = out(reg) _, w = in(reg) word, options(nostack, preserves_flags));
    }
}

/// Distance in bytes from any thread's `pthread_t` to its arena word (constant in one process).
pub fn arena_word_offset() -> isize {
    let offset: isize;
    // SAFETY: reads an entry of our own global offset table; on x86_64 `pthread_t` is the thread
    // pointer, so the entry is the distance itself.
    unsafe {
        asm!("mov {o}, qword ptr [rip + libfix_arena_word@GOTTPOFF]",
             o = out(reg) offset, options(pure, readonly, nostack, preserves_flags));
    }
    offset
}

/// Distance in bytes from any thread's `pthread_t` to its record word (constant in one process).
pub fn record_word_offset() -> isize {
    let offset: isize;
    // SAFETY: as in `arena_word_offset`.
    unsafe {
        asm!("mov {o}, qword ptr [rip + libfix_record_word@GOTTPOFF]",
             o = out(reg) offset, options(pure, readonly, nostack, preserves_flags));
    }
    offset
}

/// A number that differs between live threads of a process and survives `fork`.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word of the thread control block is its own address (x86_64 TLS ABI).
    unsafe {
        asm!("mov {p}, qword ptr fs:[0]", p = out(reg) pointer,
             options(pure, readonly, nostack, preserves_flags));
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
    // SAFETY: the kernel changes rax, rcx and r11 and what the caller vouches for.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
             in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], in("r8") args[4], in("r9") args[5],
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Exports a C function that asks `choose(a, b, caller)` for an address and jumps there with its
/// two arguments, the second one masked (sign-extended). Its caller's return address stays where it is.
macro_rules! export_jump {
    ($name:ident, $choose:path, $mask:expr) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "endbr64",
                "push rdi",
                "push rsi",
                "mov rdx, qword ptr [rsp + 16]",
                "sub rsp, 8",
                "call {choose}",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "and rsi, {mask}",
                "jmp rax",
                choose = sym $choose,
                mask = const $mask,
            )
        }
    };
}
pub(crate) use export_jump;
