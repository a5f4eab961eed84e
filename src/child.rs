//! Whether this process is the child of a fork that nobody here has noticed yet.
//!
//! Invariant: the answer does not depend on fork handlers. Those of other libraries run on either
//! side of ours and may start threads, and a raw `fork` system call runs none. What tells is a page
//! that the kernel wipes in a child; it stays what it is where memory is shared (`vfork`).

use crate::align::page_size;
use crate::sys::{self, Prot};
use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Relaxed, Release},
};

/// The page, or zero where the kernel does not wipe pages (before 4.14).
static PAGE: AtomicUsize = AtomicUsize::new(0);

fn noticed() -> Option<&'static AtomicU32> {
    let page = PAGE.load(Relaxed);
    // SAFETY: the page is mapped for good, and only used as this word.
    (page != 0).then(|| unsafe { AtomicU32::from_ptr(page as *mut u32) })
}

/// Begins to watch for forks, once.
pub fn watch() {
    if is_watched() {
        return;
    }
    let page = page_size();
    let Ok(base) = sys::map(page, Prot::RW, 0) else {
        return;
    };
    // SAFETY: the page is new, mapped and aligned.
    unsafe {
        AtomicU32::from_ptr(base as *mut u32).store(1, Relaxed);
        if sys::advise(base, page, libc::MADV_WIPEONFORK).is_err()
            || PAGE.compare_exchange(0, base, Release, Relaxed).is_err()
        {
            let _ = sys::unmap(base, page);
        }
    }
}

/// Whether forks are seen here at all.
pub fn is_watched() -> bool {
    PAGE.load(Relaxed) != 0
}

#[inline]
pub fn is_unnoticed() -> bool {
    noticed().is_some_and(|word| word.load(Relaxed) == 0)
}

/// From now on this child is a process like any other.
pub fn notice() {
    if let Some(word) = noticed() {
        word.store(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_unnoticed_until_noticed_and_its_parent_never() {
        watch();
        assert!(is_watched() && !is_unnoticed());
        // SAFETY: the child only reads a word and leaves.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let before = is_unnoticed();
            notice();
            let good = before && !is_unnoticed();
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!good)) };
        }
        let mut status = -1;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
        assert!(!is_unnoticed());
    }
}
