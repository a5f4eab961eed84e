//! Large blocks: whole runs of pages from the pool, no arena, no header.
//!
//! Invariant: a large block is a span in state `Large` whose start is the block.

use super::{
    arena::KEEP_RUN,
    class::PAGE,
    pool::{self, SPARE},
    registry,
    span::{Span, State},
    zone::ZONE,
};

/// A block of at least `size` bytes at a multiple of `align` (a power of two), and whether it is
/// known to hold zeros. `None` when out of memory.
pub fn allocate(size: usize, align: usize) -> Option<(usize, bool)> {
    let pages = size.max(1).checked_add(PAGE - 1)? / PAGE;
    // The page counts of spans and of the zone are 32 bits wide.
    if pages >= 1 << 30 || align / PAGE >= 1 << 30 {
        return None;
    }
    let align = (align / PAGE).max(1);
    let kept = registry::own()?.arena.take_run(pages, align);
    let run = kept.or_else(|| pool::allocate(pages, align)).or_else(|| {
        // Out of memory: what is kept for other needs may do.
        registry::own()?.arena.tidy();
        registry::tidy_abandoned();
        pool::allocate(pages, align).or_else(|| {
            pool::make_room();
            pool::allocate(pages, align)
        })
    })?;
    let zeros = run.used.get() == 0;
    Some((publish(run), zeros))
}

/// Frees the block of `span`.
pub fn free(span: &'static Span) {
    if span.pages.get() as usize <= KEEP_RUN
        && let Some(own) = registry::own()
    {
        return own.arena.put_run(span);
    }
    pool::free(span);
}

fn publish(run: &'static Span) -> usize {
    run.reset(State::Large);
    ZONE.enter(run.page.get(), run);
    ZONE.address(run.page.get())
}

pub fn bytes(span: &Span) -> usize {
    span.pages.get() as usize * PAGE
}

/// The block of `span` with room for `size` bytes, in place or with its pages moved; `None` if it
/// must be copied instead.
pub fn resize(span: &'static Span, size: usize) -> Option<usize> {
    let pages = size.checked_add(PAGE - 1)? / PAGE;
    if pages >= 1 << 30 {
        return None;
    }
    let have = span.pages.get();
    let fits = (have - have / SPARE..=have).contains(&(pages as u32));
    if fits || pool::resize(span, pages) {
        return Some(ZONE.address(span.page.get()));
    }
    pool::remap(span, pages).map(publish)
}
