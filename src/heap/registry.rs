//! Which arena belongs to which thread.
//!
//! A thread gets an arena at its first allocation: one that a dead thread left, or a new one.
//! Threads on stacks of ours are observed to be dead from outside ([`abandon`]). Other threads
//! (given stacks, the main thread, timers of libc) leave their arena in a key destructor, and
//! what they free or allocate after it, or if there can be none, goes through one shared *late*
//! arena under a lock.
//! Invariant: an arena is owned by at most one thread; arenas without one are in the abandoned
//! list, guarded by the registry's lock, or were torn by a fork and are never used again. As a
//! signal handler may fork anywhere, a thread's word is set under the lock that gives it the arena.

use super::{
    arena::{Arena, NO_ARENA},
    block::Block,
    span::Span,
};
use crate::{
    arch,
    atomic::PlainPtr,
    lock::{Held, Lock},
};
use core::{
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU32,
        Ordering::{Relaxed, Release},
    },
};

static LOCK: Lock = Lock::new();
/// Guards the late arena's contents.
static LATE: Lock = Lock::new();
static ALL: PlainPtr<Arena> = PlainPtr::new(ptr::null_mut());
static ABANDONED: PlainPtr<Arena> = PlainPtr::new(ptr::null_mut());
static LATE_ARENA: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());
/// The arena word of a thread that has left its arena: an arena that never has a span.
static LEFT: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());
/// The key whose destructor tells that a thread leaves: its number + 1, zero before it exists.
static KEY: AtomicU32 = AtomicU32::new(0);
static MAIN_SEEN: AtomicU32 = AtomicU32::new(0);

arch::define_thread_words!(NO_ARENA);

/// The arena word of a thread that has no arena.
pub fn no_arena() -> usize {
    &raw const NO_ARENA as usize
}

/// The arena with which the running thread works, and the lock if it is a shared one.
pub struct Own {
    pub arena: &'static Arena,
    _late: Option<Held<'static>>,
}

/// The running thread's arena; `None` when out of memory.
pub fn own() -> Option<Own> {
    let word = arch::arena_word();
    if word == no_arena() {
        return attach();
    }
    if word == LEFT.load(Relaxed) as usize {
        return late();
    }
    // SAFETY: the word is only ever set to the address of an arena, and arenas stay mapped.
    let arena = unsafe { &*(word as *const Arena) };
    Some(Own { arena, _late: None })
}

#[cold]
fn late() -> Option<Own> {
    let held = LATE.lock();
    // SAFETY: null or an arena, and arenas stay mapped.
    let arena = match unsafe { LATE_ARENA.load(Relaxed).as_ref() } {
        Some(arena) => arena,
        None => {
            let arena = Arena::create()?;
            // In this order, so that a fork in between does not take it for a dead thread's.
            LATE_ARENA.store(arena as *const Arena as *mut Arena, Relaxed);
            enlist(arena);
            arena
        }
    };
    Some(Own {
        arena,
        _late: Some(held),
    })
}

/// Gives the running thread an arena.
#[cold]
fn attach() -> Option<Own> {
    let arena = match adopt() {
        Some(arena) => arena,
        None => {
            let arena = Arena::create()?;
            let _held = enlist(arena);
            arch::set_arena_word(arena.address());
            arena
        }
    };
    // The first thread to allocate is the main thread, whose arena nobody needs before exit.
    let is_main = MAIN_SEEN.swap(1, Relaxed) == 0;
    if !is_main && arch::record_word() == 0 && !watch_end() && leave() {
        return late();
    }
    Some(Own { arena, _late: None })
}

fn enlist(arena: &'static Arena) -> Held<'static> {
    let held = LOCK.lock();
    arena.next_all.set(ALL.get());
    ALL.set(arena as *const Arena as *mut Arena);
    held
}

/// An abandoned arena, now the running thread's.
fn adopt() -> Option<&'static Arena> {
    if ABANDONED.get().is_null() {
        return None;
    }
    let _held = LOCK.lock();
    // SAFETY: the list holds arenas, which stay mapped.
    let arena = unsafe { ABANDONED.get().as_ref() }?;
    ABANDONED.set(arena.next_abandoned.get());
    arena.abandoned.set(0);
    arch::set_arena_word(arena.address());
    Some(arena)
}

/// Puts an arena that its thread no longer uses into the abandoned list.
fn disown(arena: &'static Arena) {
    arena.tidy();
    let _held = LOCK.lock();
    // In the child of a fork that came before this, it is there already.
    if arena.abandoned.get() == 0 {
        push_abandoned(arena);
    }
}

fn push_abandoned(arena: &'static Arena) {
    arena.abandoned.set(1);
    arena.next_abandoned.set(ABANDONED.get());
    ABANDONED.set(arena as *const Arena as *mut Arena);
}

/// The thread whose arena word this was is off its stack for good.
///
/// # Safety
/// `word` must have been read from that thread's static TLS after its death was observed.
pub unsafe fn abandon(word: usize) {
    if word == no_arena() || word == LEFT.load(Relaxed) as usize {
        return;
    }
    // SAFETY: none of those, so it is the address of an arena; its thread is gone, so it is ours.
    disown(unsafe { &*(word as *const Arena) });
}

/// Blocks were sent to `home`: if no thread owns it, sweeps it now, so that its pages come back.
pub fn received(home: &'static Arena) {
    if home.abandoned.get() == 0 {
        return;
    }
    // Whoever holds the lock may be adopting this very arena; then its new thread sweeps.
    if let Some(_held) = LOCK.try_lock()
        && home.abandoned.get() != 0
    {
        home.settle_received();
    }
}

/// Sends one block home without an outbox.
pub fn send_one(home: &'static Arena, block: Block) {
    home.post(block.address(), block);
    received(home);
}

/// The arena that a span in use belongs to.
pub fn home_of(span: &Span) -> &'static Arena {
    // SAFETY: a span that holds blocks in use names its arena, and arenas stay mapped.
    unsafe { &*(span.home() as *const Arena) }
}

/// Tidies the arenas that no thread owns.
pub fn tidy_abandoned() {
    let _held = LOCK.lock();
    let mut next = ABANDONED.get();
    // SAFETY: the list holds arenas, which stay mapped.
    while let Some(arena) = unsafe { next.as_ref() } {
        arena.tidy();
        next = arena.next_abandoned.get();
    }
}

unsafe extern "C" {
    fn __ctype_b_loc() -> *const *const u16;
}

/// Whether the running thread was started by our libc, and not by that of another namespace: that
/// one would take our key for one of its own. Told by a thread-local word that libc sets in the
/// threads that it starts, before all else.
fn is_of_our_libc() -> bool {
    // SAFETY: the function gives the address of that word.
    unsafe { !(*__ctype_b_loc()).is_null() }
}

/// Has [`leave`] called when the running thread ends; whether that could be arranged.
fn watch_end() -> bool {
    if !is_of_our_libc() {
        return false;
    }
    // SAFETY: the key exists; a key below 32, as ours mostly is, makes libc allocate nothing, and
    // for the others the arena word is already set.
    key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, ptr::dangling()) } == 0)
}

fn key() -> Option<libc::pthread_key_t> {
    let known = KEY.load(Relaxed);
    if known != 0 {
        return Some(known - 1);
    }
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the destructor lives as long as the process (nodelete).
    if unsafe { libc::pthread_key_create(&mut key, Some(at_end)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Relaxed, Relaxed) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: nobody else knows the key just made.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

extern "C" fn at_end(_: *mut libc::c_void) {
    leave();
}

/// The running thread leaves its arena to others; whether it could.
fn leave() -> bool {
    let Some(left) = left_mark() else {
        return false;
    };
    let word = arch::arena_word();
    arch::set_arena_word(left as usize);
    // SAFETY: the word was this thread's own until the line above.
    unsafe { abandon(word) };
    true
}

/// The mark of threads that have left.
fn left_mark() -> Option<*mut Arena> {
    let _held = LATE.lock();
    if LEFT.load(Relaxed).is_null() {
        let left = Arena::create()?;
        LEFT.store(left as *const Arena as *mut Arena, Release);
    }
    Some(LEFT.load(Relaxed))
}

/// In the child of a fork: arenas of threads that are not here are free to be adopted, but for
/// those caught in the middle of a change.
pub fn after_fork_in_child() {
    // What the fork interrupted goes on with the list as it is.
    if LOCK.is_mine() {
        return;
    }
    let mine = arch::arena_word();
    let late = LATE_ARENA.load(Relaxed);
    ABANDONED.set(ptr::null_mut());
    let mut next = ALL.get();
    // SAFETY: the list holds arenas, which stay mapped.
    while let Some(arena) = unsafe { next.as_ref() } {
        next = arena.next_all.get();
        arena.abandoned.set(0);
        if ptr::eq(arena, late) {
            if arena.is_busy() && !LATE.is_mine() {
                LATE_ARENA.store(ptr::null_mut(), Relaxed);
            }
        } else if arena.address() != mine && !arena.is_busy() {
            arena.set_hint();
            push_abandoned(arena);
        }
    }
}

/// The locks that a fork must hold, in the order in which they are taken.
pub fn locks() -> [&'static Lock; 2] {
    [&LATE, &LOCK]
}
