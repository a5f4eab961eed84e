//! Threads on stacks of ours, from `pthread_create` until their stack serves the next one.
//!
//! Invariant: a stack is used again only when the kernel has cleared its thread's death word *and*
//! nobody can be inside libc with that thread any more: its creator is through, it was joined
//! through us or is detached with no call of `pthread_detach` under way.
//!
//! No claim is held across a real join: cancellation unwinds through it, and what follows never
//! runs. A join is counted (so that it is told from one that passed us by), and the count is tied
//! to the record's generation, so that one left behind says nothing about the next thread.
//!
//! What is over keeps little memory. A thread that returns gives the deep pages of its stack back
//! itself, as libc's own do; for one that left otherwise, whoever joins it or comes by does. So an
//! idle stack costs address space and a few pages, and as many are kept as were in use at once
//! lately: create and join then map nothing, however many threads live. In a locked process pages
//! are dear to populate again. There all that is locked of a stack is kept, in the cache or of threads not joined
//! yet, up to a fixed bound of bytes; beyond it the oldest of those that ended lose their pages, and
//! a stack without its pages is unmapped when it becomes idle.
//!
//! Cost in steady state: one lock and unlock per create, one per join, no system call but for the
//! advice that a thread with more than a small stack gives at its end, and on a populated stack one
//! more lock at that end. Cache lines that two threads write: the lock, the state beside it, and
//! the record (creator and thread).

pub mod descriptor;
mod record;
mod refusal;

use crate::lock::Lock;
use crate::stack::cache::{Cache, Slot};
use crate::stack::peak::Peak;
use crate::stack::{self, Shape, Stack, Wish};
use crate::sys::{self, Errno};
use crate::{arch, child, config, heap, mapping, memlock};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use libc::{pthread_attr_t, pthread_t};
use record::{Chunk, Place, Pool, Record, Ring};
pub use record::{Claim, Kind};
use refusal::Refused;

unsafe extern "C" {
    fn pthread_getattr_default_np(attr: *mut pthread_attr_t) -> c_int;
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Of `<pthread.h>`.
const CANCEL_DISABLE: c_int = 1;

/// libc's `pthread_create`.
pub type Create =
    unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, usize, *mut c_void) -> c_int;

/// How many threads to look at in search of those that are over.
#[derive(Clone, Copy)]
struct Looks {
    detached: usize,
    /// While no join passed us by, few joinable threads need a look: those that were joined
    /// before their creator was through.
    joinable: usize,
}

/// By each create: with L detached threads alive, at most about L/3 dead ones wait to be found.
const FEW: Looks = Looks {
    detached: 4,
    joinable: 1,
};
/// Before a new stack is mapped, and by a detached thread that ends: when they pay.
const MANY: Looks = Looks {
    detached: 64,
    joinable: 16,
};
/// When all that is idle is wanted.
const ALL: Looks = Looks {
    detached: usize::MAX,
    joinable: usize::MAX,
};
/// A join or detach that passed us by is through with the descriptor after this long.
const JOIN_LEAVES_MS: u64 = 1000;

struct State {
    joinable: Ring,
    ended: Ring,
    detached: Ring,
    inherited: Ring,
    pool: Pool,
    cache: Cache,
    /// Bytes of the stacks of records that are `kept`.
    kept_bytes: usize,
    /// Bytes of the stacks of threads that seem to have been joined or detached past us.
    unseen_bytes: usize,
    /// Bytes of stacks in use.
    peak: Peak,
    figures: Figures,
}

/// What the report tells of threads.
#[derive(Clone, Copy)]
pub struct Figures {
    pub created: u64,
    pub mapped: u64,
    pub reused: u64,
    /// Bytes of all stacks that are mapped, in use or not.
    pub stack_bytes: usize,
    /// Bytes of their guards.
    pub guard_bytes: usize,
    pub cached: usize,
}

impl Figures {
    fn count(&mut self, stack: &Stack) {
        self.stack_bytes += stack.len() - stack.shape().guard;
        self.guard_bytes += stack.shape().guard;
    }
}

struct Threads {
    lock: Lock,
    state: UnsafeCell<State>,
}

// SAFETY: the state is only reached under the lock.
unsafe impl Sync for Threads {}

static THREADS: Threads = Threads {
    lock: Lock::new(),
    state: UnsafeCell::new(State {
        joinable: Ring::new(Place::Joinable),
        ended: Ring::new(Place::Ended),
        detached: Ring::new(Place::Detached),
        inherited: Ring::new(Place::Inherited),
        pool: Pool::new(),
        cache: Cache::new(),
        kept_bytes: 0,
        unseen_bytes: 0,
        peak: Peak::new(),
        figures: Figures {
            created: 0,
            mapped: 0,
            reused: 0,
            stack_bytes: 0,
            guard_bytes: 0,
            cached: 0,
        },
    }),
};

/// Most bytes of idle stacks.
static CACHE_BOUND: AtomicUsize = AtomicUsize::new(0);
/// Whether more may be kept, without their deep pages, if more were in use at once lately.
static FOLLOWS_USE: AtomicBool = AtomicBool::new(false);
/// How many stacks one call unmaps at most because the cache may hold less than it did.
const UNMAPPED_AT_ONCE: usize = 64;

/// The program's own bound of idle stacks, if it has one.
pub fn set_cache_bound(bytes: Option<usize>) {
    /// As much as libc keeps.
    const DEFAULT: usize = 40 << 20;
    CACHE_BOUND.store(bytes.unwrap_or(DEFAULT), Relaxed);
    // Where address space is limited, the program needs it for other things.
    let follows = bytes.is_none() && sys::soft_limit(libc::RLIMIT_AS) == u64::MAX;
    FOLLOWS_USE.store(follows, Relaxed);
}

/// Whether a join or detach was seen that passed us by. While there are none, joinable threads are hardly
/// looked at.
static JOINS_PASS_US_BY: AtomicBool = AtomicBool::new(false);

/// What is left to do when the lock is released.
struct Batch {
    /// Records whose stacks are to be unmapped.
    doomed: *mut Record,
    /// Arena words of threads reaped.
    words: [usize; Self::MAX],
    count: usize,
}

impl Batch {
    const MAX: usize = 8;

    fn is_full(&self) -> bool {
        self.count == Self::MAX
    }

    fn abandon_words(&self) {
        for &word in &self.words[..self.count] {
            // SAFETY: the thread was reaped, and its word taken from it.
            unsafe { heap::abandon(word) };
        }
    }
}

/// Runs `work` under the lock, and what it leaves to do after it.
fn locked<R>(work: impl FnOnce(&mut State, &mut Batch) -> R) -> R {
    notice_child();
    let mut batch = Batch {
        doomed: null_mut(),
        words: [0; Batch::MAX],
        count: 0,
    };
    let result = {
        let _held = THREADS.lock.lock();
        // SAFETY: the lock is held; a handler of the thread that forks meets nobody else here.
        work(unsafe { &mut *THREADS.state.get() }, &mut batch)
    };
    batch.abandon_words();
    if !batch.doomed.is_null() {
        unmap(batch.doomed);
    }
    result
}

#[cold]
#[inline(never)]
fn unmap(doomed: *mut Record) {
    let mut record = doomed;
    while !record.is_null() {
        // SAFETY: doomed records are in no ring, and ours alone.
        unsafe {
            (*record).has_stack.store(false, Release);
            (*record).slot.stack = None;
            record = (*record).next;
        }
    }
    let _held = THREADS.lock.lock();
    // SAFETY: the lock is held.
    let state = unsafe { &mut *THREADS.state.get() };
    let mut record = doomed;
    while !record.is_null() {
        // SAFETY: as above; they have no stack any more.
        unsafe {
            let next = (*record).next;
            state.pool.push(record);
            record = next;
        }
    }
}

/// The record of a slot.
fn record_of_slot(slot: *mut Slot) -> *mut Record {
    slot.cast()
}

/// # Safety
/// The record must have a stack, and nobody else may change it meanwhile.
unsafe fn stack_of<'a>(record: *mut Record) -> &'a mut Stack {
    // SAFETY: by the caller's word.
    match unsafe { &mut (*record).slot.stack } {
        Some(stack) => stack,
        // A record in use always has one.
        None => crate::fatal::fatal(crate::line::Line::new("libfix: a thread lost its stack")),
    }
}

/// The record of the thread with this handle, if it runs on a stack of ours.
///
/// # Safety
/// `thread` must be a thread that can still be joined, or runs.
unsafe fn record_of<'a>(thread: pthread_t) -> Option<&'a Record> {
    notice_child();
    let handle = thread as usize;
    // SAFETY: by the caller's word.
    let word = unsafe { descriptor::record_word(handle) }.load(Acquire);
    if word == 0 {
        return None;
    }
    // SAFETY: only records are stored there, and they are never unmapped.
    let record = unsafe { &*(word as *const Record) };
    (record.handle.load(Acquire) == handle).then_some(record)
}

impl State {
    /// Most bytes of idle stacks whose pages are all kept.
    fn fixed_bound() -> usize {
        CACHE_BOUND.load(Relaxed).min(memlock::idle_limit())
    }

    /// Bytes of stacks that threads are on, or may be.
    fn used(&self) -> usize {
        let mapped = self.figures.stack_bytes + self.figures.guard_bytes;
        mapped - self.cache.bytes() - self.unseen_bytes
    }

    /// When the end of a thread past us was first seen; zero: it was none.
    fn set_ended_unseen(&mut self, record: *mut Record, time: u64) {
        // SAFETY: the record has a stack, and changes under the lock.
        unsafe {
            let len = stack_of(record).len();
            match ((*record).ended_unseen, time) {
                (0, 1..) => self.unseen_bytes += len,
                (1.., 0) => self.unseen_bytes -= len,
                _ => {}
            }
            (*record).ended_unseen = time;
        }
    }

    /// Most bytes that may be cached when `len` more are, which were in use until now.
    fn bound(&mut self, len: usize) -> usize {
        let fixed = Self::fixed_bound();
        if memlock::future() {
            return fixed.saturating_sub(self.kept_bytes);
        }
        if !FOLLOWS_USE.load(Relaxed) {
            return fixed;
        }
        let used = self.used() - len;
        let lately = self.peak.lately(used, sys::coarse_ms());
        fixed.max(lately.saturating_sub(used))
    }

    fn give_up(&mut self, record: *mut Record, batch: &mut Batch) {
        // SAFETY: the record is in no ring and in no cache, and has a stack.
        unsafe {
            let stack = stack_of(record);
            self.figures.stack_bytes -= stack.len() - stack.shape().guard;
            self.figures.guard_bytes -= stack.shape().guard;
            (*record).next = batch.doomed;
        }
        batch.doomed = record;
    }

    /// Puts an unused stack where it belongs.
    fn put_away(&mut self, record: *mut Record, batch: &mut Batch) {
        // SAFETY: the record is in no ring, and has a stack.
        unsafe {
            let stack = stack_of(record);
            let bound = self.bound(stack.weight());
            let serves = stack.is_current()
                && stack.weight() <= bound.min(CACHE_BOUND.load(Relaxed))
                // To populate its pages again costs as much as those of a new one.
                && !(*record).drained
                && Self::drop_deep_pages(record);
            if !serves {
                self.give_up(record, batch);
                return;
            }
            self.cache.put(&raw mut (*record).slot);
            self.keep_cache_in(bound, batch);
        }
    }

    fn keep_cache_in(&mut self, bound: usize, batch: &mut Batch) {
        let shallow = CACHE_BOUND.load(Relaxed);
        for _ in 0..UNMAPPED_AT_ONCE {
            let Some(slot) = self.cache.take_oldest_over(bound, shallow) else {
                return;
            };
            self.give_up(record_of_slot(slot), batch);
        }
    }

    /// Gives back the deep pages of a stack, unless that is done; false where the kernel refuses.
    ///
    /// # Safety
    /// The record must have a stack, which stays, and its thread be over or back in its first frame.
    unsafe fn drop_deep_pages(record: *mut Record) -> bool {
        // SAFETY: by the caller's word.
        unsafe {
            let shallow = &(*record).shallow;
            if !shallow.load(Relaxed) && stack_of(record).drop_deep_pages() {
                shallow.store(true, Relaxed);
            }
            shallow.load(Relaxed)
        }
    }

    /// A thread on a populated stack is over, or about to be. Counts its stack as kept, and lets
    /// others lose their pages if that is too much; whether it is to lose its own.
    fn keep(&mut self, record: *mut Record, batch: &mut Batch) -> bool {
        // SAFETY: the record is in a ring, so it has a stack.
        unsafe {
            (*record).kept = true;
            self.kept_bytes += stack_of(record).weight();
            if (*record).place == Place::Joinable {
                self.joinable.remove(record);
                self.ended.insert(record);
            }
        }
        let bound = Self::fixed_bound();
        for _ in 0..self.ended.len().min(MANY.joinable) {
            if self.kept_bytes + self.cache.bytes() <= bound {
                return false;
            }
            match self.ended.turn() {
                // Under the lock, for nobody may take the stack meanwhile. It takes a fraction of
                // what populating the next stack does.
                Some(old) if old != record && Self::is_off_its_stack(old) => {
                    // SAFETY: the thread is off its stack, which stays as long as the lock is held.
                    unsafe { stack_of(old).drain() };
                    self.drained(old);
                }
                _ => {}
            }
        }
        self.keep_cache_in(bound.saturating_sub(self.kept_bytes), batch);
        let too_much = self.kept_bytes > bound;
        if too_much {
            self.drained(record);
        }
        too_much
    }

    /// The stack of this record loses its pages.
    fn drained(&mut self, record: *mut Record) {
        // SAFETY: records change under the lock.
        unsafe { (*record).drained = true };
        self.let_go(record);
    }

    /// The stack of this record no longer counts as kept.
    fn let_go(&mut self, record: *mut Record) {
        // SAFETY: the record has a stack, and is in the ring that it names.
        unsafe {
            if core::mem::take(&mut (*record).kept) {
                self.kept_bytes -= stack_of(record).weight();
            }
            if (*record).place == Place::Ended {
                self.ended.remove(record);
                self.joinable.insert(record);
            }
        }
    }

    /// Looks at a thread that can be joined. If it is over without having passed its own end here
    /// (it was cancelled, or left by `pthread_exit`), what it would have done there is done.
    fn notice_end(&mut self, record: *mut Record, batch: &mut Batch) {
        // SAFETY: the record is in a ring, so it has a stack, which stays as long as the lock is
        // held.
        unsafe {
            if !Self::is_off_its_stack(record) {
                return;
            }
            Self::drop_deep_pages(record);
            let noticed = (*record).kept || (*record).drained;
            if stack_of(record).is_populated() && !noticed && self.keep(record, batch) {
                stack_of(record).drain();
            }
        }
    }

    fn flush(&mut self, batch: &mut Batch) {
        while let Some(slot) = self.cache.take_oldest() {
            self.give_up(record_of_slot(slot), batch);
        }
    }

    fn ring(&mut self, place: Place) -> &mut Ring {
        match place {
            Place::Ended => &mut self.ended,
            Place::Detached => &mut self.detached,
            Place::Inherited => &mut self.inherited,
            Place::Joinable | Place::Nowhere => &mut self.joinable,
        }
    }

    fn unlink(&mut self, record: *mut Record) {
        // SAFETY: the record is in the ring that it names.
        unsafe {
            if (*record).place != Place::Nowhere {
                self.ring((*record).place).remove(record);
            }
        }
    }

    /// Takes the record out of its ring, and the thread that it stood for is history.
    fn retire(&mut self, record: *mut Record, batch: &mut Batch) {
        self.unlink(record);
        self.let_go(record);
        self.set_ended_unseen(record, 0);
        // SAFETY: the thread is off its stack and nobody can ask for it any more; the stack is
        // still mapped.
        unsafe {
            let handle = (*record).handle.swap(0, Relaxed);
            if handle != 0 {
                descriptor::record_word(handle).store(0, Relaxed);
                let word = descriptor::take_arena_word(handle);
                if word != heap::no_arena() {
                    batch.words[batch.count] = word;
                    batch.count += 1;
                }
            }
            (*record).next_generation();
        }
    }

    /// Ends the record of a thread that is over. The batch must not be full.
    fn reap(&mut self, record: *mut Record, batch: &mut Batch) {
        self.retire(record, batch);
        self.put_away(record, batch);
    }

    /// Whether a record on the ring of detached threads can be reaped.
    fn is_over(record: *mut Record) -> bool {
        // SAFETY: records are never unmapped.
        Self::is_off_its_stack(record) && unsafe { (*record).pins.load(Acquire) } == 0
    }

    /// Whether the thread of a record on a ring is off its stack, and its creator through.
    fn is_off_its_stack(record: *mut Record) -> bool {
        // SAFETY: the record has a stack, which stays mapped as long as the lock is held.
        unsafe {
            let handle = (*record).handle.load(Acquire);
            handle != 0
                && (*record).creator.load(Acquire) == 0
                && descriptor::death_word(handle) == 0
        }
    }

    /// Whether a record on the ring of joinable threads can be reaped: joined through us before
    /// its creator was through, or ended past us in one of the ways that libc's own functions
    /// (reached through a handle of libc, for example) leave in the descriptor.
    fn was_ended(&mut self, record: *mut Record, alone: &mut Option<bool>) -> bool {
        // SAFETY: as in `is_over`.
        unsafe {
            let handle = (*record).handle.load(Acquire);
            if handle == 0 || (*record).creator.load(Acquire) != 0 {
                return false;
            }
            if (*record).joined {
                return true;
            }
            let joined = descriptor::was_joined(handle);
            if !joined && descriptor::death_word(handle) != 0 {
                return false;
            }
            let detached =
                !joined && descriptor::is_detached(handle, trampoline as *const () as usize);
            if !joined && !detached {
                return false;
            }
            // A detach through us that is under way; it is pinned before libc says so and until it
            // is entered, so it must be looked at in this order.
            if detached && (*record).pins.load(Acquire) != 0 {
                return false;
            }
            // Where no other thread exists, nobody can be inside libc with that one.
            if *alone.get_or_insert_with(|| sys::count_threads() == Some(1)) {
                JOINS_PASS_US_BY.store(true, Relaxed);
                return true;
            }
            if joined && (*record).is_claimed() {
                self.set_ended_unseen(record, 0);
                return false;
            }
            JOINS_PASS_US_BY.store(true, Relaxed);
            let now = sys::coarse_ms().max(1);
            if (*record).ended_unseen == 0 {
                self.set_ended_unseen(record, now);
            }
            now - (*record).ended_unseen >= JOIN_LEAVES_MS
        }
    }

    /// Looks at the next few threads in turn and reaps those that are over; how many.
    fn look_around(&mut self, looks: Looks, batch: &mut Batch) -> usize {
        let mut found = 0;
        for _ in 0..looks.detached.min(self.detached.len()) {
            if batch.is_full() {
                return found;
            }
            match self.detached.turn() {
                Some(record) if Self::is_over(record) => {
                    self.reap(record, batch);
                    found += 1;
                }
                _ => {}
            }
        }
        let joinable = if JOINS_PASS_US_BY.load(Relaxed) {
            looks.detached
        } else {
            looks.joinable
        };
        let mut alone = None;
        for place in [Place::Ended, Place::Joinable] {
            let mut left = joinable.min(self.ring(place).len());
            while left > 0 {
                if batch.is_full() {
                    return found;
                }
                let was_alone = alone == Some(true);
                match self.ring(place).turn() {
                    Some(record) if self.was_ended(record, &mut alone) => {
                        self.reap(record, batch);
                        found += 1;
                    }
                    Some(record) => self.notice_end(record, batch),
                    None => {}
                }
                left -= 1;
                if !was_alone && alone == Some(true) {
                    // A moment for all that passed us by: the next create may not find such a one.
                    left = self.ring(place).len();
                }
            }
        }
        found
    }

    /// An unused stack of this shape: the warmest cached one, or one that a thread of the parent
    /// had, as late as possible, since that thread can still be joined.
    fn take(&mut self, shape: Shape, batch: &mut Batch) -> Option<*mut Record> {
        if let Some(slot) = self.cache.take(shape) {
            return Some(record_of_slot(slot));
        }
        for _ in 0..FEW.detached {
            let record = self.inherited.turn()?;
            // SAFETY: records on a ring have a stack.
            let stack = unsafe { stack_of(record) };
            if stack.shape() == shape && stack.is_current() {
                self.retire(record, batch);
                return Some(record);
            }
        }
        None
    }

    /// The same, unless the batch has no room for the arena word of one more thread.
    fn take_unless_full(&mut self, shape: Shape, batch: &mut Batch) -> Option<*mut Record> {
        if batch.is_full() {
            None
        } else {
            self.take(shape, batch)
        }
    }

    /// Links in a record with its stack for a thread about to start.
    fn enlist(&mut self, record: *mut Record, order: &Order) {
        self.figures.created += 1;
        let used = self.used();
        self.peak.note(used);
        // SAFETY: the record has a stack, and nobody else knows it.
        unsafe {
            stack_of(record).update_rights();
            let r = &mut *record;
            r.kind = order.kind;
            r.routine = order.routine;
            r.argument = order.argument;
            r.reported_guard = order.wish.reported_guard;
            r.joined = false;
            r.kept = false;
            r.drained = false;
            r.shallow.store(false, Relaxed);
            r.detached.store(order.wish.detached, Relaxed);
            r.handle.store(0, Relaxed);
            r.started.store(0, Relaxed);
            r.pins.store(0, Relaxed);
            r.creator.store(arch::thread_pointer(), Relaxed);
            if order.wish.detached {
                self.detached.insert(record);
            } else {
                self.joinable.insert(record);
            }
        }
    }
}

/// What a thread is to be.
struct Order {
    wish: Wish,
    routine: usize,
    argument: *mut c_void,
    kind: Kind,
}

/// Finds or maps a stack and enlists a record for it.
fn prepare(order: &Order) -> Result<*mut Record, Errno> {
    let shape = order.wish.shape;
    let cached = locked(|state, batch| {
        state.look_around(FEW, batch);
        let found = state.take(shape, batch).or_else(|| {
            state.look_around(MANY, batch);
            state.take_unless_full(shape, batch)
        });
        if let Some(record) = found {
            state.figures.reused += 1;
            state.enlist(record, order);
        }
        found
    });
    match cached {
        Some(record) => Ok(record),
        None if JOINS_PASS_US_BY.load(Relaxed) && comes_to_be_alone() => {
            let reaped = locked(|state, batch| {
                state.look_around(FEW, batch);
                let found = state.take_unless_full(shape, batch);
                if let Some(record) = found {
                    state.figures.reused += 1;
                    state.enlist(record, order);
                }
                found
            });
            reaped.map_or_else(|| map_new(order), Ok)
        }
        None => map_new(order),
    }
}

/// Waits a little for the other threads of the process to be gone, if there are few. A thread joined
/// past us is still there for a moment when its joiner creates the next one, and while it is, who
/// joined it is not known.
#[cold]
fn comes_to_be_alone() -> bool {
    const FEW_TASKS: u64 = 8;
    const NAP_NS: i64 = 50_000;
    /// So long no wait is tried again after one in vain, a fiftieth of that.
    const PAUSE_MS: u64 = 500;
    static AGAIN: AtomicU64 = AtomicU64::new(0);
    let now = sys::coarse_ms();
    if now < AGAIN.load(Relaxed) {
        return false;
    }
    for _ in 0..PAUSE_MS * 1_000_000 / 50 / NAP_NS as u64 {
        match sys::count_threads() {
            Some(1) => return true,
            Some(2..=FEW_TASKS) => sys::nap(NAP_NS),
            _ => break,
        }
    }
    AGAIN.store(now + PAUSE_MS, Relaxed);
    false
}

#[cold]
fn map_new(order: &Order) -> Result<*mut Record, Errno> {
    let era = memlock::era();
    let stack = Stack::map(order.wish.shape).or_else(|_| {
        // What is idle gives way to what is needed.
        memlock::refused();
        give_idle_back();
        heap::make_room();
        Stack::map(order.wish.shape)
    })?;
    if memlock::era() != era {
        // The mapping found a lock that we were not told of; what was cached before is useless.
        give_idle_back();
    }
    let mut stack = Some(stack);
    let mut chunk = None;
    loop {
        let added = locked(|state, _| {
            if let Some(chunk) = chunk.take() {
                state.pool.add(chunk);
            }
            let record = state
                .pool
                .pop()
                .ok_or_else(|| state.pool.next_chunk_len())?;
            // SAFETY: a free record is ours alone.
            unsafe {
                (*record).slot.stack = stack.take();
                (*record).has_stack.store(true, Release);
                state.figures.mapped += 1;
                state.figures.count(stack_of(record));
            }
            state.enlist(record, order);
            Ok(record)
        });
        match added {
            Ok(record) => return Ok(record),
            Err(len) => chunk = Some(Chunk::map(len)?),
        }
    }
}

/// Reaps what can be reaped and unmaps all cached stacks.
fn give_idle_back() {
    let mut more = true;
    while more {
        more = locked(|state, batch| {
            state.look_around(ALL, batch);
            state.flush(batch);
            batch.is_full()
        });
    }
}

/// Starts a thread on a stack of ours; the result is that of `pthread_create`.
///
/// # Safety
/// As for `pthread_create`; `create` must be the real one, and `attr` null or without a stack of
/// the program's.
pub unsafe fn create(
    create: Create,
    thread: *mut pthread_t,
    attr: *const pthread_attr_t,
    routine: usize,
    argument: *mut c_void,
    kind: Kind,
) -> c_int {
    let mut own = MaybeUninit::<pthread_attr_t>::uninit();
    // SAFETY: either initialises `own`; the bitwise copy shares what the program's attribute
    // points at, and is therefore never destroyed.
    unsafe {
        if attr.is_null() {
            if pthread_getattr_default_np(own.as_mut_ptr()) != 0 {
                return libc::EAGAIN;
            }
        } else {
            own.write(*attr);
        }
    }
    // SAFETY: `own` is initialised, and the rest is the caller's.
    unsafe {
        let result = create_with(
            create,
            thread,
            own.assume_init_mut(),
            routine,
            argument,
            kind,
        );
        if attr.is_null() {
            libc::pthread_attr_destroy(own.as_mut_ptr());
        }
        result
    }
}

/// # Safety
/// As for [`create`]; `attr` is changed.
unsafe fn create_with(
    create: Create,
    thread: *mut pthread_t,
    attr: &mut pthread_attr_t,
    routine: usize,
    argument: *mut c_void,
    kind: Kind,
) -> c_int {
    // SAFETY: the attribute is initialised.
    let wish = match unsafe { Wish::of(attr) } {
        Ok(wish) => wish,
        Err(Errno(error)) => return error,
    };
    let order = Order {
        wish,
        routine,
        argument,
        kind,
    };
    // Whatever the kernel said: what a program expects when there is no room is EAGAIN.
    let record = match prepare(&order) {
        Ok(record) => record,
        Err(error) => {
            if config::verbose() {
                refusal::explain(order.wish.shape, Refused::Memory(error));
            }
            return libc::EAGAIN;
        }
    };
    // SAFETY: the record is enlisted with its stack, which stays until its creator is through.
    let (low, size) = unsafe { (stack_of(record).low(), order.wish.shape.size) };
    // SAFETY: the attribute is ours; the rest is the caller's.
    let result = unsafe {
        match libc::pthread_attr_setstack(attr, low as *mut c_void, size) {
            0 => create(
                thread,
                attr,
                trampoline as *const () as usize,
                record.cast(),
            ),
            error => {
                withdraw(record, null_mut());
                return error;
            }
        }
    };
    if result == 0 {
        publish(record, low + size);
    } else {
        withdraw(record, thread);
        if config::verbose() {
            match result {
                libc::EAGAIN => refusal::explain(order.wish.shape, Refused::Thread),
                libc::ENOMEM => {
                    refusal::explain(order.wish.shape, Refused::Memory(Errno(result)));
                }
                _ => {}
            }
        }
    }
    if result == libc::ENOMEM {
        libc::EAGAIN
    } else {
        result
    }
}

/// Makes the new thread's record findable by its handle before anyone can join it by that handle,
/// though its trampoline may not have run. The thread may be over already; its memory stays, since
/// the creator is not through. (The handle is not read from where libc stored it: that memory may
/// be the thread's to free.)
fn publish(record: *mut Record, top: usize) {
    // SAFETY: records are never unmapped, and this one waits for its creator.
    let record = unsafe { &*record };
    let handle = match record.handle.load(Acquire) {
        0 => descriptor::predicted(top).or_else(|| wait_for_handle(record)),
        handle => Some(handle),
    };
    let Some(handle) = handle else {
        return record.creator.store(0, Release);
    };
    record.handle.store(handle, Release);
    // SAFETY: the thread's memory is not used again before the store below.
    unsafe { descriptor::record_word(handle) }.store(&raw const *record as usize, Release);
    record.creator.store(0, Release);
}

/// `started` in the child of a fork by a handler that interrupted the create.
const UNCERTAIN: u32 = 3;

/// Waits for the first thread of the process to tell where libc placed its descriptor; `None` if
/// that thread stayed behind in the parent of a fork.
#[cold]
fn wait_for_handle(record: &Record) -> Option<usize> {
    let is = |state| record.started.load(Acquire) == state;
    while !is(1) {
        if is(UNCERTAIN) && sys::count_threads() == Some(1) && is(UNCERTAIN) {
            return None;
        }
        let _ = record.started.compare_exchange(0, 2, AcqRel, Acquire);
        sys::futex_wait(&record.started, 2);
    }
    Some(record.handle.load(Acquire))
}

/// The real create failed.
#[cold]
fn withdraw(record: *mut Record, thread: *const pthread_t) {
    // SAFETY: the record waits for its creator; libc stored the handle, if it came that far, and
    // with a failed create the place for it is still the caller's.
    unsafe {
        let stack = stack_of(record);
        let stored = if thread.is_null() {
            0
        } else {
            *thread as usize
        };
        let came_to_be = stored > stack.low() && stored < stack.top();
        locked(|state, batch| {
            state.figures.created -= 1;
            if came_to_be && descriptor::death_word(stored) > 0 {
                // Some versions of libc do not wait for a thread that could not be set up.
                state.unlink(record);
                (*record).handle.store(stored, Relaxed);
                (*record).detached.store(true, Relaxed);
                (*record).creator.store(0, Relaxed);
                state.detached.insert(record);
            } else {
                (*record).creator.store(0, Relaxed);
                state.reap(record, batch);
            }
        });
    }
}

/// Where every thread on a stack of ours starts. Not `C-unwind`: `pthread_exit` and cancellation
/// pass through a plain frame, and would abort at a checked one.
unsafe extern "C" fn trampoline(record: *mut c_void) -> *mut c_void {
    let record = record.cast::<Record>();
    // SAFETY: the creator passed a record whose fields are set, and it stays as long as the thread
    // is on its stack. The routine is what the program gave, of the kind that it said.
    unsafe {
        let (routine, argument, kind) = ((*record).routine, (*record).argument, (*record).kind);
        arch::set_record_word(record as usize);
        announce(&*record);
        let result = match kind {
            Kind::Posix => core::mem::transmute::<
                usize,
                unsafe extern "C" fn(*mut c_void) -> *mut c_void,
            >(routine)(argument),
            Kind::C11 => core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_int>(
                routine,
            )(argument) as isize as *mut c_void,
        };
        // The routine may have allowed cancellation at any moment, which must not find the lock held.
        let mut state = 0;
        pthread_setcancelstate(CANCEL_DISABLE, &raw mut state);
        tidy_up(record);
        pthread_setcancelstate(state, &raw mut state);
        result
    }
}

#[inline(never)]
fn announce(record: &Record) {
    // SAFETY: always allowed.
    let handle = unsafe { libc::pthread_self() } as usize;
    record.handle.store(handle, Release);
    if !descriptor::is_place_known() {
        // SAFETY: the record has a stack: this one.
        let top = unsafe { stack_of(core::ptr::from_ref(record).cast_mut()) }.top();
        descriptor::learn_place(handle, top, stack::tls_alignment());
    }
    if record.started.swap(1, AcqRel) == 2 {
        sys::futex_wake_one(&record.started);
    }
}

/// A thread that ends gives its deep pages back, as libc's own do, or in a locked process sees to
/// it that not too many are kept. A detached one looks for others that ended: so they do not pile
/// up though nobody creates a thread any more.
#[inline(never)]
fn tidy_up(record: *mut Record) {
    // SAFETY: the record is that of the running thread, which is back in its first frame.
    unsafe {
        State::drop_deep_pages(record);
        if stack_of(record).is_populated() && locked(|state, batch| state.keep(record, batch)) {
            stack_of(record).drain();
        }
        if !(*record).detached.load(Relaxed) {
            return;
        }
    }
    // Unmapping takes long, and meanwhile others may have died that saw this thread as the last.
    while locked(|state, batch| state.look_around(MANY, batch)) > 0 {}
}

/// To be called before the real join of `thread`, and ended by [`joined`] or [`Claim::give_up`].
///
/// # Safety
/// `thread` must be what a program may pass to `pthread_join`.
pub unsafe fn claim(thread: pthread_t) -> Option<Claim> {
    // SAFETY: by the caller's word.
    unsafe { record_of(thread) }.map(Record::claim)
}

/// The real join of a claimed thread returned zero.
pub fn joined(claim: Claim) {
    if claim.holds() {
        // SAFETY: the thread is off its stack, and who joined it alone may say that it is over.
        unsafe {
            State::drop_deep_pages(claim.record);
        }
    }
    locked(|state, batch| {
        if !claim.holds() {
            return;
        }
        let record = claim.record;
        // SAFETY: the claim holds, so the record still stands for the thread.
        unsafe {
            if (*record).place == Place::Nowhere {
                return;
            }
            (*record).joined = true;
            if (*record).creator.load(Acquire) == 0 {
                state.reap(record, batch);
            }
        }
    });
}

/// Calls the real `pthread_detach` (or its C11 twin) and follows it.
///
/// # Safety
/// `thread` must be what a program may pass to `pthread_detach`.
pub unsafe fn detach(thread: pthread_t, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by the caller's word.
    let Some(record) = (unsafe { record_of(thread) }) else {
        return real();
    };
    // The real call still reads the descriptor when the thread may already be over and detached.
    record.pins.fetch_add(1, AcqRel);
    let result = real();
    let record = core::ptr::from_ref(record).cast_mut();
    locked(|state, batch| {
        // SAFETY: the record is pinned.
        unsafe {
            (*record).pins.fetch_sub(1, AcqRel);
            if result != 0 || (*record).place == Place::Nowhere {
                return;
            }
            (*record).detached.store(true, Relaxed);
            if matches!((*record).place, Place::Joinable | Place::Ended) {
                state.unlink(record);
                state.detached.insert(record);
            }
            if State::is_over(record) {
                state.reap(record, batch);
            }
        }
    });
    result
}

/// The guard of a thread on a stack of ours, as it is to be reported.
///
/// # Safety
/// `thread` must be a thread that runs or can still be joined.
pub unsafe fn reported_guard(thread: pthread_t) -> Option<usize> {
    // SAFETY: by the caller's word.
    unsafe { record_of(thread) }.map(|record| record.reported_guard)
}

/// Before the program locks or unlocks its memory: nothing idle is to be charged, and nothing of
/// the old kind to be handed out later.
pub fn before_lock_change() {
    give_idle_back();
}

/// The program locked all that is mapped: guards are not to be, nor what a setting excepts.
pub fn settle_locks() {
    locked(|state, _| {
        state.each(|record| {
            // SAFETY: records on a ring have a stack, and the lock is held.
            unsafe { stack_of(record).settle_lock() }
        });
    });
}

/// Stacks have other rights from now on: gives them to those in use.
pub fn update_rights() {
    locked(|state, batch| {
        state.flush(batch);
        state.each(|record| {
            // SAFETY: records on a ring have a stack, and the lock is held.
            unsafe { stack_of(record).update_rights() }
        });
    });
}

impl State {
    fn each(&mut self, mut visit: impl FnMut(*mut Record)) {
        for ring in [
            &mut self.joinable,
            &mut self.ended,
            &mut self.detached,
            &mut self.inherited,
        ] {
            ring.each(|_, record| visit(record));
        }
    }
}

pub fn figures() -> Figures {
    locked(|state, _| Figures {
        cached: state.cache.count(),
        ..state.figures
    })
}

/// In the child of a fork; usually noticed before, by the first call that needs it.
pub fn forked() {
    if child::is_watched() {
        notice_child();
    } else if !THREADS.lock.is_mine() {
        start_over();
    }
}

#[inline]
fn notice_child() {
    // Where a signal handler forked inside the lock, what it interrupted first goes on as it was.
    if child::is_unnoticed() && !THREADS.lock.is_mine() {
        start_over();
    }
}

/// Makes the state whole in the child of a fork, whatever a thread of the parent was doing to it:
/// the lists are made anew from the records. The threads of the parent did not come along, but
/// may be joined or detached here, so their stacks are used last.
#[cold]
#[inline(never)]
fn start_over() {
    child::notice();
    memlock::forked();
    mapping::forked();
    THREADS.lock.reset();
    // SAFETY: no other thread exists.
    let state = unsafe { &mut *THREADS.state.get() };
    state.joinable = Ring::new(Place::Joinable);
    state.ended = Ring::new(Place::Ended);
    state.detached = Ring::new(Place::Detached);
    state.inherited = Ring::new(Place::Inherited);
    state.cache = Cache::new();
    state.kept_bytes = 0;
    state.unseen_bytes = 0;
    state.peak = Peak::new();
    state.figures.stack_bytes = 0;
    state.figures.guard_bytes = 0;
    let State {
        joinable,
        detached,
        inherited,
        pool,
        cache,
        figures,
        ..
    } = state;
    let mut free = null_mut::<Record>();
    pool.each(|record| {
        // SAFETY: a record is ours alone now; the stack of one that says so is mapped.
        unsafe {
            let r = &mut *record;
            r.pins.store(0, Relaxed);
            r.drop_claims();
            r.kept = false;
            r.ended_unseen = 0;
            r.place = Place::Nowhere;
            if !r.has_stack.load(Relaxed) {
                // Half a stack may be there; whether it was unmapped is not known.
                (&raw mut r.slot.stack).write(None);
                r.next = free;
                free = record;
                return;
            }
            figures.count(stack_of(record));
            let creator = r.creator.load(Relaxed);
            let handle = r.handle.load(Relaxed);
            let runs_here = record as usize == arch::record_word();
            // A signal handler may have forked inside the create of this very thread, which goes on.
            if runs_here || creator == arch::thread_pointer() {
                if runs_here {
                    r.creator.store(0, Relaxed);
                } else if r.started.load(Relaxed) != 1 {
                    r.started.store(UNCERTAIN, Relaxed);
                }
                let detached_one = r.detached.load(Relaxed);
                let ring = if detached_one {
                    &mut *detached
                } else {
                    &mut *joinable
                };
                ring.insert(record);
                return;
            }
            r.creator.store(0, Relaxed);
            if handle != 0 {
                descriptor::bury(handle);
                // The heap knows already that its thread is no more.
                descriptor::take_arena_word(handle);
                inherited.insert(record);
                return;
            }
            if creator != 0
                && let Some(handle) = descriptor::predicted(stack_of(record).top())
            {
                descriptor::bury(handle);
            }
            cache.put(&raw mut r.slot);
        }
    });
    pool.forget_free();
    while !free.is_null() {
        // SAFETY: collected above; in no ring and no cache, and without a stack.
        unsafe {
            let next = (*free).next;
            pool.push(free);
            free = next;
        }
    }
}
