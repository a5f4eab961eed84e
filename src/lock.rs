//! A futex lock: const, no poison, resettable after fork.
//!
//! Invariant: while a thread forks, it holds every lock given to [`hold_all`], and one of those it
//! meets then lets it through, since fork handlers of other libraries run before or after ours
//! and may allocate or start threads.

use crate::{arch, sys};
use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Thread pointer of the thread that holds all locks for a fork, or zero.
static FORKER: AtomicUsize = AtomicUsize::new(0);

/// The flag: whether it is one that a fork holds.
pub struct Lock(AtomicU32, bool);

/// Releases the lock when dropped.
pub struct Held<'a>(Option<&'a Lock>);

impl Lock {
    /// A lock for [`hold_all`].
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE), true)
    }

    /// A lock that no fork holds: the thread that forks has to wait for it like any other.
    pub const fn not_over_fork() -> Self {
        Self(AtomicU32::new(FREE), false)
    }

    #[inline]
    pub fn lock(&self) -> Held<'_> {
        if self
            .0
            .compare_exchange(FREE, HELD, Acquire, Relaxed)
            .is_ok()
        {
            return Held(Some(self));
        }
        self.lock_contended()
    }

    pub fn try_lock(&self) -> Option<Held<'_>> {
        self.0
            .compare_exchange(FREE, HELD, Acquire, Relaxed)
            .ok()
            .map(|_| Held(Some(self)))
    }

    #[cold]
    fn lock_contended(&self) -> Held<'_> {
        if self.1 && FORKER.load(Relaxed) == arch::thread_pointer() {
            return Held(None);
        }
        for _ in 0..100 {
            core::hint::spin_loop();
            if self.0.load(Relaxed) == FREE
                && self
                    .0
                    .compare_exchange(FREE, HELD, Acquire, Relaxed)
                    .is_ok()
            {
                return Held(Some(self));
            }
        }
        while self.0.swap(CONTENDED, Acquire) != FREE {
            sys::futex_wait(&self.0, CONTENDED);
        }
        Held(Some(self))
    }

    /// Makes the lock free in a fork child where no other thread can hold it.
    pub fn reset(&self) {
        self.0.store(FREE, Relaxed);
    }

    fn unlock(&self) {
        if self.0.swap(FREE, Release) == CONTENDED {
            sys::futex_wake_one(&self.0);
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            lock.unlock();
        }
    }
}

/// Takes all `locks`, in the order given, and keeps them until [`release_all`] or [`reset_all`].
pub fn hold_all(locks: &[&Lock]) {
    for lock in locks {
        core::mem::forget(lock.lock());
    }
    FORKER.store(arch::thread_pointer(), Relaxed);
}

/// Ends [`hold_all`] in the thread that called it.
pub fn release_all(locks: &[&Lock]) {
    FORKER.store(0, Relaxed);
    for lock in locks.iter().rev() {
        lock.unlock();
    }
}

/// Ends [`hold_all`] in the child of a fork, where no other thread can hold or wait.
pub fn reset_all(locks: &[&Lock]) {
    FORKER.store(0, Relaxed);
    for lock in locks {
        lock.0.store(FREE, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::UnsafeCell;

    struct Counter(Lock, UnsafeCell<u64>);
    // SAFETY: the cell is only used under the lock.
    unsafe impl Sync for Counter {}

    #[test]
    fn increments_under_the_lock_are_never_lost() {
        static COUNTER: Counter = Counter(Lock::new(), UnsafeCell::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..20_000 {
                        let _held = COUNTER.0.lock();
                        // SAFETY: the lock is held.
                        unsafe { *COUNTER.1.get() += 1 };
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        // SAFETY: the other threads have ended.
        assert_eq!(unsafe { *COUNTER.1.get() }, 80_000);
    }

    #[test]
    fn the_forking_thread_passes_locks_it_holds_for_the_fork() {
        static A: Lock = Lock::new();
        hold_all(&[&A]);
        drop(A.lock());
        assert!(A.try_lock().is_none(), "passing through must not release");
        release_all(&[&A]);
        assert!(A.try_lock().is_some());
    }
}
