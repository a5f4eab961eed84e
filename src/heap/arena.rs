//! An arena: the small blocks of one thread.
//!
//! Each class allocates from its *current* span; spans with free blocks wait in the class's
//! partial list, full ones in none. A free into any of these but a full one is a push on the
//! span's own list, without atomic read-modify-write. A free into a full span, and blocks that
//! other threads send home, are not where the next `malloc` looks: they set `have_fastchunks`,
//! and the slow road of `malloc` loads it, and only if it is set clears it and sweeps.
//!
//! Invariant: only the thread that owns the arena (or, for an arena without a thread, the holder
//! of the registry's lock) touches anything but `inbox` and `have_fastchunks`; those two belong
//! to everybody.

use super::{
    block::{self, Block},
    class::{self, CLASSES, DIRECT, MAX_DIRECT, PAGE},
    outbox::Outbox,
    pool, registry,
    span::{CURRENT_USED, DETACHED, Span, SpanId, State},
    zone::{View, ZONE},
};
use crate::{
    atomic::{HintFlag, Plain32, PlainPtr},
    memlock,
};
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    compiler_fence,
};

/// A class gets about one page more at a time for so many that it has: what it has and does not use
/// stays small beside what it uses.
const SPAN_SHARE: usize = 2;
/// Bytes to which the spans of a class grow in a locked process.
const LOCKED_SPAN: usize = 8 << 10;

/// Wholly free spans that an arena keeps for its next need, and their pages in all.
const KEEP_SPANS: u32 = 4;
const KEEP_PAGES: u32 = 32;

/// Runs of large blocks up to so many pages (64 KiB) are kept for the next block of that length, at
/// most so many pages in all (256 KiB): only their own thread can use them.
pub const KEEP_RUN: usize = 16;
const KEEP_RUNS: u32 = 64;

/// What other threads write, on a cache line of its own.
#[repr(C, align(64))]
struct Inbox {
    /// Blocks freed by other threads: a chain through the blocks.
    blocks: AtomicUsize,
    have_fastchunks: HintFlag,
}

/// What the fast roads read of an arena.
#[repr(C, align(64))]
pub struct Front {
    pub view: View,
    /// The current span for each multiple of 16 bytes up to [`MAX_DIRECT`].
    pub direct: [PlainPtr<Span>; DIRECT],
}

/// What stands for a current span where there is none: it has nothing free.
static NONE: Span = Span::none();
const NO_SPAN: *mut Span = &raw const NONE as *mut Span;

/// What stands for an arena in a thread that has none.
pub static NO_ARENA: Front = Front {
    view: View::none(),
    direct: [const { PlainPtr::new(NO_SPAN) }; DIRECT],
};

#[repr(C, align(64))]
pub struct Arena {
    front: Front,
    /// The current span of each class.
    current: [PlainPtr<Span>; CLASSES],
    /// Heads of the partial lists.
    partial: [Plain32; CLASSES],
    /// Pages of the spans of each class.
    held: [Plain32; CLASSES],
    /// Spans carved so far, which gives each a key of its own.
    keys: Plain32,
    /// Head of the list of unswept spans, and pages of those that are wholly free.
    unswept: Plain32,
    unswept_pages: Plain32,
    /// Wholly free spans kept, their number and their pages.
    empties: Plain32,
    empty_spans: Plain32,
    empty_pages: Plain32,
    /// Heads of the lists of kept runs by length in pages, and their pages in all.
    runs: [Plain32; KEEP_RUN + 1],
    run_pages: Plain32,
    /// Not zero while the owner changes lists: a child forked meanwhile must not use the arena.
    busy: Plain32,
    /// Not zero while no thread owns the arena (registry's lock).
    pub abandoned: Plain32,
    /// Links of the registry's lists.
    pub next_all: PlainPtr<Arena>,
    pub next_abandoned: PlainPtr<Arena>,
    outbox: Outbox,
    inbox: Inbox,
}

const _: () = assert!(size_of::<Arena>() <= PAGE);

/// Marks the arena as being changed until dropped.
struct Busy<'a>(&'a Arena);

impl<'a> Busy<'a> {
    fn new(arena: &'a Arena) -> Self {
        arena.busy.set(arena.busy.get() + 1);
        compiler_fence(AcqRel);
        Self(arena)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        compiler_fence(AcqRel);
        self.0.busy.set(self.0.busy.get() - 1);
    }
}

impl Arena {
    /// A new arena in a page of its own.
    pub fn create() -> Option<&'static Self> {
        let run = pool::allocate(size_of::<Self>().div_ceil(PAGE), 1)?;
        run.reset(State::Own);
        let address = ZONE.address(run.page.get()) as *mut Self;
        // SAFETY: the run is ours, large enough, page aligned, and nobody knows of it; all-zero
        // bytes are a valid arena, whose spans are then set to the one that stands for none.
        let arena = unsafe {
            address.write_bytes(0, 1);
            &*address
        };
        let slots = arena.front.direct.iter().chain(&arena.current);
        slots.for_each(|slot| slot.set(NO_SPAN));
        Some(arena)
    }

    pub fn address(&self) -> usize {
        self as *const Self as usize
    }

    /// Brings the arena's view of the zone up to date.
    pub fn refresh(&self) {
        self.front.view.copy_from(ZONE.view());
    }

    pub fn is_busy(&self) -> bool {
        self.busy.get() != 0
    }

    /// A block of `class`, by the slow road; when out of memory of a larger class whose blocks are
    /// aligned to `align` bytes too. `None` when there is none either.
    #[cold]
    #[inline(never)]
    pub fn allocate(&self, class: usize, align: usize) -> Option<usize> {
        let _busy = Busy::new(self);
        if let Some(block) = self.take(class, true) {
            return Some(block);
        }
        // Out of memory: what the hint missed, and what waits to go home, may still help.
        self.tidy();
        registry::tidy_abandoned();
        self.take(class, true).or_else(|| {
            (class + 1..CLASSES)
                .filter(|&larger| class::size_of(larger).is_multiple_of(align))
                .find_map(|larger| self.take(larger, false))
        })
    }

    /// A block from a span of this class; from a new span only if `grow`.
    fn take(&self, class: usize, grow: bool) -> Option<usize> {
        loop {
            // SAFETY: current spans come from the table and are never unmapped.
            let span = unsafe { &*self.current[class].get() };
            if let Some(block) = pop(span) {
                return Some(block);
            }
            if span.state() == State::Current {
                if carve(span) {
                    continue;
                }
                self.set_current(class, NO_SPAN);
                self.detach(span);
            }
            let span = match self.partial_span(class) {
                Some(span) => span,
                None if grow => self.fresh_span(class)?,
                None => return None,
            };
            self.attach(class, span);
        }
    }

    /// A span of `class` with room that the arena has, in no list and not counted as current.
    fn partial_span(&self, class: usize) -> Option<&'static Span> {
        loop {
            let id = self.partial[class].get();
            if id != 0 {
                let span = ZONE.span(SpanId(id));
                self.unlink(class, span);
                return Some(span);
            }
            if !self.inbox.have_fastchunks.is_set() {
                return None;
            }
            self.sweep();
        }
    }

    fn fresh_span(&self, class: usize) -> Option<&'static Span> {
        let first = class::first_pages(class);
        // In a locked process all of a span is resident at once, whether it is ever used or not.
        let most = if memlock::future() {
            LOCKED_SPAN / PAGE
        } else {
            usize::MAX
        };
        let held = self.held[class].get() as usize;
        let want = class::span_pages(class, (held / SPAN_SHARE).min(most));
        let run = match self.take_empty(want) {
            Some(run) => run,
            None => pool::allocate(want, 1).or_else(|| pool::allocate(first, 1))?,
        };
        self.refresh();
        self.held[class].set(self.held[class].get() + run.pages.get());
        self.keys.set(self.keys.get().wrapping_add(1));
        run.free.set(0);
        run.used.set(0);
        run.key.set(block::key(self.address(), self.keys.get()));
        run.less_start
            .set((ZONE.address(run.page.get()) as u32).wrapping_neg());
        run.owner.set(self.address());
        (run.page.get()..run.end()).for_each(|page| ZONE.enter(page, run));
        run.set_class(State::Partial, class);
        Some(run)
    }

    /// Makes `span` the current one of its class.
    fn attach(&self, class: usize, span: &'static Span) {
        span.set_state(State::Current);
        span.used.set(CURRENT_USED);
        self.set_current(class, span as *const Span as *mut Span);
    }

    fn set_current(&self, class: usize, span: *mut Span) {
        self.current[class].set(span);
        let size = class::size_of(class);
        if size <= MAX_DIRECT {
            let below = if class == 0 {
                0
            } else {
                class::direct_index(class::size_of(class - 1)) + 1
            };
            self.front.direct[below..=class::direct_index(size)]
                .iter()
                .for_each(|slot| slot.set(span));
        }
    }

    /// Takes a span that was current until now out of use.
    fn detach(&self, span: &'static Span) {
        span.used.set(span.in_use());
        span.set_state(State::Full);
        span.owner.set(self.address() | DETACHED);
    }

    fn link(&self, span: &'static Span) {
        let class = span.class();
        let head = self.partial[class].get();
        let id = ZONE.id(span).0;
        span.prev.set(0);
        span.next.set(head);
        if head != 0 {
            ZONE.span(SpanId(head)).prev.set(id);
        }
        self.partial[class].set(id);
        span.set_state(State::Partial);
        span.owner.set(self.address());
    }

    fn unlink(&self, class: usize, span: &'static Span) {
        let (prev, next) = (span.prev.get(), span.next.get());
        if prev == 0 {
            self.partial[class].set(next);
        } else {
            ZONE.span(SpanId(prev)).next.set(next);
        }
        if next != 0 {
            ZONE.span(SpanId(next)).prev.set(prev);
        }
    }

    /// Whether a span in a partial list is alone there and so kept, as a thread may need it.
    fn is_only(&self, span: &'static Span) -> bool {
        self.abandoned.get() == 0
            && span.next.get() == 0
            && self.partial[span.class()].get() == ZONE.id(span).0
    }

    /// Frees a block of a full span of this arena.
    pub fn free_into_full(&self, span: &'static Span, block: Block) {
        let _busy = Busy::new(self);
        push(span, block);
        self.wait_for_sweep(span);
    }

    fn wait_for_sweep(&self, span: &'static Span) {
        span.next.set(self.unswept.get());
        span.set_state(State::Unswept);
        span.owner.set(self.address());
        self.unswept.set(ZONE.id(span).0);
        self.inbox.have_fastchunks.set();
    }

    /// Frees a block whose home is another arena.
    pub fn send(&self, home: &'static Arena, block: Block, size: usize) {
        let _busy = Busy::new(self);
        self.outbox.push(home, block, size);
    }

    /// Takes a chain of freed blocks from another thread: one atomic exchange for all of it, tried
    /// again where two threads post at once.
    ///
    /// `last` is the chain's last block; its link is overwritten.
    pub fn post(&self, first: usize, last: Block) {
        let mut head = self.inbox.blocks.load(Relaxed);
        loop {
            last.link(head);
            match self
                .inbox
                .blocks
                .compare_exchange_weak(head, first, Release, Relaxed)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.inbox.have_fastchunks.set();
    }

    /// Consolidates: own spans that were full, then the blocks that other threads sent home.
    pub fn sweep(&self) {
        let _busy = Busy::new(self);
        self.inbox.have_fastchunks.clear();
        let mut id = self.unswept.get();
        self.unswept.set(0);
        self.unswept_pages.set(0);
        while id != 0 {
            let span = ZONE.span(SpanId(id));
            id = span.next.get();
            self.settle(span);
        }
        if self.inbox.blocks.load(Relaxed) == 0 {
            return;
        }
        let mut next = self.inbox.blocks.swap(0, Acquire);
        while next != 0 {
            // SAFETY: the inbox holds free blocks of this arena, each sent once.
            let block = unsafe { Block::new(next) };
            next = block.next();
            // SAFETY: a block of ours lies below the limit.
            let span = unsafe { ZONE.span_at(ZONE.offset(block.address())) };
            push(span, block);
            match span.state() {
                State::Full => self.settle(span),
                State::Partial if span.used.get() == 0 && !self.is_only(span) => {
                    self.unlink(span.class(), span);
                    self.put_empty(span);
                }
                _ => {}
            }
        }
    }

    /// Puts a span in no list where its blocks in use say.
    fn settle(&self, span: &'static Span) {
        let needed = self.abandoned.get() == 0 && self.partial[span.class()].get() == 0;
        if span.used.get() == 0 && !needed {
            self.put_empty(span)
        } else {
            self.link(span)
        }
    }

    fn put_empty(&self, span: &'static Span) {
        let held = &self.held[span.class()];
        held.set(held.get() - span.pages.get());
        span.owner.set(DETACHED);
        span.set_state(State::Taken);
        span.next.set(self.empties.get());
        self.empties.set(ZONE.id(span).0);
        self.empty_spans.set(self.empty_spans.get() + 1);
        self.empty_pages
            .set(self.empty_pages.get() + span.pages.get());
        if self.empty_spans.get() > KEEP_SPANS || self.empty_pages.get() > KEEP_PAGES {
            self.drop_empties(KEEP_SPANS / 2, KEEP_PAGES / 2);
        }
    }

    /// Gives wholly free spans to the pool until at most so many spans and pages are kept.
    fn drop_empties(&self, spans: u32, pages: u32) {
        while self.empty_spans.get() > spans || self.empty_pages.get() > pages {
            let span = ZONE.span(SpanId(self.empties.get()));
            self.empties.set(span.next.get());
            self.forget_empty(span);
            pool::free(span);
        }
    }

    fn take_empty(&self, pages: usize) -> Option<&'static Span> {
        let mut before: Option<&'static Span> = None;
        let mut id = self.empties.get();
        while id != 0 {
            let span = ZONE.span(SpanId(id));
            if span.pages.get() as usize == pages {
                match before {
                    None => self.empties.set(span.next.get()),
                    Some(before) => before.next.set(span.next.get()),
                }
                self.forget_empty(span);
                return Some(span);
            }
            before = Some(span);
            id = span.next.get();
        }
        None
    }

    fn forget_empty(&self, span: &'static Span) {
        self.empty_spans.set(self.empty_spans.get() - 1);
        self.empty_pages
            .set(self.empty_pages.get() - span.pages.get());
    }

    /// A kept run of exactly `pages` pages; any start will do if `align` (in pages) is one.
    ///
    /// If there is none, what was freed is consolidated, since the caller then asks the pool.
    pub fn take_run(&self, pages: usize, align: usize) -> Option<&'static Span> {
        let kept = if align == 1 {
            self.pop_run(pages)
        } else {
            None
        };
        if kept.is_none() && self.inbox.have_fastchunks.is_set() {
            self.sweep();
        }
        kept
    }

    fn pop_run(&self, pages: usize) -> Option<&'static Span> {
        let head = self.runs.get(pages).filter(|head| head.get() != 0)?;
        let _busy = Busy::new(self);
        let run = ZONE.span(SpanId(head.get()));
        head.set(run.next.get());
        self.run_pages.set(self.run_pages.get() - run.pages.get());
        Some(run)
    }

    /// Keeps the run of a large block that was freed, or gives it to the pool.
    pub fn put_run(&self, run: &'static Span) {
        let pages = run.pages.get();
        let Some(head) = self.runs.get(pages as usize) else {
            return pool::free(run);
        };
        if self.run_pages.get() + pages > KEEP_RUNS {
            return pool::free(run);
        }
        let _busy = Busy::new(self);
        run.set_state(State::Taken);
        // As far as anybody knows all of it has been written.
        run.used.set(pages);
        run.next.set(head.get());
        head.set(ZONE.id(run).0);
        self.run_pages.set(self.run_pages.get() + pages);
    }

    fn drop_runs(&self) {
        for pages in 0..=KEEP_RUN {
            while let Some(run) = self.pop_run(pages) {
                pool::free(run);
            }
        }
    }

    /// For an arena without a thread: what came home and is wholly free goes to the pool.
    pub fn settle_received(&self) {
        self.sweep();
        self.drop_empties(0, 0);
    }

    /// Everything that is wholly free goes to the pool, and what others own goes home.
    pub fn tidy(&self) {
        let _busy = Busy::new(self);
        self.outbox.flush_all();
        self.sweep();
        for class in 0..CLASSES {
            // SAFETY: current spans come from the table and are never unmapped.
            let span = unsafe { &*self.current[class].get() };
            if span.state() == State::Current {
                self.set_current(class, NO_SPAN);
                self.detach(span);
                if span.free.get() != 0 || can_carve(span) {
                    self.link(span);
                }
            }
            let mut id = self.partial[class].get();
            while id != 0 {
                let span = ZONE.span(SpanId(id));
                id = span.next.get();
                if span.used.get() == 0 {
                    self.unlink(class, span);
                    self.put_empty(span);
                }
            }
        }
        self.drop_empties(0, 0);
        self.drop_runs();
    }

    /// After a fork, for an arena whose thread is not in the child: the next sweep looks.
    pub fn set_hint(&self) {
        self.inbox.have_fastchunks.set();
    }
}

/// Called by a free that left `span` (not current) without blocks in use.
#[cold]
#[inline(never)]
pub fn retire(span: &'static Span) {
    let arena = registry::home_of(span);
    let _busy = Busy::new(arena);
    match span.state() {
        // The last span with room is kept where the class finds it.
        State::Partial if !arena.is_only(span) => {
            arena.unlink(span.class(), span);
            arena.put_empty(span);
        }
        // Left to the sweep, unless much is waiting for it already.
        State::Unswept => {
            let pages = arena.unswept_pages.get() + span.pages.get();
            arena.unswept_pages.set(pages);
            if pages > KEEP_PAGES {
                arena.sweep();
            }
        }
        _ => {}
    }
}

/// The first free block of `span`.
#[inline(always)]
pub fn pop(span: &Span) -> Option<usize> {
    let first = span.free.get();
    if first == 0 {
        return None;
    }
    // SAFETY: a span's list holds free blocks of that span.
    let block = unsafe { Block::new(first) };
    span.free.set(block.next());
    block.unmark();
    Some(first)
}

/// Puts a free, marked block on its span's list; what is left of `used`, zero for the last block of
/// a span that is not current.
#[inline(always)]
pub fn push(span: &Span, block: Block) -> u32 {
    block.link(span.free.get());
    span.free.set(block.address());
    let used = span.used.get().wrapping_sub(1);
    span.used.set(used);
    used
}

/// [`push`] for the fast road.
///
/// # Safety
/// The running thread must own the span's arena.
#[inline(always)]
pub unsafe fn push_own(span: &Span, block: Block) -> u32 {
    // SAFETY: these are written by the arena's owner alone.
    unsafe {
        block.link(span.free.own());
        span.free.set(block.address());
        let used = span.used.own().wrapping_sub(1);
        span.used.set(used);
        used
    }
}

fn can_carve(span: &Span) -> bool {
    (span.carved() + 1) * span.size() <= span.pages.get() as usize * PAGE
}

/// Makes about a page more of `span` into free blocks, lowest first; whether there was room.
///
/// Little at a time, so that pages become resident only when they are needed.
fn carve(span: &'static Span) -> bool {
    let (carved, size) = (span.carved(), span.size());
    let room = span.pages.get() as usize * PAGE / size - carved;
    let count = room.min((PAGE / size).max(1));
    if count == 0 {
        return false;
    }
    let base = ZONE.address(span.page.get()) + carved * size;
    let (key, mut next) = (span.key.get(), span.free.get());
    for index in (0..count).rev() {
        // SAFETY: the bytes lie in the span beyond what was carved, so nobody uses them.
        let block = unsafe { Block::new(base + index * size) };
        block.link(next);
        block.mark(key);
        next = block.address();
    }
    span.free.set(next);
    span.set_carved(carved + count);
    true
}
