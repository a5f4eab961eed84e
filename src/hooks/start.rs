//! What is done when the library is loaded. Nothing depends on it: other libraries' constructors
//! run before, and what they need sets itself up ([`ensure`]).

use crate::{config, fork, report, stack, thread};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The part that a thread of ours needs.
#[inline]
pub fn ensure() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Relaxed) {
        set_up();
        DONE.store(true, Relaxed);
    }
}

#[cold]
fn set_up() {
    fork::register();
    config::read();
    thread::descriptor::probe();
    stack::became_executable();
}

#[ctor::ctor(unsafe)]
fn loaded() {
    ensure();
    config::read();
    super::thread::resolve();
    report::register();
}
