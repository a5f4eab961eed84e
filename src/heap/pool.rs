//! The pool: every heap page that no arena and no large block holds, as runs that coalesce.
//!
//! It gives runs to arenas (as spans) and to large blocks, so what one frees serves the other,
//! grows the heap by mapping exactly what is opened, and gives memory back to the kernel.
//! Invariant: two neighbouring runs in the bins are never of the same kind. The pool's lock guards
//! bins and table; it is not held over a system call. Whoever maps holds the grow lock, taken
//! before the pool's, so that others still find free runs meanwhile.

use super::{
    bins::Bins,
    class::PAGE,
    span::{DETACHED, Span, SpanId, State},
    zone::ZONE,
};
use crate::{
    align,
    lock::{Held, Lock},
    memlock, sys,
};
use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Spans that one operation may take from the table.
const SPANS_PER_STEP: usize = 4;
/// Pages that may be dirty before a free sends some back at once (32 MiB).
const RETAIN_LEAST: usize = 8192;
/// The same in a locked process (4 MiB).
const RETAIN_LOCKED: usize = 1024;
/// How long pages stay dirty and unused before they go back, in milliseconds.
const DECAY_MS: u64 = 500;
/// Fewer idle pages than these (1 MiB) are not worth looking for.
const DECAY_LEAST: usize = 256;
/// A freed run above `retain` goes back at once and raises it to twice its length, and one above
/// this (32 MiB) always goes back, as with glibc's dynamic `M_MMAP_THRESHOLD`.
const RETAIN_RUN: usize = 8192;
/// `retain` at the start (1 MiB).
const RETAIN_FIRST: usize = 256;
/// Shorter dirty runs are not worth a system call.
const PURGE_LEAST: usize = 16;
/// From this length on (1 MiB) a purged run gives up its mapping, not only its pages.
const UNMAP_LEAST: usize = 256;
/// From this length on (128 KiB) a block that cannot grow in place is moved by `mremap`.
const REMAP_LEAST: usize = 32;

/// Never give memory back (`mallopt(M_TRIM_THRESHOLD, -1)`): pages, or `usize::MAX` for never;
/// zero while the dynamic rule is in force.
static TRIM_THRESHOLD: AtomicUsize = AtomicUsize::new(0);

/// What the pool's lock guards.
struct Runs {
    free: Bins,
    holes: Bins,
    /// Unused entries of the span table: a list, and all from `fresh` on.
    unused: u32,
    unused_count: usize,
    fresh: usize,
    /// Pages in `free` that may be resident.
    dirty: usize,
    /// The least that `dirty` has been since `decayed` (milliseconds): nobody missed these.
    dirty_low: usize,
    decayed: u64,
    retain: usize,
    /// Pages mapped now and at most.
    mapped: usize,
    peak: usize,
}

struct Pool {
    lock: Lock,
    grow: Lock,
    state: UnsafeCell<Runs>,
}

// SAFETY: `state` is only reached through `lock()`.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    lock: Lock::new(),
    grow: Lock::new(),
    state: UnsafeCell::new(Runs {
        free: Bins::new(),
        holes: Bins::new(),
        unused: 0,
        unused_count: 0,
        fresh: 1,
        dirty: 0,
        dirty_low: 0,
        decayed: 0,
        retain: RETAIN_FIRST,
        mapped: 0,
        peak: 0,
    }),
};

struct Locked(#[expect(dead_code, reason = "released by its drop")] Held<'static>);

impl Deref for Locked {
    type Target = Runs;
    fn deref(&self) -> &Runs {
        // SAFETY: the lock is held as long as `self` lives.
        unsafe { &*POOL.state.get() }
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Runs {
        // SAFETY: the lock is held as long as `self` lives, and `self` is borrowed once.
        unsafe { &mut *POOL.state.get() }
    }
}

fn lock() -> Locked {
    Locked(POOL.lock.lock())
}

/// The pool, with room in the table for one operation; `None` when out of memory.
fn lock_with_spans() -> Option<Locked> {
    loop {
        let pool = lock();
        if pool.spans_left() >= SPANS_PER_STEP {
            return Some(pool);
        }
        drop(pool);
        let _grow = POOL.grow.lock();
        if !ZONE.is_ready() {
            ZONE.init().ok()?;
        } else if lock().spans_left() < SPANS_PER_STEP {
            ZONE.grow_table().ok()?;
        }
    }
}

impl Runs {
    fn spans_left(&self) -> usize {
        self.unused_count + ZONE.spans().saturating_sub(self.fresh)
    }

    fn new_span(&mut self, page: u32, pages: u32, state: State) -> &'static Span {
        let span = if self.unused != 0 {
            let span = ZONE.span(SpanId(self.unused));
            self.unused = span.next.get();
            self.unused_count -= 1;
            span
        } else {
            self.fresh += 1;
            ZONE.span(SpanId((self.fresh - 1) as u32))
        };
        span.owner.set(DETACHED);
        span.page.set(page);
        span.pages.set(pages);
        span.set_kind(state, 0);
        span
    }

    fn drop_span(&mut self, span: &'static Span) {
        span.set_kind(State::Unused, 0);
        span.owner.set(DETACHED);
        span.pages.set(0);
        span.carved.set(0);
        span.next.set(self.unused);
        self.unused = ZONE.id(span).0;
        self.unused_count += 1;
    }

    fn bins(&mut self, kind: State) -> &mut Bins {
        if kind == State::Hole {
            &mut self.holes
        } else {
            &mut self.free
        }
    }

    /// The run of `kind` that ends right before, or starts right at, `page`.
    fn neighbour(&self, page: u32, kind: State, before: bool) -> Option<&'static Span> {
        let look = if before { page.checked_sub(1)? } else { page };
        let offset = look as usize * PAGE;
        if offset >= ZONE.limit() {
            return None;
        }
        // SAFETY: below the limit, checked above.
        let span = unsafe { ZONE.span_at(offset) };
        let touches = if before {
            span.end() == page
        } else {
            span.page.get() == page
        };
        (span.state() == kind && touches).then_some(span)
    }

    /// Puts a run (`Taken`, in no bin, `used` = dirty pages) into the bins as `kind` and joins it
    /// with its neighbours. Returns the joined run.
    fn insert(&mut self, span: &'static Span, kind: State) -> &'static Span {
        self.dirty += span.used.get() as usize;
        if let Some(next) = self.neighbour(span.end(), kind, false) {
            self.bins(kind).remove(next);
            self.join(span, span.page.get(), next);
        }
        if let Some(prev) = self.neighbour(span.page.get(), kind, true) {
            self.bins(kind).remove(prev);
            self.join(span, prev.page.get(), prev);
        }
        span.owner.set(DETACHED);
        span.carved.set(0);
        span.set_kind(kind, 0);
        ZONE.enter(span.page.get(), span);
        ZONE.enter(span.end() - 1, span);
        self.bins(kind).push(span);
        span
    }

    fn join(&mut self, span: &'static Span, first: u32, other: &'static Span) {
        span.pages.set(span.pages.get() + other.pages.get());
        span.page.set(first);
        span.used.set(span.used.get() + other.used.get());
        self.drop_span(other);
    }

    /// Takes `run` out of its bin.
    fn take(&mut self, run: &'static Span) {
        let kind = run.state();
        self.bins(kind).remove(run);
        self.dirty -= run.used.get() as usize;
        self.dirty_low = self.dirty_low.min(self.dirty);
        run.set_state(State::Taken);
    }

    /// Cuts a taken run after `pages` pages; the rest becomes a run of its own in the bins.
    ///
    /// How many of the dirty pages are in which part is not known: both claim as many as they can.
    fn cut(&mut self, run: &'static Span, pages: u32, kind: State) {
        let rest = run.pages.get() - pages;
        if rest == 0 {
            return;
        }
        let tail = self.new_span(run.page.get() + pages, rest, State::Taken);
        tail.used.set(run.used.get().min(rest));
        run.pages.set(pages);
        run.used.set(run.used.get().min(pages));
        self.insert(tail, kind);
    }

    /// Cuts `pages` pages that start at a multiple of `align` pages out of a taken run.
    fn cut_aligned(&mut self, run: &'static Span, pages: usize, align: usize) -> &'static Span {
        let first = ZONE.address(run.page.get());
        let lost = (align::up(first, align * PAGE).unwrap_or(first) - first) / PAGE;
        let mut run = run;
        if lost > 0 {
            let body = self.new_span(
                run.page.get() + lost as u32,
                run.pages.get() - lost as u32,
                State::Taken,
            );
            body.used.set(run.used.get().min(body.pages.get()));
            run.pages.set(lost as u32);
            run.used.set(run.used.get().min(lost as u32));
            self.insert(run, State::Free);
            run = body;
        }
        self.cut(run, pages as u32, State::Free);
        run
    }

    /// The best free run for the request, cut to size, or `None`.
    fn fit(&mut self, pages: usize, align: usize) -> Option<&'static Span> {
        let run = self.free.find(pages + align - 1)?;
        self.take(run);
        Some(self.cut_aligned(run, pages, align))
    }

    fn count_mapped(&mut self, pages: usize) {
        self.mapped += pages;
        self.peak = self.peak.max(self.mapped);
    }
}

/// A run of `pages` pages that starts at a multiple of `align` pages. `used` of the span is zero
/// exactly when the pages are known to hold zeros. `None` when out of memory.
pub fn allocate(pages: usize, align: usize) -> Option<&'static Span> {
    if let Some(run) = lock_with_spans()?.fit(pages, align) {
        return Some(run);
    }
    let _grow = POOL.grow.lock();
    loop {
        if let Some(run) = lock_with_spans_growing()?.fit(pages, align) {
            return Some(run);
        }
        grow(pages + align - 1)?;
    }
}

/// [`lock_with_spans`] for a caller that holds the grow lock.
fn lock_with_spans_growing() -> Option<Locked> {
    loop {
        let pool = lock();
        if pool.spans_left() >= SPANS_PER_STEP {
            return Some(pool);
        }
        drop(pool);
        ZONE.grow_table().ok()?;
    }
}

/// Maps memory so that a free run of `need` pages is there, in a hole or at the limit; `None` when
/// out of memory. Under the grow lock.
fn grow(need: usize) -> Option<()> {
    let mut pool = lock_with_spans_growing()?;
    let step = step(pool.mapped);
    let hole = pool.holes.find(need);
    let start = hole.map_or((ZONE.limit() / PAGE) as u32, |hole| hole.page.get());
    // A free run that ends where the new pages start is part of what is needed.
    let before = pool
        .neighbour(start, State::Free, true)
        .map_or(0, |run| run.pages.get() as usize);
    let least = need - before.min(need - 1);
    let Some(hole) = hole else {
        drop(pool);
        return grow_top(least, need, step);
    };
    pool.take(hole);
    drop(pool);
    let mut count = least.max(step).min(hole.pages.get() as usize);
    let opened = ZONE.reopen(hole.page.get(), count).or_else(|_| {
        count = least;
        ZONE.reopen(hole.page.get(), count)
    });
    let mut pool = lock_with_spans_growing()?;
    match opened {
        Ok(()) => {
            pool.cut(hole, count as u32, State::Hole);
            pool.count_mapped(count);
            pool.insert(hole, State::Free);
            Some(())
        }
        // Somebody else mapped into the hole: its addresses are lost to us.
        Err(error) if error.0 == libc::EEXIST => {
            drop(pool);
            grow_top(need, need, step)
        }
        Err(_) => {
            pool.insert(hole, State::Hole);
            None
        }
    }
}

/// Pages to open at least when the heap grows, to save system calls. In a locked process every
/// open page is resident and charged, so little is opened there.
fn step(mapped: usize) -> usize {
    if memlock::future() {
        (mapped / 32).clamp(8, 64)
    } else {
        (mapped / 8).clamp(16, 1024)
    }
}

/// Maps `least` pages at the limit, or `step` where they are to be had; `whole` if an obstacle
/// keeps them from touching the pages below.
fn grow_top(least: usize, whole: usize, step: usize) -> Option<()> {
    let end = (ZONE.limit() / PAGE) as u32;
    let mut count = least.max(step);
    let first = ZONE
        .grow(count)
        .or_else(|_| {
            count = least;
            ZONE.grow(count)
        })
        .ok()?;
    add(first, count)?;
    if first != end && count < whole {
        add(ZONE.grow(whole - count).ok()?, whole - count)?;
    }
    Some(())
}

/// Puts pages that were just mapped into the bins.
fn add(first: u32, count: usize) -> Option<()> {
    let mut pool = lock_with_spans_growing()?;
    pool.count_mapped(count);
    let run = pool.new_span(first, count as u32, State::Taken);
    run.used.set(0);
    pool.insert(run, State::Free);
    Some(())
}

/// Gives a run back.
pub fn free(run: &'static Span) {
    let pages = run.pages.get() as usize;
    let (purge, idle) = {
        let mut pool = lock();
        run.used.set(pages as u32);
        let run = pool.insert(run, State::Free);
        let purge = pool.purge_due(pages, run.pages.get() as usize).then(|| {
            pool.take(run);
            run
        });
        (purge, pool.decay_due())
    };
    if let Some(run) = purge {
        give_back(run);
    }
    if idle > 0 {
        give_back_idle(idle);
    }
}

impl Runs {
    /// Whether freeing `pages` pages should send the run around them, `whole` pages, back to the
    /// kernel. Locked pages can only be unmapped, which is done for long runs alone; but as they
    /// are charged and no decay waits for them, fewer are kept.
    fn purge_due(&mut self, pages: usize, whole: usize) -> bool {
        let locked = memlock::future();
        if whole < if locked { UNMAP_LEAST } else { PURGE_LEAST } {
            return false;
        }
        let retain = match TRIM_THRESHOLD.load(Relaxed) {
            0 => {
                if pages > RETAIN_RUN {
                    return true;
                }
                if pages > self.retain {
                    self.retain = pages * 2;
                    return true;
                }
                if locked {
                    self.retain.max(RETAIN_LOCKED).max(self.mapped / 8)
                } else {
                    (self.retain * 2).max(RETAIN_LEAST).max(self.mapped / 2)
                }
            }
            fixed => fixed,
        };
        self.dirty > retain
    }

    /// Dirty pages that nobody has needed for [`DECAY_MS`], to be given back now.
    fn decay_due(&mut self) -> usize {
        if self.dirty < DECAY_LEAST || TRIM_THRESHOLD.load(Relaxed) != 0 || memlock::future() {
            return 0;
        }
        let now = sys::coarse_ms();
        if now.wrapping_sub(self.decayed) < DECAY_MS {
            return 0;
        }
        let idle = self.dirty_low;
        self.decayed = now;
        self.dirty_low = self.dirty;
        if idle < DECAY_LEAST { 0 } else { idle }
    }
}

/// Gives dirty free runs back until `pages` of them have gone.
fn give_back_idle(mut pages: usize) {
    while pages > 0 {
        let run = {
            let mut pool = lock();
            let Some(run) = pool
                .free
                .search(|run| run.used.get() as usize >= PURGE_LEAST)
            else {
                return;
            };
            pool.take(run);
            run
        };
        pages = pages.saturating_sub(run.used.get() as usize);
        if !give_back(run) {
            return;
        }
    }
}

/// Sends the pages of a taken run back to the kernel and the run to the bins; whether they went.
///
/// Locked pages are unmapped: a page dropped from under a lock would fault when it is used again,
/// while pages that are mapped anew come populated.
fn give_back(run: &'static Span) -> bool {
    let (addr, len) = (
        ZONE.address(run.page.get()),
        run.pages.get() as usize * PAGE,
    );
    let page = align::page_size();
    if !addr.is_multiple_of(page) || !len.is_multiple_of(page) {
        lock().insert(run, State::Free);
        return false;
    }
    let keep_mapped = len < UNMAP_LEAST * PAGE && !memlock::future();
    // SAFETY: the run is taken, so its pages are ours and dead.
    let dropped = keep_mapped && unsafe { sys::advise(addr, len, libc::MADV_DONTNEED) }.is_ok();
    if dropped {
        run.used.set(0);
        lock().insert(run, State::Free);
        return true;
    }
    unmap(run)
}

/// Unmaps a taken run and puts it into the bins as a hole; as a free run if the kernel refuses.
fn unmap(run: &'static Span) -> bool {
    let pages = run.pages.get() as usize;
    // SAFETY: the run is taken, so its pages are ours and dead.
    let gone = unsafe { sys::unmap(ZONE.address(run.page.get()), pages * PAGE) }.is_ok();
    let mut pool = lock();
    if gone {
        run.used.set(0);
        pool.mapped -= pages;
    }
    pool.insert(run, if gone { State::Hole } else { State::Free });
    gone
}

/// Gives back the dirty pages of every free run but `pad` bytes of them; whether any went.
pub fn trim(pad: usize) -> bool {
    let mut any = false;
    loop {
        let run = {
            let mut pool = lock();
            if pool.dirty * PAGE <= pad {
                return any;
            }
            let Some(run) = pool.free.search(|run| run.used.get() > 0) else {
                return any;
            };
            pool.take(run);
            run
        };
        // A run that the kernel keeps would be found again at once.
        if !give_back(run) {
            return any;
        }
        any = true;
    }
}

/// Unmaps the free pages at the end of the heap, so that `mlockall` is not charged for them.
pub fn trim_top() {
    if TRIM_THRESHOLD.load(Relaxed) == usize::MAX {
        return;
    }
    let end = (ZONE.limit() / PAGE) as u32;
    let run = {
        let mut pool = lock();
        let Some(run) = pool.neighbour(end, State::Free, true) else {
            return;
        };
        pool.take(run);
        run
    };
    unmap(run);
}

/// Makes a large block's run `pages` long without moving it; whether that worked.
pub fn resize(run: &'static Span, pages: usize) -> bool {
    let Some(mut pool) = lock_with_spans() else {
        return false;
    };
    let old = run.pages.get() as usize;
    if pages <= old {
        if pages < old {
            let tail = pool.new_span(
                run.page.get() + pages as u32,
                (old - pages) as u32,
                State::Taken,
            );
            run.pages.set(pages as u32);
            drop(pool);
            free(tail);
        }
        return true;
    }
    let more = (pages - old) as u32;
    if let Some(next) = pool.neighbour(run.end(), State::Free, false) {
        if next.pages.get() >= more {
            pool.take(next);
            pool.cut(next, more, State::Free);
            pool.drop_span(next);
            run.pages.set(pages as u32);
            return true;
        }
        return false;
    }
    drop(pool);
    !prefers_copy(pages) && grow_in_place(run, more)
}

/// Whether a block that grows to `pages` pages should be copied to pages that are there already:
/// they are used without a fault, on which a locked or pooled process counts, and elsewhere if
/// there are so many that the block then grows in place.
fn prefers_copy(pages: usize) -> bool {
    let pooled = memlock::future() || TRIM_THRESHOLD.load(Relaxed) == usize::MAX;
    let wanted = if pooled { pages } else { pages * 2 };
    lock().free.find(wanted).is_some()
}

/// Maps `more` pages behind a large block where nothing is mapped.
fn grow_in_place(run: &'static Span, least: u32) -> bool {
    // Blocks mostly grow again. In a locked process every page would be resident at once.
    let spare = if memlock::future() {
        0
    } else {
        run.pages.get() / 8
    };
    grow_by(run, least.max(spare)) || spare > least && grow_by(run, least)
}

fn grow_by(run: &'static Span, more: u32) -> bool {
    let _grow = POOL.grow.lock();
    let end = run.end();
    if end as usize * PAGE == ZONE.limit() && ZONE.extend(more as usize).is_ok() {
        let _ = add_hole(end, more);
    }
    let hole = {
        let Some(mut pool) = lock_with_spans_growing() else {
            return false;
        };
        let Some(hole) = pool.neighbour(end, State::Hole, false) else {
            return false;
        };
        if hole.pages.get() < more {
            return false;
        }
        pool.take(hole);
        pool.cut(hole, more, State::Hole);
        hole
    };
    // A block that was moved keeps the kernel's mapping it had, with which what is mapped beside
    // it does not merge. Growing that mapping keeps it one, so that it can be moved again.
    let (addr, old) = (ZONE.address(run.page.get()), run.pages.get() as usize);
    // SAFETY: the block's owner gave us its run, and the pages behind it are ours to map.
    let grown = unsafe { sys::extend(addr, old * PAGE, (old + more as usize) * PAGE) };
    let mapped = grown.or_else(|_| ZONE.reopen(end, more as usize));
    let mut pool = lock();
    match mapped {
        Ok(()) => {
            pool.count_mapped(more as usize);
            pool.drop_span(hole);
            run.pages.set(run.pages.get() + more);
            true
        }
        Err(error) => {
            // Addresses that somebody else mapped are lost to us.
            if error.0 != libc::EEXIST {
                pool.insert(hole, State::Hole);
            }
            false
        }
    }
}

/// Puts addresses without memory into the bins. Under the grow lock.
fn add_hole(first: u32, pages: u32) -> Option<()> {
    let mut pool = lock_with_spans_growing()?;
    let hole = pool.new_span(first, pages, State::Taken);
    hole.used.set(0);
    pool.insert(hole, State::Hole);
    Some(())
}

/// Moves a large block to a new place of `pages` pages by moving its page table entries, with
/// free addresses behind it for the next growth. Returns the new run, or `None` if it must be
/// copied instead; the old run is then as it was.
pub fn remap(run: &'static Span, pages: usize) -> Option<&'static Span> {
    let old = run.pages.get() as usize;
    let page = align::page_size() / PAGE;
    if old < REMAP_LEAST
        || !old.is_multiple_of(page)
        || !(run.page.get() as usize).is_multiple_of(page)
    {
        return None;
    }
    if prefers_copy(pages) {
        return None;
    }
    let _grow = POOL.grow.lock();
    let room = align::up(pages, page)?;
    if lock().holes.find(room).is_none() {
        // As many addresses again stay free behind the block, so that it next grows in place.
        let first = ZONE.extend(room * 2).ok()?;
        add_hole(first, (room * 2) as u32)?;
    }
    let hole = {
        let mut pool = lock_with_spans_growing()?;
        let hole = pool.holes.find(room)?;
        pool.take(hole);
        pool.cut(hole, room as u32, State::Hole);
        hole
    };
    let (from, to) = (ZONE.address(run.page.get()), ZONE.address(hole.page.get()));
    // The kernel replaces what is at the target, so make sure that it is ours first.
    let mine = sys::map_new_at(to, room * PAGE, sys::Prot::NONE, libc::MAP_NORESERVE);
    let moved = mine.and_then(|()| {
        // SAFETY: the block's owner gave us its run, and the target was just reserved by us.
        let moved = unsafe {
            sys::remap(from, old * PAGE, room * PAGE, Some(to)).or_else(|_| {
                // The run lies in several mappings of the kernel's. Those can be moved, from
                // Linux 6.17 on, but not grown: what is more is mapped behind them, and first.
                sys::map_over(to + old * PAGE, (room - old) * PAGE, sys::Prot::RW, 0)?;
                sys::remap(from, old * PAGE, old * PAGE, Some(to))
            })
        };
        if moved.is_err() {
            // SAFETY: the reserve is ours and empty; a failed mremap may have unmapped it already.
            let _ = unsafe { sys::unmap(to, room * PAGE) };
        }
        moved
    });
    // From here on the block is at its new place: nothing below may fail.
    let mut pool = lock();
    if moved.is_err() {
        pool.insert(hole, State::Hole);
        return None;
    }
    pool.count_mapped(room - old);
    run.used.set(0);
    pool.insert(run, State::Hole);
    Some(hole)
}

/// `mallopt(M_TRIM_THRESHOLD)`: bytes of free memory to keep, `usize::MAX` for all.
pub fn set_trim_threshold(bytes: usize) {
    let pages = if bytes == usize::MAX {
        usize::MAX
    } else {
        (bytes / PAGE).max(1)
    };
    TRIM_THRESHOLD.store(pages, Relaxed);
}

/// What is mapped, in bytes, now and at most, and how many table entries were ever used.
pub struct Totals {
    pub mapped: usize,
    pub peak: usize,
    pub spans: usize,
}

pub fn totals() -> Totals {
    let pool = lock();
    Totals {
        mapped: pool.mapped * PAGE,
        peak: pool.peak * PAGE,
        spans: pool.fresh,
    }
}

/// The locks that a fork must hold, in the order in which they are taken.
pub fn locks() -> [&'static Lock; 2] {
    [&POOL.grow, &POOL.lock]
}
