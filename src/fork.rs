//! What a fork holds and what its child sets right.
//!
//! Invariant: only locks of the heap are held over a fork, and our handlers are the first ones
//! registered (`__register_atfork` sees to that): so the last to run before the fork and the first
//! after it, with no handler of others in between that might wait for a thread that waits for the
//! heap. All else is such that a child makes it whole from whatever it finds.

use crate::lock;
use crate::{config, heap, thread};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Registers the handlers, once. Called before anyone else's are registered.
pub fn register() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Relaxed) && !DONE.swap(true, Relaxed) {
        // SAFETY: the handlers exist as long as the process: the library is never unloaded. Out of
        // memory this early, the program cannot run anyway.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    }
}

unsafe extern "C" fn prepare() {
    lock::hold_all(&heap::locks());
}

unsafe extern "C" fn parent() {
    lock::release_all(&heap::locks());
}

unsafe extern "C" fn child() {
    heap::after_fork_in_child();
    config::forked();
    thread::forked();
}
