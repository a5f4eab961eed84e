//! Which road a request for memory takes.
//!
//! ```text
//!   malloc -> arena word -> table by size -> span -> pop      (the fast road)
//!          -> registry (whose arena) -> arena (next span, sweep) -> pool (runs, growth)
//!          -> large -> pool
//!   free   -> zone (page map) -> span of this arena -> push   (the fast road)
//!          -> full span of this arena | outbox of another's | large | libc's own block
//! ```
//!
//! Usable from the first instruction that ld.so runs after relocation to the last of the process:
//! all state is const-initialised and set up by first use. Nothing here touches errno.
//! Invariant: a block in use is the start of a carved block of a small span or of a large span.

mod arena;
mod bins;
mod block;
mod class;
mod foreign;
mod large;
mod outbox;
mod pool;
mod registry;
mod span;
#[cfg(test)]
mod tests;
mod zone;

use crate::{arch, fatal::fatal, line::Line, lock, lock::Lock, memlock};
use block::Block;
use class::{MAX_DIRECT, MAX_SMALL, PAGE};
use core::ptr;
pub use registry::no_arena;
use span::{Span, SpanId, State};
use zone::ZONE;

/// Most bytes of a block: `PTRDIFF_MAX`, as in glibc.
const MOST: usize = isize::MAX as usize;

/// A block of at least `size` bytes, aligned to 16, by the fast road; `None` if that is closed
/// at the moment.
#[inline(always)]
pub fn allocate_fast(size: usize) -> Option<*mut u8> {
    if size > MAX_DIRECT {
        return None;
    }
    let arena = arch::arena_word() as *const arena::Front;
    // SAFETY: the arena word is the address of an arena, of which only the front may be there
    // (`NO_ARENA`), and its table names spans.
    let span = unsafe { &*(*arena).direct[class::direct_index(size)].get() };
    arena::pop(span).map(|address| address as *mut u8)
}

/// A block of at least `size` bytes, aligned to 16; null when out of memory.
#[inline(always)]
pub fn allocate(size: usize) -> *mut u8 {
    allocate_fast(size).unwrap_or_else(|| allocate_slow(size))
}

/// [`allocate`] without trying the fast road.
#[cold]
#[inline(never)]
pub fn allocate_slow(size: usize) -> *mut u8 {
    let block = if size <= MAX_SMALL {
        allocate_class(class::class_of(size), 1)
    } else if size <= MOST {
        large::allocate(size, 1).map(|(address, _)| address)
    } else {
        None
    };
    block.map_or(ptr::null_mut(), |address| address as *mut u8)
}

fn allocate_class(class: usize, align: usize) -> Option<usize> {
    let own = registry::own()?;
    own.arena.allocate(class, align)
}

/// A block of `size` bytes that hold zeros; null when out of memory.
#[inline]
pub fn allocate_zeroed(size: usize) -> *mut u8 {
    if size > MAX_SMALL {
        return allocate_zeroed_large(size);
    }
    let block = allocate(size);
    if !block.is_null() {
        // SAFETY: the block was just handed out and has `size` bytes.
        unsafe { block.write_bytes(0, size) };
    }
    block
}

#[cold]
fn allocate_zeroed_large(size: usize) -> *mut u8 {
    if size > MOST {
        return ptr::null_mut();
    }
    match large::allocate(size, 1) {
        None => ptr::null_mut(),
        Some((address, zeros)) => {
            let block = address as *mut u8;
            if !zeros {
                // SAFETY: the block was just handed out and has `size` bytes.
                unsafe { block.write_bytes(0, size) };
            }
            block
        }
    }
}

/// A block of `size` bytes at a multiple of `align`, a power of two; null when out of memory.
pub fn allocate_aligned(align: usize, size: usize) -> *mut u8 {
    if align <= 16 {
        return allocate(size);
    }
    if size > MOST || align > MOST {
        return ptr::null_mut();
    }
    let small = if align <= PAGE {
        class::aligned_class(size, align)
    } else {
        None
    };
    let block = match small {
        Some(class) => allocate_class(class, align),
        None => large::allocate(size, align).map(|(address, _)| address),
    };
    block.map_or(ptr::null_mut(), |address| address as *mut u8)
}

/// Frees a block; null is nothing.
///
/// # Safety
/// `block` must be null or a live block of this heap or of the libc below; anything else is
/// reported and ends the process where it can be told.
#[inline(always)]
pub unsafe fn free(block: *mut u8) {
    let address = block as usize;
    if let Some(span) = own_span(address) {
        // SAFETY: the start of a carved block, which is the caller's to give, of our span.
        let (free, key) = unsafe { (Block::new(address), span.key.own()) };
        if free.mark_unless_marked(key) {
            // SAFETY: the span is ours.
            if unsafe { arena::push_own(span, free) } == 0 {
                arena::retire(span);
            }
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { free_slow(block) }
}

/// The span of a small block that starts at `address`, if the fast roads are open to it: it belongs
/// to the running thread's arena.
#[inline(always)]
fn own_span(address: usize) -> Option<&'static Span> {
    let word = arch::arena_word();
    // SAFETY: the arena word is the address of an arena, of which only the front may be there
    // (`NO_ARENA`).
    let view = unsafe { &(*(word as *const arena::Front)).view };
    // SAFETY: this thread alone writes its arena's view.
    let offset = unsafe { view.offset(address) }?;
    // SAFETY: an offset of this view, which this thread alone writes.
    let span = unsafe { view.span_at(offset) };
    // SAFETY: the arena is this thread's, so the span is.
    (span.owner.get() == word && unsafe { span.starts_own_block(address) }).then_some(span)
}

/// # Safety
/// As for [`free`].
#[cold]
#[inline(never)]
unsafe fn free_slow(block: *mut u8) {
    if block.is_null() {
        return;
    }
    let address = block as usize;
    let Some(span) = lookup(address, "free") else {
        // SAFETY: not a block of ours, so by the caller's promise one of the libc below.
        return unsafe { foreign::free(block) };
    };
    if span.state() == State::Large {
        return large::free(span);
    }
    // SAFETY: the start of a carved block (lookup).
    let free = unsafe { Block::new(address) };
    if !free.mark_unless_marked(span.key.get()) {
        misuse("free", "double free of", address);
    }
    let home = registry::home_of(span);
    match registry::own() {
        Some(own) if ptr::eq(own.arena, home) => {
            // That the block came here may be since the arena's view is too old.
            own.arena.refresh();
            if span.state() == State::Full {
                own.arena.free_into_full(span, free);
            } else {
                // The late arena's spans take this road whatever their state.
                if arena::push(span, free) == 0 {
                    arena::retire(span);
                }
            }
        }
        Some(own) => own.arena.send(home, free, span.size()),
        None => registry::send_one(home, free),
    }
}

/// Ends the process after one line. Not inline, so that the line is in no other frame.
#[cold]
#[inline(never)]
fn misuse(function: &str, what: &str, address: usize) -> ! {
    let line = Line::new("libfix: ").str(function).str("(): ").str(what);
    fatal(line.str(" ").hex(address))
}

/// The span whose live block starts at `address`; `None` if the address is not in the zone. An
/// address in the zone where no block starts ends the process, naming `function`.
fn lookup(address: usize, function: &str) -> Option<&'static Span> {
    let offset = ZONE.offset(address);
    if offset >= ZONE.limit() {
        return None;
    }
    // SAFETY: below the limit.
    let span = unsafe { ZONE.span_at(offset) };
    let (state, page) = (span.state(), (offset / PAGE) as u32);
    let valid = match state {
        State::Large => address == ZONE.address(span.page.get()),
        _ if state.is_small() => {
            (span.page.get()..span.end()).contains(&page) && span.starts_block(address)
        }
        _ => false,
    };
    if !valid {
        misuse(function, "invalid pointer", address);
    }
    Some(span)
}

/// [`lookup`] that also refuses a small block that is free.
fn lookup_live(address: usize, function: &str) -> Option<&'static Span> {
    let span = lookup(address, function)?;
    if span.state() != State::Large {
        // SAFETY: the start of a block of ours (lookup).
        let block = unsafe { Block::new(address) };
        if block.is_marked(span.key.get()) {
            misuse(function, "freed block", address);
        }
    }
    Some(span)
}

fn block_bytes(span: &Span) -> usize {
    if span.state() == State::Large {
        large::bytes(span)
    } else {
        span.size()
    }
}

/// Bytes that may be used of a live block; zero for null.
///
/// # Safety
/// As for [`free`].
pub unsafe fn usable(block: *mut u8) -> usize {
    if block.is_null() {
        return 0;
    }
    match lookup_live(block as usize, "malloc_usable_size") {
        Some(span) => block_bytes(span),
        // SAFETY: not a block of ours, so by the caller's promise one of the libc below.
        None => unsafe { foreign::usable(block) },
    }
}

/// A live block with its contents in at least `size` (not zero) bytes; null when out of memory,
/// and then the block is as it was.
///
/// # Safety
/// `block` must be a live block of this heap or of the libc below, and is dead afterwards unless
/// null is returned.
#[inline(always)]
pub unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
    let address = block as usize;
    if let Some(span) = own_span(address) {
        let have = span.size();
        // SAFETY: the start of a block of our span.
        let free = unsafe { Block::new(address) }.is_marked(span.key.get());
        if size <= have && size > have / 2 && !free {
            return block;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { reallocate_slow(block, size) }
}

/// # Safety
/// As for [`reallocate`].
#[inline(never)]
unsafe fn reallocate_slow(block: *mut u8, size: usize) -> *mut u8 {
    if size > MOST {
        return ptr::null_mut();
    }
    let Some(span) = lookup_live(block as usize, "realloc") else {
        // SAFETY: not a block of ours, so by the caller's promise one of the libc below.
        return unsafe { foreign::reallocate(block, size) };
    };
    let old = block_bytes(span);
    if span.state() == State::Large {
        if size > MAX_SMALL / 4
            && let Some(address) = large::resize(span, size)
        {
            return address as *mut u8;
        }
    } else if size <= old && (size > old / 2 || class::class_of(size) == span.class()) {
        return block;
    }
    // Blocks that grow mostly grow again. In a locked process memory is dearer than copies.
    let mut new = ptr::null_mut();
    if size > old && size <= MAX_SMALL && !memlock::future() {
        new = allocate(size.max((old + old / 4).min(MAX_SMALL)));
    }
    if new.is_null() {
        new = allocate(size);
    }
    if new.is_null() {
        // A block never has to shrink.
        return if size <= old { block } else { new };
    }
    // SAFETY: both blocks are live, different, and at least that long; the old one is then done.
    unsafe {
        ptr::copy_nonoverlapping(block, new, old.min(size));
        free(block);
    }
    new
}

/// What the heap holds.
pub struct Stats {
    /// Bytes of blocks handed out.
    pub in_use: usize,
    /// Bytes mapped for blocks.
    pub mapped: usize,
    /// Most bytes ever mapped for blocks.
    pub peak: usize,
    /// Bytes mapped that no arena and no block holds, and the runs they are in.
    pub free: usize,
    pub free_runs: usize,
    /// Bytes and number of large blocks.
    pub large: usize,
    pub large_blocks: usize,
}

/// Counts everything, while other threads go on: as in glibc, some of what these threads keep for
/// themselves counts as handed out.
pub fn stats() -> Stats {
    let totals = pool::totals();
    let mut stats = Stats {
        in_use: 0,
        mapped: totals.mapped,
        peak: totals.peak,
        free: 0,
        free_runs: 0,
        large: 0,
        large_blocks: 0,
    };
    for span in (1..totals.spans).map(|id| ZONE.span(SpanId(id as u32))) {
        match span.state() {
            State::Free => {
                stats.free += large::bytes(span);
                stats.free_runs += 1;
            }
            State::Large => {
                stats.large += large::bytes(span);
                stats.large_blocks += 1;
            }
            state if state.is_small() => {
                // What is free in the current spans of other threads only these can count.
                let own = span.owner.get() == arch::arena_word();
                let blocks = if state == State::Current && own {
                    span.in_use()
                } else {
                    span.used.get()
                };
                stats.in_use += span.carved().min(blocks as usize) * span.size();
            }
            _ => {}
        }
    }
    stats.in_use += stats.large;
    stats
}

/// `malloc_trim(3)`: gives wholly free pages back, all but `pad` bytes; whether any went.
pub fn trim(pad: usize) -> bool {
    if let Some(own) = registry::own() {
        own.arena.tidy();
    }
    registry::tidy_abandoned();
    pool::trim(pad)
}

/// Gives back what nobody uses, since memory is needed for something else.
pub fn make_room() {
    if let Some(own) = registry::own() {
        own.arena.tidy();
    }
    registry::tidy_abandoned();
    pool::make_room();
}

/// Gives back what nobody uses, before `mlockall` charges all address space.
pub fn trim_idle() {
    pool::trim_idle();
}

/// `mallopt(M_TRIM_THRESHOLD)`: bytes of free memory to keep, `usize::MAX` for all.
pub fn set_trim_threshold(bytes: usize) {
    pool::set_trim_threshold(bytes);
}

/// The thread whose arena word this was is off its stack for good.
///
/// # Safety
/// `word` must have been read from that thread's static TLS after its death was observed.
pub unsafe fn abandon(word: usize) {
    // SAFETY: the caller's promise.
    unsafe { registry::abandon(word) }
}

/// The locks that a fork must hold, in the order in which they are taken.
pub fn locks() -> [&'static Lock; 4] {
    let ([late, registry], [grow, pool]) = (registry::locks(), pool::locks());
    [late, registry, grow, pool]
}

/// What the child of a fork must do: makes the heap whole and its locks free.
pub fn after_fork_in_child() {
    pool::before_reset_in_child();
    lock::reset_all(&locks());
    registry::after_fork_in_child();
}
