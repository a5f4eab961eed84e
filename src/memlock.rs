//! What is known of the program's memory lock: whether the kernel locks new mappings, and how
//! much idle memory may stay locked.
//!
//! Invariant: nothing here asks the kernel anything, except on the way of the program's own
//! `mlockall` and after a mapping of ours proved to be locked. A daemon behind a seccomp filter
//! dies of any other call that it did not expect.

use crate::sys;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};

static FUTURE: AtomicBool = AtomicBool::new(false);
static ON_FAULT: AtomicBool = AtomicBool::new(false);
static ERA: AtomicU32 = AtomicU32::new(0);
/// What may stay locked while nobody uses it.
static IDLE_LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// An eighth of RLIMIT_MEMLOCK when it was last read; becomes the idle limit once enforced.
static EIGHTH: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Whether new mappings are locked (`MCL_FUTURE`), as far as is known.
pub fn future() -> bool {
    FUTURE.load(Relaxed)
}

/// Whether pages of new mappings that are locked come when they are touched (`MCL_ONFAULT`), as far
/// as is known.
pub fn on_fault() -> bool {
    ON_FAULT.load(Relaxed)
}

/// The program's `mlockall` succeeded with these flags.
pub fn locked_by(flags: i32) {
    changed(flags & libc::MCL_FUTURE != 0);
    ON_FAULT.store(flags & libc::MCL_ONFAULT != 0, Relaxed);
}

/// Number of changes of the lock so far. Memory mapped in one era has the wrong residence in
/// another, so it is not handed out again there.
pub fn era() -> u32 {
    ERA.load(Relaxed)
}

/// The lock changed: by the program's `mlockall` or `munlockall`, or as found by [`probe`].
pub fn changed(future: bool) {
    if future {
        let limit = sys::soft_limit(libc::RLIMIT_MEMLOCK);
        let eighth = if limit == u64::MAX {
            usize::MAX
        } else {
            (limit / 8) as usize
        };
        EIGHTH.store(eighth, Relaxed);
        // A limit that the kernel does not enforce on this process is none.
        IDLE_LIMIT.store(
            if sys::may_lock_all() {
                usize::MAX
            } else {
                eighth
            },
            Relaxed,
        );
    } else {
        IDLE_LIMIT.store(usize::MAX, Relaxed);
    }
    ON_FAULT.store(false, Relaxed);
    FUTURE.store(future, Relaxed);
    ERA.fetch_add(1, SeqCst);
}

/// A fork child has no locks; what its parent kept in reserve is ordinary memory here.
pub fn forked() {
    ON_FAULT.store(false, Relaxed);
    FUTURE.store(false, Relaxed);
    IDLE_LIMIT.store(usize::MAX, Relaxed);
}

/// The kernel refused memory to a locked process: whatever its capabilities say, the limit holds
/// (privileges were dropped later, or count in a user namespace only).
pub fn refused() {
    if future() {
        IDLE_LIMIT.store(EIGHTH.load(Relaxed), Relaxed);
    }
}

/// Bytes that may stay locked while nobody uses them.
pub fn idle_limit() -> usize {
    IDLE_LIMIT.load(Relaxed)
}

/// Whether the kernel locked the mapping at `base`. Exact, and sees raw system calls too: only a
/// locked mapping refuses this advice with EINVAL.
///
/// # Safety
/// The first page at `base` must be the caller's own and hold nothing of value.
pub unsafe fn probe(base: usize, page: usize) -> bool {
    // SAFETY: the caller owns the page and loses nothing with it.
    let advised = unsafe { sys::advise(base, page, libc::MADV_DONTNEED) };
    advised == Err(sys::Errno(libc::EINVAL))
}
