//! A futex lock that knows its holder: const, no poison, and whole in the child of a fork.
//!
//! Invariant: a thread that forks holds the locks given to [`hold_all`], and one of those it meets
//! then lets it through, since fork handlers of other libraries may allocate.
//!
//! A signal handler may fork in the middle of what a lock guards. Then its thread holds that lock
//! already, and the interrupted code goes on after the handler, in the child too: so such a lock is
//! left alone, and so are those that are taken before it, whose holders may be waiting for it. What
//! these guard may be torn in the child.

use crate::{arch, sys};
use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

const FREE: usize = 0;
/// Beside the holder's thread pointer, which is a multiple of 16: others may be waiting.
const CONTENDED: usize = 1;

pub struct Lock {
    /// Thread pointer of the holder, so that no signal finds a lock whose holder is not known.
    word: AtomicUsize,
    /// How many forks of the holder hold the lock: handlers may fork inside a fork. Its to write.
    forks: AtomicU32,
}

/// Releases the lock when dropped.
pub struct Held<'a>(Option<&'a Lock>);

impl Lock {
    pub const fn new() -> Self {
        Self {
            word: AtomicUsize::new(FREE),
            forks: AtomicU32::new(0),
        }
    }

    #[inline]
    pub fn lock(&self) -> Held<'_> {
        let me = arch::thread_pointer();
        if self.take(me) {
            return Held(Some(self));
        }
        self.lock_contended(me)
    }

    pub fn try_lock(&self) -> Option<Held<'_>> {
        self.take(arch::thread_pointer()).then(|| Held(Some(self)))
    }

    #[inline]
    fn take(&self, word: usize) -> bool {
        self.word
            .compare_exchange(FREE, word, Acquire, Relaxed)
            .is_ok()
    }

    #[cold]
    fn lock_contended(&self, me: usize) -> Held<'_> {
        if self.is_mine() && self.forks.load(Relaxed) > 0 {
            return Held(None);
        }
        for _ in 0..100 {
            core::hint::spin_loop();
            if self.word.load(Relaxed) == FREE && self.take(me) {
                return Held(Some(self));
            }
        }
        loop {
            let word = self.word.load(Relaxed);
            if word == FREE {
                if self.take(me | CONTENDED) {
                    return Held(Some(self));
                }
                continue;
            }
            let marked = word | CONTENDED;
            let exchange = |from| self.word.compare_exchange(from, marked, Relaxed, Relaxed);
            if word == marked || exchange(word).is_ok() {
                sys::futex_wait(self.futex(), marked as u32);
            }
        }
    }

    /// The lower half of the word, for the kernel.
    fn futex(&self) -> &AtomicU32 {
        const { assert!(cfg!(target_endian = "little")) };
        // SAFETY: it lies in the word and lives as long; only the kernel reads it.
        unsafe { AtomicU32::from_ptr(self.word.as_ptr().cast()) }
    }

    /// Whether the running thread holds the lock.
    pub fn is_mine(&self) -> bool {
        self.word.load(Relaxed) & !CONTENDED == arch::thread_pointer()
    }

    /// Whether another thread holds the lock; in the child of a fork, one that is not here.
    pub fn is_anothers(&self) -> bool {
        self.word.load(Relaxed) != FREE && !self.is_mine()
    }

    /// Makes the lock free in a fork child where no other thread can hold it; one that the running
    /// thread held before the fork it still holds.
    pub fn reset(&self) {
        if !self.is_mine() {
            self.forks.store(0, Relaxed);
            self.word.store(FREE, Relaxed);
        }
    }

    fn unlock(&self) {
        if self.word.swap(FREE, Release) & CONTENDED != 0 {
            sys::futex_wake_one(self.futex());
        }
    }

    /// Ends one hold of [`hold_all`], if there is one.
    fn end_fork(&self) {
        let forks = self.forks.load(Relaxed);
        if self.is_mine() && forks > 0 {
            self.forks.store(forks - 1, Relaxed);
            if forks == 1 {
                self.unlock();
            }
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

/// Takes all `locks`, in the order given, and keeps them until [`release_all`] or [`reset_all`];
/// but see the head of the file.
pub fn hold_all(locks: &[&Lock]) {
    // A handler may have interrupted a thread that was just woken and did not look yet. As it now
    // waits for others, another sleeper is to look.
    locks
        .iter()
        .for_each(|lock| sys::futex_wake_one(lock.futex()));
    let interrupted = |lock: &&Lock| lock.is_mine() && lock.forks.load(Relaxed) == 0;
    let first = locks.iter().rposition(interrupted).map_or(0, |at| at + 1);
    for (at, lock) in locks.iter().enumerate() {
        if at >= first && !lock.is_mine() {
            core::mem::forget(lock.lock());
            lock.forks.store(1, Relaxed);
        } else if lock.is_mine() && !interrupted(lock) {
            lock.forks.store(lock.forks.load(Relaxed) + 1, Relaxed);
        }
    }
}

/// Ends [`hold_all`] in the thread that called it.
pub fn release_all(locks: &[&Lock]) {
    locks.iter().rev().for_each(|lock| lock.end_fork());
}

/// Ends [`hold_all`] in the child of a fork, where no other thread can hold or wait.
pub fn reset_all(locks: &[&Lock]) {
    for lock in locks {
        lock.end_fork();
        lock.reset();
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

    #[test]
    fn a_fork_leaves_what_it_interrupted_and_what_comes_before_alone() {
        static OUTER: Lock = Lock::new();
        static MINE: Lock = Lock::new();
        static INNER: Lock = Lock::new();
        const ALL: [&Lock; 3] = [&OUTER, &MINE, &INNER];
        let held = MINE.lock();
        for end in [release_all, reset_all] {
            hold_all(&ALL);
            assert!(OUTER.try_lock().is_some(), "its holder may wait for ours");
            assert!(INNER.try_lock().is_none());
            end(&ALL);
            assert!(INNER.try_lock().is_some() && MINE.is_mine());
        }
        drop(held);
        assert!(MINE.try_lock().is_some());
    }

    #[test]
    fn a_fork_inside_a_fork_ends_with_the_outer_one() {
        static A: Lock = Lock::new();
        static B: Lock = Lock::new();
        const ALL: [&Lock; 2] = [&A, &B];
        for end in [release_all, reset_all] {
            // A signal may come when only some are taken.
            hold_all(&ALL[..1]);
            hold_all(&ALL);
            end(&ALL);
            assert!(A.is_mine() && B.try_lock().is_some());
            end(&ALL[..1]);
            assert!(A.try_lock().is_some());
        }
    }

    #[test]
    fn a_lock_of_a_thread_that_is_not_here_becomes_free() {
        static A: Lock = Lock::new();
        std::thread::spawn(|| hold_all(&[&A])).join().unwrap();
        assert!(A.is_anothers() && !A.is_mine());
        reset_all(&[&A]);
        drop(A.lock());
        assert!(A.try_lock().is_some());
    }
}
