//! What a fork holds and what its child sets right.
//!
//! Invariant: every lock of the library is in [`locks`], in the order in which they may nest, so
//! that a child finds everything whole.

use crate::lock::{self, Lock};
use crate::{config, heap, mapping, memlock, thread};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

fn locks() -> [&'static Lock; 7] {
    let [a, b, c, d] = heap::locks();
    [config::lock(), thread::lock(), mapping::lock(), a, b, c, d]
}

/// Registers the handlers, once.
pub fn register() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Relaxed) && !DONE.swap(true, Relaxed) {
        // SAFETY: the handlers exist as long as the process: the library is never unloaded. Out of
        // memory this early, the program cannot run anyway.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    }
}

unsafe extern "C" fn prepare() {
    lock::hold_all(&locks());
}

unsafe extern "C" fn parent() {
    lock::release_all(&locks());
}

unsafe extern "C" fn child() {
    lock::reset_all(&locks());
    memlock::forked();
    heap::after_fork_in_child();
    thread::forked();
}
