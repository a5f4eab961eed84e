//! Records of threads: where they live, and the rings that they are linked in.
//!
//! Invariant: memory of records is never given back or used for anything else, so a stale pointer
//! to a record reads a record.

use crate::align::page_size;
use crate::stack::cache::Slot;
use crate::sys::{self, Errno, Prot};
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    compiler_fence,
};

/// How a thread's routine is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `pthread_create`: returns a pointer.
    Posix,
    /// `thrd_create`: returns an `int`.
    C11,
}

/// Which ring a record is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In none: free, or its stack is in the cache.
    Nowhere,
    /// Runs, or ended and can be joined.
    Joinable,
    /// Ended, or about to, and can be joined, with all pages of its stack kept: in a locked process.
    Ended,
    /// Runs, or ended and can be reaped.
    Detached,
    /// A thread of the parent of this fork child.
    Inherited,
}

/// One thread on a stack of ours, or one ended stack in the cache.
///
/// Fields that are not atomic change under the lock of the threads only; the thread itself may
/// read those that were set before it started.
#[repr(C)]
pub struct Record {
    /// First, so that a pointer to the slot is one to the record.
    pub slot: Slot,
    pub next: *mut Record,
    pub previous: *mut Record,
    pub place: Place,
    pub kind: Kind,
    pub routine: usize,
    pub argument: *mut c_void,
    /// The guard as the program is told.
    pub reported_guard: usize,
    /// Somebody joined it through us, while its creator was still at work.
    pub joined: bool,
    /// It is over, or about to be, and its populated stack counts as kept.
    pub kept: bool,
    /// It is over, or about to be, and its populated stack is to lose its pages, or did.
    pub drained: bool,
    /// When a join or detach that passed us by was first seen, in milliseconds; zero for never.
    pub ended_unseen: u64,
    /// Whether there is a stack in the slot. Set after it is there and cleared before it goes, so
    /// that a fork child can trust it.
    pub has_stack: AtomicBool,
    pub detached: AtomicBool,
    /// It is over, or about to be, and the deep pages of its stack were given back.
    pub shallow: AtomicBool,
    /// The thread's `pthread_t`; zero until known.
    pub handle: AtomicUsize,
    /// Thread pointer of the creator, until it has no more business with this record.
    pub creator: AtomicUsize,
    /// One when the trampoline ran, two when the creator waits for that.
    pub started: AtomicU32,
    /// Calls of `pthread_detach` that are under way.
    pub pins: AtomicU32,
    /// Number of the thread that the record stands for, and (lower half) of joins under way. A
    /// cancelled join stays counted.
    claims: AtomicU64,
}

/// A thread that somebody is about to join.
#[derive(Clone, Copy)]
pub struct Claim {
    pub record: *mut Record,
    generation: u32,
}

impl Record {
    fn new() -> Self {
        Self {
            slot: Slot::new(),
            next: null_mut(),
            previous: null_mut(),
            place: Place::Nowhere,
            kind: Kind::Posix,
            routine: 0,
            argument: null_mut(),
            reported_guard: 0,
            joined: false,
            kept: false,
            drained: false,
            ended_unseen: 0,
            has_stack: AtomicBool::new(false),
            detached: AtomicBool::new(false),
            shallow: AtomicBool::new(false),
            handle: AtomicUsize::new(0),
            creator: AtomicUsize::new(0),
            started: AtomicU32::new(0),
            pins: AtomicU32::new(0),
            claims: AtomicU64::new(0),
        }
    }

    /// Counts a join, so that it is not mistaken for one that passed us by.
    pub fn claim(&self) -> Claim {
        let old = self.claims.fetch_add(1, Acquire);
        Claim {
            record: core::ptr::from_ref(self).cast_mut(),
            generation: (old >> 32) as u32,
        }
    }

    pub fn is_claimed(&self) -> bool {
        self.claims.load(Acquire) as u32 != 0
    }

    /// The record stands for the next thread; claims on the last one are void.
    pub fn next_generation(&self) {
        let generation = (self.claims.load(Relaxed) >> 32) as u32;
        self.claims
            .store(u64::from(generation.wrapping_add(1)) << 32, Release);
    }

    /// Forgets joins under way, in a fork child where nobody is inside one.
    pub fn drop_claims(&self) {
        let claims = self.claims.load(Relaxed);
        self.claims.store(claims & !u64::from(u32::MAX), Relaxed);
    }
}

impl Claim {
    /// Whether the record still stands for the claimed thread.
    pub fn holds(&self) -> bool {
        // SAFETY: records are never unmapped.
        let claims = unsafe { &(*self.record).claims }.load(Acquire);
        (claims >> 32) as u32 == self.generation
    }

    /// Ends the count of a join that did not come about.
    pub fn give_up(self) {
        // SAFETY: records are never unmapped.
        let claims = unsafe { &(*self.record).claims };
        let _ = claims.fetch_update(Release, Relaxed, |now| {
            ((now >> 32) as u32 == self.generation && now as u32 != 0).then(|| now - 1)
        });
    }
}

/// All records: the free ones, and the chunks where all are.
pub struct Pool {
    free: *mut Record,
    chunks: *mut Head,
    /// Records ever made.
    made: usize,
}

/// New memory for records.
pub struct Chunk {
    base: usize,
    len: usize,
}

/// The start of a chunk; its records follow.
#[repr(C, align(64))]
struct Head {
    next: *mut Head,
    count: usize,
}

impl Pool {
    pub const fn new() -> Self {
        Self {
            free: null_mut(),
            chunks: null_mut(),
            made: 0,
        }
    }

    pub fn pop(&mut self) -> Option<*mut Record> {
        let record = self.free;
        if record.is_null() {
            return None;
        }
        // SAFETY: a record on the free list is ours.
        self.free = unsafe { (*record).next };
        Some(record)
    }

    /// # Safety
    /// The record must be in no ring, in no cache, and without a stack.
    pub unsafe fn push(&mut self, record: *mut Record) {
        // SAFETY: the caller hands the record over.
        unsafe { (*record).next = self.free };
        self.free = record;
    }

    /// How much memory to map for the next records: a page at first, then by eighths of what
    /// there is, so that many threads do not cost many mappings.
    pub fn next_chunk_len(&self) -> usize {
        let page = page_size();
        let eighth = self.made * size_of::<Record>() / 8;
        (eighth / page * page).clamp(page, 16 * page)
    }

    pub fn add(&mut self, chunk: Chunk) {
        let count = (chunk.len - size_of::<Head>()) / size_of::<Record>();
        let head = chunk.base as *mut Head;
        // SAFETY: the chunk is mapped, aligned, large enough and ours; nothing is in it yet. It is
        // linked in when all its records are written: a fork child walks the chunks.
        unsafe {
            let first = head.add(1).cast::<Record>();
            (0..count).for_each(|i| first.add(i).write(Record::new()));
            head.write(Head {
                next: self.chunks,
                count,
            });
            compiler_fence(Release);
            self.chunks = head;
            (0..count).for_each(|i| self.push(first.add(i)));
        }
        self.made += count;
    }

    /// In a fork child: no record is known to be free.
    pub fn forget_free(&mut self) {
        self.free = null_mut();
    }

    /// Calls `visit` with every record there is.
    pub fn each(&self, mut visit: impl FnMut(*mut Record)) {
        let mut head = self.chunks;
        while !head.is_null() {
            // SAFETY: chunks on the list are whole, and never unmapped.
            unsafe {
                let first = head.add(1).cast::<Record>();
                (0..(*head).count).for_each(|i| visit(first.add(i)));
                head = (*head).next;
            }
        }
    }
}

impl Chunk {
    pub fn map(len: usize) -> Result<Self, Errno> {
        sys::map(len, Prot::RW, 0).map(|base| Self { base, len })
    }
}

/// Records in a circle, looked at in turn.
pub struct Ring {
    /// The next one to be looked at; null when empty.
    at: *mut Record,
    len: usize,
    place: Place,
}

impl Ring {
    pub const fn new(place: Place) -> Self {
        Self {
            at: null_mut(),
            len: 0,
            place,
        }
    }

    /// Links the record in as the last one to be looked at.
    ///
    /// # Safety
    /// The record must be in no ring.
    pub unsafe fn insert(&mut self, record: *mut Record) {
        // SAFETY: the caller hands the record over; those linked are valid.
        unsafe {
            (*record).place = self.place;
            self.len += 1;
            if self.at.is_null() {
                (*record).next = record;
                (*record).previous = record;
                self.at = record;
            } else {
                let next = self.at;
                let previous = (*next).previous;
                (*record).next = next;
                (*record).previous = previous;
                (*previous).next = record;
                (*next).previous = record;
            }
        }
    }

    /// # Safety
    /// The record must be in this ring.
    pub unsafe fn remove(&mut self, record: *mut Record) {
        // SAFETY: the record and its neighbours are valid.
        unsafe {
            (*record).place = Place::Nowhere;
            self.len -= 1;
            let next = (*record).next;
            if next == record {
                self.at = null_mut();
                return;
            }
            let previous = (*record).previous;
            (*previous).next = next;
            (*next).previous = previous;
            if self.at == record {
                self.at = next;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The next record in turn.
    pub fn turn(&mut self) -> Option<*mut Record> {
        let record = self.at;
        if record.is_null() {
            return None;
        }
        // SAFETY: records on the ring are valid.
        self.at = unsafe { (*record).next };
        Some(record)
    }

    /// Calls `visit` with each record once; it may remove the one it is given.
    pub fn each(&mut self, mut visit: impl FnMut(&mut Self, *mut Record)) {
        if self.at.is_null() {
            return;
        }
        // SAFETY: records on the ring are valid, and only the visited one may leave it.
        unsafe {
            let last = (*self.at).previous;
            let mut record = self.at;
            loop {
                let next = (*record).next;
                visit(self, record);
                if record == last {
                    return;
                }
                record = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        let mut pool = Pool::new();
        pool.add(Chunk::map(pool.next_chunk_len()).unwrap());
        pool
    }

    #[test]
    fn a_ring_is_walked_in_the_order_of_insertion() {
        let (mut pool, mut ring) = (pool(), Ring::new(Place::Joinable));
        let records: Vec<_> = (0..4).map(|_| pool.pop().unwrap()).collect();
        // SAFETY: new records, each inserted once and removed once.
        unsafe {
            records.iter().for_each(|&r| ring.insert(r));
            assert_eq!(ring.turn(), Some(records[0]));
            ring.remove(records[1]);
            assert_eq!((ring.turn(), ring.len()), (Some(records[2]), 3));
            assert_eq!(ring.turn(), Some(records[3]));
            assert_eq!(ring.turn(), Some(records[0]));
            let mut seen = Vec::new();
            ring.each(|ring, r| {
                seen.push(r);
                ring.remove(r);
            });
            assert_eq!(seen, [records[2], records[3], records[0]]);
        }
        assert_eq!(ring.turn(), None);
    }

    #[test]
    fn a_claim_is_void_in_the_next_generation() {
        let record = Record::new();
        let (first, second) = (record.claim(), record.claim());
        assert!(record.is_claimed() && first.holds());
        first.give_up();
        assert!(record.is_claimed());
        record.next_generation();
        assert!(!record.is_claimed() && !second.holds());
        second.give_up();
        assert!(!record.is_claimed());
    }

    #[test]
    fn records_given_back_are_used_again() {
        let mut pool = pool();
        let record = pool.pop().unwrap();
        // SAFETY: it is in no ring and has no stack.
        unsafe { pool.push(record) };
        assert_eq!(pool.pop(), Some(record));
    }
}
