//! The pool: every heap page that no arena and no large block holds, as runs that coalesce.
//!
//! It gives runs to arenas (as spans) and to large blocks, so what one frees serves the other,
//! grows the heap by mapping exactly what is opened, and gives memory back to the kernel.
//! Invariant: two neighbouring runs in the bins are never of the same kind. The pool's lock guards
//! bins and table; it is not held over a system call. Whoever maps holds the grow lock, taken
//! before the pool's, so that others still find free runs meanwhile.

use super::{
    bins::{Ages, Bins},
    class::PAGE,
    span::{DETACHED, Span, SpanId, State},
    zone::ZONE,
};
use crate::{
    align,
    lock::{Held, Lock},
    memlock,
    sys::{self, Errno, Result},
};
use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Spans that one operation may take from the table.
const SPANS_PER_STEP: usize = 8;
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
/// Shorter dirty runs are not worth a system call, unless `malloc_trim` asks.
const PURGE_LEAST: usize = 16;
/// Pages beyond a fixed `M_TRIM_THRESHOLD` that are kept (128 KiB, glibc's `M_TOP_PAD`).
const TOP_PAD: usize = 32;
/// From this length on (1 MiB) a purged run gives up its mapping, not only its pages.
const UNMAP_LEAST: usize = 256;
/// Shorter runs give up their mapping only while there are fewer holes than this: each may cost
/// the process one more mapping of those that `vm.max_map_count` allows.
const HOLES_MOST: usize = 1024;
/// Idle runs that one free gives back at most.
const IDLE_PER_FREE: usize = 8;
/// How many obstacles at the limit are stepped over before growing fails.
const OBSTACLES: usize = 64;
/// The part of a block that it may have beyond what was asked for, if it grew or shrank.
pub const SPARE: u32 = 8;
/// From this length on (128 KiB) a block that cannot grow in place is moved by `mremap`.
const REMAP_LEAST: usize = 32;

/// Never give memory back (`mallopt(M_TRIM_THRESHOLD, -1)`): pages, or `usize::MAX` for never;
/// zero while the dynamic rule is in force.
static TRIM_THRESHOLD: AtomicUsize = AtomicUsize::new(0);

/// What the pool's lock guards.
struct Runs {
    free: Bins,
    holes: Bins,
    /// The free runs with dirty pages: those with at least [`PURGE_LEAST`], and the others.
    long: Ages,
    short: Ages,
    /// Unused entries of the span table: a list, and all from `fresh` on.
    unused: u32,
    unused_count: usize,
    fresh: usize,
    /// Pages in `free` that may be resident, and those of them that are in `long`.
    dirty: usize,
    dirty_long: usize,
    /// Pages in free runs of at least [`UNMAP_LEAST`].
    unmappable: usize,
    /// The least that `dirty` has been since `decayed` (milliseconds): nobody missed these.
    dirty_low: usize,
    decayed: u64,
    /// Dirty pages that the frees to come give back.
    idle: usize,
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
        long: Ages::new(),
        short: Ages::new(),
        unused: 0,
        unused_count: 0,
        fresh: 1,
        dirty: 0,
        dirty_long: 0,
        unmappable: 0,
        dirty_low: 0,
        decayed: 0,
        idle: 0,
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

/// The pool, with room in the table for one operation, and as much again for the thread that
/// grows the heap at the moment; `None` when out of memory.
fn lock_with_spans() -> Option<Locked> {
    loop {
        let pool = lock();
        if pool.spans_left() >= 2 * SPANS_PER_STEP {
            return Some(pool);
        }
        drop(pool);
        let _grow = POOL.grow.lock();
        if !ZONE.is_ready() {
            ZONE.init().ok()?;
        } else if lock().spans_left() < 2 * SPANS_PER_STEP {
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
        span.reset(state);
        span
    }

    fn drop_span(&mut self, span: &'static Span) {
        span.reset(State::Unused);
        span.owner.set(DETACHED);
        span.pages.set(0);
        span.bound.set(0);
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

    /// Puts a run into the lists of its state.
    fn list(&mut self, run: &'static Span) {
        self.bins(run.state()).push(run);
        if run.state() == State::Free && run.pages.get() as usize >= UNMAP_LEAST {
            self.unmappable += run.pages.get() as usize;
        }
        let dirty = run.used.get() as usize;
        self.dirty += dirty;
        match dirty {
            0 => {}
            PURGE_LEAST.. => {
                self.dirty_long += dirty;
                self.long.push(run);
            }
            _ => self.short.push(run),
        }
    }

    /// Takes a run out of the lists of its state.
    fn unlist(&mut self, run: &'static Span) {
        self.bins(run.state()).remove(run);
        if run.state() == State::Free && run.pages.get() as usize >= UNMAP_LEAST {
            self.unmappable -= run.pages.get() as usize;
        }
        let dirty = run.used.get() as usize;
        self.dirty -= dirty;
        match dirty {
            0 => {}
            PURGE_LEAST.. => {
                self.dirty_long -= dirty;
                self.long.remove(run);
            }
            _ => self.short.remove(run),
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
        if let Some(next) = self.neighbour(span.end(), kind, false) {
            self.unlist(next);
            self.join(span, span.page.get(), next);
        }
        if let Some(prev) = self.neighbour(span.page.get(), kind, true) {
            self.unlist(prev);
            self.join(span, prev.page.get(), prev);
        }
        span.owner.set(DETACHED);
        span.bound.set(0);
        span.reset(kind);
        ZONE.enter(span.page.get(), span);
        ZONE.enter(span.end() - 1, span);
        self.list(span);
        span
    }

    fn join(&mut self, span: &'static Span, first: u32, other: &'static Span) {
        span.pages.set(span.pages.get() + other.pages.get());
        span.page.set(first);
        span.used.set(span.used.get() + other.used.get());
        self.drop_span(other);
    }

    /// Takes `run` out of the lists.
    fn take(&mut self, run: &'static Span) {
        self.unlist(run);
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

    /// Cuts the first `pages` pages off a taken run, as `kind`, and returns what remains.
    fn cut_front(&mut self, run: &'static Span, pages: u32, kind: State) -> &'static Span {
        let body = self.new_span(
            run.page.get() + pages,
            run.pages.get() - pages,
            State::Taken,
        );
        body.used.set(run.used.get().min(body.pages.get()));
        run.pages.set(pages);
        run.used.set(run.used.get().min(pages));
        self.insert(run, kind);
        body
    }

    /// Cuts `pages` pages that start at a multiple of `align` pages out of a taken run that has
    /// them; the rest is free.
    fn cut_aligned(&mut self, run: &'static Span, pages: usize, align: usize) -> &'static Span {
        let lead = lead(run.page.get(), align) as u32;
        let run = if lead > 0 {
            self.cut_front(run, lead, State::Free)
        } else {
            run
        };
        self.cut(run, pages as u32, State::Free);
        run
    }

    /// The best free run for the request, cut to size, or `None`.
    fn fit(&mut self, pages: usize, align: usize) -> Option<&'static Span> {
        let run = self.free.find(pages + align - 1)?;
        self.take(run);
        Some(self.cut_aligned(run, pages, align))
    }

    /// Undoes the taking of a free run and of a hole, which may be empty.
    fn put_back(&mut self, before: Option<&'static Span>, hole: &'static Span) {
        if let Some(before) = before {
            self.insert(before, State::Free);
        }
        if hole.pages.get() == 0 {
            self.drop_span(hole);
        } else {
            self.insert(hole, State::Hole);
        }
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
    // Another thread may have grown the heap meanwhile.
    if let Some(run) = lock_with_spans_growing()?.fit(pages, align) {
        return Some(run);
    }
    grow(pages, align)
}

/// [`lock_with_spans`] for a caller that holds the grow lock: the room is still there when it
/// takes the pool's lock again.
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

/// Maps memory for a run as [`allocate`] returns it, in a hole or at the limit; `None` when out
/// of memory. Under the grow lock.
fn grow(pages: usize, align: usize) -> Option<&'static Span> {
    // The kernel's pages may be larger than the heap's: holes start and end at theirs.
    let align = align.max(if align > 1 { unit() } else { 1 });
    let mut pool = lock_with_spans_growing()?;
    if let Some(hole) = pool.holes.find(pages + align - 1) {
        pool.take(hole);
        if let Ok(run) = open(pool, hole, false, pages, align) {
            return Some(run);
        }
    } else {
        drop(pool);
    }
    // Also if the hole failed since it would be one mapping more than the process may have: what
    // is mapped at the limit merges with what is mapped below.
    let mut skip = 0;
    for _ in 0..OBSTACLES {
        ZONE.extend(skip).ok()?;
        match grow_top(pages, align) {
            Ok(run) => return Some(run),
            Err(Errno(libc::EEXIST)) => skip = skip * 2 + UNMAP_LEAST,
            Err(_) => return None,
        }
    }
    None
}

/// [`grow`] at the limit; `EEXIST` if somebody else has mapped memory there.
fn grow_top(pages: usize, align: usize) -> Result<&'static Span> {
    let mut pool = lock_with_spans_growing().ok_or(Errno(libc::ENOMEM))?;
    let limit = (ZONE.limit() / PAGE) as u32;
    let hole = match pool.neighbour(limit, State::Hole, true) {
        Some(hole) => {
            pool.take(hole);
            hole
        }
        None => pool.new_span(limit, 0, State::Taken),
    };
    hole.used.set(0);
    open(pool, hole, true, pages, align)
}

/// Maps memory in a taken hole, which may go on beyond the limit if it is `at_limit`, and cuts a
/// run as [`allocate`] returns it from that and from a free run right before the hole. Nothing has
/// changed on failure, but for `EEXIST`: if somebody else has mapped memory into the hole, its
/// addresses are lost to us. Under the grow lock.
fn open(
    mut pool: Locked,
    hole: &'static Span,
    at_limit: bool,
    pages: usize,
    align: usize,
) -> Result<&'static Span> {
    let start = hole.page.get();
    let before = pool.neighbour(start, State::Free, true);
    let before = before.filter(|_| align == 1).inspect(|run| pool.take(run));
    let have = before.map_or(0, |run| run.pages.get() as usize);
    if let Some(before) = before
        && have >= pages
    {
        // Another thread's free made it long enough.
        pool.put_back(None, hole);
        pool.cut(before, pages as u32, State::Free);
        return Ok(before);
    }
    // What alignment skips is opened too, unless it is worth a hole of its own.
    let lead = lead(start, align);
    let skipped = if lead < UNMAP_LEAST { 0 } else { lead };
    let least = whole(lead + pages - have - skipped);
    let room = if at_limit {
        usize::MAX
    } else {
        hole.pages.get() as usize - skipped
    };
    let mut count = least.max(step(pool.mapped)).min(room);
    if align > 1 {
        count = least;
    }
    drop(pool);
    let first = start + skipped as u32;
    let mut opened = ZONE.reopen(first, count);
    if opened.is_err() && count > least {
        count = least;
        opened = ZONE.reopen(first, count);
    }
    let end = hole.end().max(first + count as u32);
    if opened.is_ok() && end > hole.end() {
        // Only now, since a request that cannot be had must not cost a part of the map.
        opened = ZONE.extend((end - hole.end()) as usize).map(drop);
        if opened.is_err() {
            // SAFETY: just mapped here, and nobody knows of it.
            let _ = unsafe { sys::unmap(ZONE.address(first), count * PAGE) };
        }
    }
    let mut pool = lock();
    match opened {
        Ok(()) => {
            pool.count_mapped(count);
            let mut run = hole;
            run.pages.set(end - start);
            if skipped > 0 {
                run = pool.cut_front(run, skipped as u32, State::Hole);
            }
            pool.cut(run, count as u32, State::Hole);
            if let Some(before) = before {
                pool.join(run, before.page.get(), before);
            }
            Ok(pool.cut_aligned(run, pages, align))
        }
        Err(error) => {
            if error == Errno(libc::EEXIST) {
                hole.pages.set(0);
            }
            pool.put_back(before, hole);
            Err(error)
        }
    }
}

/// How many pages lie between `page` and the next that starts at a multiple of `align` pages.
fn lead(page: u32, align: usize) -> usize {
    let first = ZONE.address(page);
    (align::up(first, align * PAGE).unwrap_or(first) - first) / PAGE
}

/// How many pages of the heap one page of the kernel's is.
fn unit() -> usize {
    align::page_size() / PAGE
}

/// `pages`, rounded up to whole pages of the kernel's.
fn whole(pages: usize) -> usize {
    pages.next_multiple_of(unit())
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
        pool.decay();
        (purge, pool.idle > 0)
    };
    if let Some(run) = purge {
        give_back(run);
    }
    if idle {
        give_back_idle();
    }
}

impl Runs {
    /// Whether freeing `pages` pages should send the run around them, `whole` pages, back to the
    /// kernel at once. Where too much is free otherwise, the frees to come give back the oldest.
    ///
    /// Locked pages can only be unmapped, which is done for long runs alone; but as they are charged
    /// and no decay waits for them, fewer are kept.
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
            // glibc keeps its M_TOP_PAD when it trims.
            fixed => fixed.saturating_add(TOP_PAD),
        };
        if locked {
            return self.unmappable > retain;
        }
        if self.dirty_long > retain {
            self.idle = self.idle.max(self.dirty_long - retain);
        }
        false
    }

    /// Notes how many dirty pages nobody has needed for [`DECAY_MS`].
    fn decay(&mut self) {
        if self.dirty < DECAY_LEAST || TRIM_THRESHOLD.load(Relaxed) != 0 || memlock::future() {
            return;
        }
        let now = sys::coarse_ms();
        if now.wrapping_sub(self.decayed) < DECAY_MS {
            return;
        }
        let idle = self.dirty_low;
        self.decayed = now;
        self.dirty_low = self.dirty;
        if idle >= DECAY_LEAST {
            self.idle = self.idle.max(idle);
        }
    }

    /// Takes the run that has been free for the longest time, of those with [`PURGE_LEAST`] dirty
    /// pages if there is one, and else, if `any`, of those with fewer.
    fn take_oldest(&mut self, any: bool) -> Option<&'static Span> {
        let short = self.short.oldest().filter(|_| any);
        let run = self.long.oldest().or(short)?;
        self.take(run);
        Some(run)
    }
}

/// Gives back some of the pages that nobody needed.
fn give_back_idle() {
    for _ in 0..IDLE_PER_FREE {
        let run = {
            let mut pool = lock();
            if pool.idle == 0 {
                return;
            }
            let Some(run) = pool.take_oldest(false) else {
                pool.idle = 0;
                return;
            };
            let most = pool.idle.max(UNMAP_LEAST) as u32;
            if run.pages.get() > most && pool.spans_left() > SPANS_PER_STEP {
                pool.cut(run, most, State::Free);
            }
            pool.idle = pool.idle.saturating_sub(run.used.get() as usize);
            run
        };
        give_back(run);
    }
}

/// Sends the pages of a taken run back to the kernel and the run to the bins; whether they went.
///
/// Locked pages are refused by the kernel here, and rightly: a page dropped from under a lock
/// would fault when it is used again, while pages that are mapped anew come populated.
fn give_back(run: &'static Span) -> bool {
    let (first, pages) = (run.page.get() as usize, run.pages.get() as usize);
    let (addr, len) = (ZONE.address(run.page.get()), pages * PAGE);
    // SAFETY: the run is taken, so its pages are ours and dead.
    if pages >= UNMAP_LEAST && unsafe { sys::unmap(addr, len) }.is_ok() {
        run.used.set(0);
        let mut pool = lock();
        pool.mapped -= pages;
        pool.insert(run, State::Hole);
        return true;
    }
    let whole = first.is_multiple_of(unit()) && pages.is_multiple_of(unit());
    // SAFETY: the run is taken, so its pages are ours and dead.
    let gone = whole && unsafe { sys::advise(addr, len, libc::MADV_DONTNEED) }.is_ok();
    if gone {
        run.used.set(0);
    }
    lock().insert(run, State::Free);
    gone
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

/// Gives back the pages of every free run but `pad` bytes of them; whether any went.
pub fn trim(pad: usize) -> bool {
    if memlock::future() {
        return unmap_longest(1, pad);
    }
    let mut any = false;
    // What the kernel refuses comes back as the youngest, so each is tried once.
    let tries = {
        let pool = lock();
        pool.long.count() + pool.short.count()
    };
    for _ in 0..tries {
        let run = {
            let mut pool = lock();
            let more = pool.dirty * PAGE > pad;
            more.then(|| pool.take_oldest(true)).flatten()
        };
        let Some(run) = run else {
            break;
        };
        any |= give_back(run);
    }
    // Pages under a lock of the program's own can only be unmapped.
    let left = lock().dirty * PAGE > pad;
    unmap_longest(if left { 1 } else { UNMAP_LEAST }, pad) || any
}

/// [`trim`] where memory is needed for something else: of what the program wants to keep
/// (`M_TRIM_THRESHOLD`) nothing is taken.
pub fn make_room() {
    match TRIM_THRESHOLD.load(Relaxed) {
        usize::MAX => {}
        pages => {
            trim(pages * PAGE);
        }
    }
}

/// Unmaps free runs of at least `least` pages, the longest first, until `pad` bytes are free or
/// there are [`HOLES_MOST`] holes (and then those from [`UNMAP_LEAST`] on); whether any went.
fn unmap_longest(least: usize, pad: usize) -> bool {
    let mut any = false;
    loop {
        let run = {
            let mut pool = lock();
            let least = if pool.holes.count() < HOLES_MOST {
                least
            } else {
                UNMAP_LEAST
            };
            let over = pool.free.pages().saturating_sub(pad.div_ceil(PAGE));
            let Some(run) = pool.free.longest() else {
                return any;
            };
            let len = over.min(run.pages.get() as usize) / unit() * unit();
            if len < least {
                return any;
            }
            pool.take(run);
            if pool.spans_left() > SPANS_PER_STEP {
                pool.cut(run, len as u32, State::Free);
            }
            run
        };
        if !unmap(run) {
            return any;
        }
        any = true;
    }
}

/// Unmaps what is free, so that `mlockall` neither locks nor is charged for it: but for what the
/// program wants to keep (`M_TRIM_THRESHOLD`) all of it at the end of the heap, and elsewhere what
/// is worth a system call.
pub fn trim_idle() {
    let keep = TRIM_THRESHOLD.load(Relaxed);
    let end = (ZONE.limit() / PAGE) as u32;
    let top = {
        let mut pool = lock();
        let top = pool.neighbour(end, State::Free, true);
        top.filter(|_| keep == 0).inspect(|run| pool.take(run))
    };
    if let Some(top) = top {
        unmap(top);
    }
    unmap_longest(PURGE_LEAST, keep.saturating_mul(PAGE));
    lower_limit();
}

/// Gives up what no longer needs to be mapped of the page map: for the hole at the limit, if any.
fn lower_limit() {
    let _grow = POOL.grow.lock();
    let mut pool = lock();
    let limit = (ZONE.limit() / PAGE) as u32;
    if let Some(hole) = pool.neighbour(limit, State::Hole, true) {
        pool.take(hole);
        ZONE.lower(hole.page.get());
        hole.pages.set(0);
        pool.drop_span(hole);
    }
    drop(pool);
    ZONE.close_map(0);
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
        let there = next.pages.get();
        if there >= more {
            pool.take(next);
            pool.cut(next, more.max(spare(run)).min(there), State::Free);
            run.pages.set(run.pages.get() + next.pages.get());
            pool.drop_span(next);
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
    let spare = spare(run);
    grow_by(run, least.max(spare)) || spare > least && grow_by(run, least)
}

/// Pages that a block which grows gets at once, since it mostly grows again. In a locked process
/// every page is resident, so there it gets what it asks for.
fn spare(run: &Span) -> u32 {
    if memlock::future() {
        0
    } else {
        run.pages.get() / SPARE
    }
}

fn grow_by(run: &'static Span, more: u32) -> bool {
    let _grow = POOL.grow.lock();
    let more = whole(more as usize) as u32;
    let end = run.end();
    let hole = {
        let Some(mut pool) = lock_with_spans_growing() else {
            return false;
        };
        let hole = pool.neighbour(end, State::Hole, false);
        let have = hole.map_or(0, |hole| hole.pages.get());
        if have < more && (end + have) as usize * PAGE != ZONE.limit() {
            return false;
        }
        hole.inspect(|hole| {
            pool.take(hole);
            pool.cut(hole, more.min(have), State::Hole);
        })
    };
    // A block that was moved keeps the kernel's mapping it had, with which what is mapped beside
    // it does not merge. Growing that mapping keeps it one, so that it can be moved again.
    let (addr, old) = (ZONE.address(run.page.get()), run.pages.get() as usize);
    // SAFETY: the block's owner gave us its run, and the pages behind it are ours to map.
    let grown = unsafe { sys::extend(addr, old * PAGE, (old + more as usize) * PAGE) };
    let mut mapped = grown.or_else(|_| ZONE.reopen(end, more as usize));
    let over = ((end + more) as usize).saturating_sub(ZONE.limit() / PAGE);
    if mapped.is_ok() && over > 0 {
        mapped = ZONE.extend(over).map(drop);
        if mapped.is_err() {
            // SAFETY: just mapped here, and nobody knows of it.
            let _ = unsafe { sys::unmap(ZONE.address(end), more as usize * PAGE) };
        }
    }
    let mut pool = lock();
    if let Some(hole) = hole {
        // Addresses that somebody else mapped are lost to us.
        if matches!(mapped, Ok(()) | Err(Errno(libc::EEXIST))) {
            hole.pages.set(0);
        }
        pool.put_back(None, hole);
    }
    if mapped.is_ok() {
        pool.count_mapped(more as usize);
        run.pages.set(run.pages.get() + more);
    }
    mapped.is_ok()
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
    let room = whole(pages);
    let (hole, at_limit) = target(room, room - old)?;
    // As many addresses again stay free behind the block, so that it next grows in place.
    let ready = if at_limit { room * 2 } else { 0 };
    let map = ZONE.map_open();
    let (from, to) = (ZONE.address(run.page.get()), ZONE.address(hole.page.get()));
    let moved = ZONE.prepare(ready).and_then(|()| {
        // SAFETY: the block's owner gave us its run, and the target is ours and empty. (A run in
        // several mappings of the kernel's is refused as a whole, since it is to grow.)
        unsafe { sys::remap(from, old * PAGE, room * PAGE, Some(to)) }
    });
    if moved.is_err() {
        // SAFETY: the target is ours and empty; a failed mremap may have unmapped it already.
        let _ = unsafe { sys::unmap(to, room * PAGE) };
        ZONE.close_map(map);
        lock().put_back(None, hole);
        return None;
    }
    // From here on the block is at its new place: nothing below may fail.
    if at_limit {
        let _ = ZONE.extend(ready);
        hole.pages.set(ready as u32);
    }
    let mut pool = lock();
    if at_limit {
        pool.cut(hole, room as u32, State::Hole);
    }
    pool.count_mapped(room - old);
    run.used.set(0);
    pool.insert(run, State::Hole);
    Some(hole)
}

/// A taken hole of `room` pages that is safe to move a block to which grows by `more` pages; if there
/// is none in the heap, one without pages at the limit, and true. Under the grow lock.
fn target(room: usize, more: usize) -> Option<(&'static Span, bool)> {
    let mut pool = lock_with_spans_growing()?;
    let found = pool.holes.find(room);
    let hole = match found {
        Some(hole) => {
            pool.take(hole);
            pool.cut(hole, room as u32, State::Hole);
            hole
        }
        None => pool.new_span((ZONE.limit() / PAGE) as u32, 0, State::Taken),
    };
    hole.used.set(0);
    drop(pool);
    let safe = reserve(ZONE.address(hole.page.get()), room * PAGE, more * PAGE);
    if let Err(error) = safe {
        if error == Errno(libc::EEXIST) {
            // Somebody else's: these addresses are lost to us.
            hole.pages.set(0);
        }
        lock().put_back(None, hole);
        return None;
    }
    Some((hole, found.is_none()))
}

/// Makes sure that nobody else has mapped memory where a block is to be moved that grows by `more`
/// bytes, since `mremap` replaces what is at its target: by mapping it, which keeps it so.
///
/// Where the old and the new block together pass the limit of address space (`RLIMIT_AS`) and what
/// is more alone does not, the target is looked at part by part; then only a thread that maps at an
/// address of its own choice in this very moment can be overlooked.
fn reserve(at: usize, len: usize, more: usize) -> Result<()> {
    let map = |at, len| sys::map_new_at(at, len, sys::Prot::NONE, libc::MAP_NORESERVE);
    let all = map(at, len);
    if all != Err(Errno(libc::ENOMEM)) {
        return all;
    }
    let probe = sys::map(more, sys::Prot::NONE, libc::MAP_NORESERVE)?;
    // SAFETY: just mapped here.
    unsafe { sys::unmap(probe, more) }?;
    let part = unit() * UNMAP_LEAST * PAGE;
    (at..at + len).step_by(part).try_for_each(|start| {
        let len = part.min(at + len - start);
        map(start, len)?;
        // SAFETY: just mapped here.
        unsafe { sys::unmap(start, len) }
    })
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

/// In the child of a fork, before the locks are reset.
pub fn before_reset_in_child() {
    if POOL.grow.is_anothers() {
        ZONE.recount();
    }
}
