//! What is done when the library is loaded. Nothing depends on it: other libraries' constructors
//! run before, and what they need sets itself up ([`ensure`]).

use crate::{child, config, fork, report, stack, thread};
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
    child::watch();
    fork::register();
    read_settings();
    thread::descriptor::probe();
    stack::became_executable();
}

fn read_settings() {
    config::read();
    thread::set_cache_bound(config::stack_cache());
    stack::LOCKED.set(config::stack_lock());
}

#[ctor::ctor(unsafe)]
fn loaded() {
    ensure();
    read_settings();
    super::thread::resolve();
    report::register();
}
