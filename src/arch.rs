//! What differs between CPUs: the two thread-local words, the thread pointer and the system call
//! instruction. One file per CPU, all with the same signatures.
//!
//! The words are hidden initial-exec TLS symbols: reading one costs a single instruction, where
//! `thread_local!` in a shared library calls `__tls_get_addr`. Both keep their value until the
//! thread is off its stack for good.
//!
//! * the *arena word* points at the arena of the running thread, so that `malloc` reaches it in
//!   one load; before the thread's first allocation at one that has nothing to give, for which
//!   `malloc` needs no test of its own;
//! * the *record word* points at the record of a thread that runs on a stack of ours; zero in all
//!   other threads.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
