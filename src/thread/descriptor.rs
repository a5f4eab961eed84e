//! What is known of libc's thread descriptor, the memory a `pthread_t` points at.
//!
//! Invariant: every distance is found in the running process, not taken from a version of glibc;
//! what was not found is not used.
//!
//! * the *death word*: the kernel clears it when the thread is off its stack for good;
//! * the `tid` field: the same word up to glibc 2.42; where it is, a join leaves −1 there;
//! * the joiner, found by the start routine that is stored beside it;
//! * the list node before the `tid`: links all threads on given stacks, for `setuid` and its like.

use crate::{arch, heap, sys};
use core::sync::atomic::{
    AtomicI32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

const UNKNOWN: usize = 0;
/// No descriptor is smaller than this or keeps these fields further up.
const SEARCHED: usize = 2048;

static DEATH: AtomicUsize = AtomicUsize::new(UNKNOWN);
static TID: AtomicUsize = AtomicUsize::new(UNKNOWN);
static ROUTINE: AtomicUsize = AtomicUsize::new(UNKNOWN);
static NODE: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// Bytes from a thread's descriptor to the top of its stack.
static TO_TOP: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Finds the distances from the running thread, once.
pub fn probe() {
    if DEATH.load(Relaxed) != UNKNOWN {
        return;
    }
    // SAFETY: always allowed.
    let own = unsafe { libc::pthread_self() } as usize;
    let tid = find_tid(own);
    if let Some(tid) = tid {
        TID.store(tid, Relaxed);
        if is_node(own, tid - size_of::<[usize; 2]>()) {
            NODE.store(tid - size_of::<[usize; 2]>(), Relaxed);
        }
    }
    let death = match sys::tid_address() {
        Ok(address) => address
            .checked_sub(own)
            .filter(|&offset| offset < 2 * SEARCHED),
        // A kernel without that call; right up to glibc 2.42.
        Err(_) => tid,
    };
    DEATH.store(death.unwrap_or(UNKNOWN), Relaxed);
}

/// Whether the end of a thread can be seen at all.
pub fn is_known() -> bool {
    DEATH.load(Relaxed) != UNKNOWN
}

fn find_tid(own: usize) -> Option<usize> {
    let tid = sys::gettid();
    (2 * size_of::<usize>()..SEARCHED)
        .step_by(size_of::<i32>())
        .find(|offset| {
            // SAFETY: inside the running thread's own descriptor.
            unsafe { *((own + offset) as *const i32) == tid }
        })
}

/// Whether a list node is there: its neighbours point back at it.
fn is_node(own: usize, offset: usize) -> bool {
    let node = own + offset;
    // SAFETY: inside the running thread's own descriptor; the neighbours are read only if they
    // look like addresses of the kind that a list node has.
    unsafe {
        let [next, prev] = *(node as *const [usize; 2]);
        let plausible = |link: usize| {
            link != 0
                && link.is_multiple_of(size_of::<usize>())
                && (link ^ node) >> 47 == 0
                && link > 1 << 16
        };
        plausible(next)
            && plausible(prev)
            && *((next + size_of::<usize>()) as *const usize) == node
            && *(prev as *const usize) == node
    }
}

/// # Safety
/// `handle` must be the descriptor of a thread on a stack that is mapped, as long as the word is
/// used.
unsafe fn word<'a>(handle: usize, offset: usize) -> &'a AtomicI32 {
    // SAFETY: the caller keeps the descriptor mapped; the kernel and libc change it atomically.
    unsafe { AtomicI32::from_ptr((handle + offset) as *mut i32) }
}

/// The death word of a thread. Zero: it is off its stack for good, if it ever ran.
///
/// # Safety
/// As for [`word`].
pub unsafe fn death_word(handle: usize) -> i32 {
    // SAFETY: the caller keeps the descriptor mapped.
    unsafe { word(handle, DEATH.load(Relaxed)) }.load(Acquire)
}

/// Whether somebody joined the thread; never true where libc does not leave a sign of it.
///
/// # Safety
/// As for [`word`].
pub unsafe fn was_joined(handle: usize) -> bool {
    // SAFETY: the caller keeps the descriptor mapped.
    DEATH.load(Relaxed) == TID.load(Relaxed) && unsafe { death_word(handle) } == -1
}

/// Whether the thread is detached: libc then points at its descriptor in the third word before the
/// start routine, which is found by its value.
///
/// # Safety
/// As for [`word`]; the thread's start routine must have been `routine`.
pub unsafe fn is_detached(handle: usize, routine: usize) -> bool {
    const WORD: usize = size_of::<usize>();
    let is_routine = |offset: usize| {
        // SAFETY: inside the descriptor, which the caller keeps mapped.
        unsafe { *((handle + offset) as *const usize) == routine }
    };
    let mut start = ROUTINE.load(Relaxed);
    if start == UNKNOWN {
        let Some(found) = (4 * WORD..SEARCHED)
            .step_by(WORD)
            .find(|&at| is_routine(at))
        else {
            return false;
        };
        start = found;
        ROUTINE.store(start, Relaxed);
    }
    if !is_routine(start) {
        return false;
    }
    // SAFETY: as above.
    let joiner = unsafe { AtomicUsize::from_ptr((handle + start - 3 * WORD) as *mut usize) };
    joiner.load(Acquire) == handle
}

/// Makes the descriptor of a thread that did not come along into a fork child that of an ended
/// one: a join returns at once, and unlinking it from libc's list of threads on given stacks,
/// which libc emptied without unlinking, harms no other.
///
/// # Safety
/// `handle` must be the descriptor of a thread of the parent, on a stack of ours that is mapped.
pub unsafe fn bury(handle: usize) {
    for offset in [DEATH.load(Relaxed), TID.load(Relaxed)] {
        if offset != UNKNOWN {
            // SAFETY: the caller keeps the descriptor mapped.
            unsafe { word(handle, offset) }.store(0, Release);
        }
    }
    let node = NODE.load(Relaxed);
    if node != UNKNOWN {
        let node = handle + node;
        // SAFETY: as above; no other thread exists.
        unsafe { *(node as *mut [usize; 2]) = [node, node] };
    }
}

/// The record word of a thread.
///
/// # Safety
/// `handle` must be a `pthread_t` whose thread can still be joined or runs.
pub unsafe fn record_word<'a>(handle: usize) -> &'a AtomicUsize {
    let at = handle.wrapping_add_signed(arch::record_word_offset());
    // SAFETY: static TLS lies beside the descriptor and exists as long.
    unsafe { AtomicUsize::from_ptr(at as *mut usize) }
}

/// Takes the arena word of an ended thread, or of one that a fork left behind.
///
/// # Safety
/// The thread must be off its stack, and the stack still mapped.
pub unsafe fn take_arena_word(handle: usize) -> usize {
    let at = handle.wrapping_add_signed(arch::arena_word_offset());
    // SAFETY: static TLS lies beside the descriptor, and nobody else uses it any more.
    unsafe { core::mem::replace(&mut *(at as *mut usize), heap::no_arena()) }
}

/// The descriptor that libc will place on a stack ending at `top`, once one was seen.
pub fn predicted(top: usize) -> Option<usize> {
    match TO_TOP.load(Relaxed) {
        UNKNOWN => None,
        distance => Some(top - distance),
    }
}

/// Whether [`predicted`] has an answer.
pub fn is_place_known() -> bool {
    TO_TOP.load(Relaxed) != UNKNOWN
}

/// Learns from the running thread where libc places descriptors. With static TLS aligned to more
/// than the pages that stacks are aligned to there is no constant distance.
pub fn learn_place(handle: usize, top: usize, align: usize) {
    if align <= crate::align::page_size() {
        TO_TOP.store(top - handle, Relaxed);
    }
}
