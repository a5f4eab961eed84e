//! The zone: the one range of addresses in which the heap lives, its page map and its span table.
//!
//! ```text
//!   table: spans, 64 bytes each | map: one span per heap page | heap pages -> limit
//! ```
//!
//! The zone is addresses only; each of the three parts is mapped from its start, exactly as far
//! as it is used, so nothing is reserved and nothing is charged that is not used.
//! Invariant: for every page below `limit` the map entry is readable, and it is the place of a
//! readable span in the table, in bytes. An entry may be stale: a reader checks what it finds
//! against the span's own range.

use super::{
    block,
    class::PAGE,
    span::{DETACHED, Span, SpanId},
};
use crate::{
    align,
    atomic::{PlainPtr, PlainSize},
    sys::{self, Errno, Prot, Result},
};

/// Bytes of the map and the table that are mapped at a time.
const MAP_STEP: usize = 4 << 10;
const TABLE_STEP: usize = 8 << 10;
/// Most bytes of the table, so that an entry of the map is a span's place in it.
const TABLE_MOST: usize = 1 << 32;

/// What it takes to find the span of an address. Each arena has a copy, so that `free` reads it
/// next to what else it reads, by loads that need not be atomic. A limit that is too low, as in an
/// old copy, costs the fast road only.
pub struct View {
    base: PlainSize,
    /// Bytes of heap pages from `base`, holes included.
    limit: PlainSize,
    map: PlainPtr<u32>,
    table: PlainPtr<Span>,
}

impl View {
    pub const fn none() -> Self {
        Self {
            base: PlainSize::new(0),
            limit: PlainSize::new(0),
            map: PlainPtr::new(core::ptr::null_mut()),
            table: PlainPtr::new(core::ptr::null_mut()),
        }
    }

    pub fn copy_from(&self, other: &View) {
        self.base.set(other.base.get());
        self.map.set(other.map.get());
        self.table.set(other.table.get());
        self.limit.set(other.limit.get());
    }

    /// Distance of an address from the start of the heap; `None` beyond the limit.
    ///
    /// # Safety
    /// No other thread may write this view meanwhile.
    #[inline(always)]
    pub unsafe fn offset(&self, address: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        let (base, limit) = unsafe { (self.base.own(), self.limit.own()) };
        let offset = address.wrapping_sub(base);
        (offset < limit).then_some(offset)
    }

    /// The span that the map names for the page at `offset`.
    ///
    /// # Safety
    /// The offset must be one of [`View::offset`], and no other thread may write this view.
    #[inline(always)]
    pub unsafe fn span_at(&self, offset: usize) -> &'static Span {
        // SAFETY: below the limit the map is readable and names a readable span (invariant).
        unsafe {
            let entry = *self.map.own().add(offset / PAGE);
            &*self.table.own().byte_add(entry as usize)
        }
    }
}

pub struct Zone {
    view: View,
    /// Most bytes of heap pages.
    most: PlainSize,
    /// Bytes mapped of the map and of the table.
    map_open: PlainSize,
    table_open: PlainSize,
}

pub static ZONE: Zone = Zone {
    view: View::none(),
    most: PlainSize::new(0),
    map_open: PlainSize::new(0),
    table_open: PlainSize::new(0),
};

impl Zone {
    /// Distance of an address from the start of the heap; at least [`Zone::limit`] if not ours.
    #[inline(always)]
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.view.base.get())
    }

    #[inline(always)]
    pub fn limit(&self) -> usize {
        self.view.limit.get()
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    pub fn address(&self, page: u32) -> usize {
        self.view.base.get() + page as usize * PAGE
    }

    pub fn is_ready(&self) -> bool {
        !self.view.table.get().is_null()
    }

    /// The span that the map names for the page at `offset`, which must be below the limit.
    ///
    /// # Safety
    /// `offset < self.limit()`.
    #[inline(always)]
    pub unsafe fn span_at(&self, offset: usize) -> &'static Span {
        // SAFETY: below the limit the map is readable and names a readable span (invariant).
        unsafe {
            let entry = *self.view.map.get().add(offset / PAGE);
            &*self.view.table.get().byte_add(entry as usize)
        }
    }

    /// The span with this id, which must have been given out by [`Zone::grow_table`].
    #[inline(always)]
    pub fn span(&self, id: SpanId) -> &'static Span {
        debug_assert!((id.0 as usize) < self.spans());
        // SAFETY: ids come from the table, which never shrinks.
        unsafe { &*self.view.table.get().add(id.0 as usize) }
    }

    pub fn id(&self, span: &'static Span) -> SpanId {
        SpanId(
            ((span as *const Span as usize - self.view.table.get() as usize) / size_of::<Span>())
                as u32,
        )
    }

    /// Spans that the table has room for.
    pub fn spans(&self) -> usize {
        self.table_open.get() / size_of::<Span>()
    }

    /// Enters `span` in the map for the page `page`. The caller holds that page's run.
    pub fn enter(&self, page: u32, span: &'static Span) {
        debug_assert!((page as usize) < self.map_open.get() / 4);
        // SAFETY: the page is below the limit, so its entry is mapped; readers take stale ids.
        unsafe {
            self.view
                .map
                .get()
                .add(page as usize)
                .write_volatile(self.id(span).0 * size_of::<Span>() as u32)
        }
    }

    /// Finds a place for the zone. Under the pool's grow lock, once.
    pub fn init(&self) -> Result<()> {
        block::init();
        for (base, most) in places() {
            if base == 0 {
                continue;
            }
            let map = base - align::up(most / PAGE * 4, 1 << 21).unwrap_or(0);
            let table = map - (most / PAGE * size_of::<Span>()).min(TABLE_MOST);
            if sys::map_new_at(table, TABLE_STEP, Prot::RW, 0).is_err() {
                continue;
            }
            self.view.base.set(base);
            self.most.set(most);
            self.view.map.set(map as *mut u32);
            self.table_open.set(TABLE_STEP);
            // SAFETY: the first entry of the table was just mapped and nobody knows of it yet.
            unsafe { (*(table as *const Span)).owner.set(DETACHED) };
            self.view.table.set(table as *mut Span);
            return Ok(());
        }
        Err(Errno(libc::ENOMEM))
    }

    /// Adds `pages` pages of addresses without memory at the limit and returns the first. Under
    /// the grow lock.
    pub fn extend(&self, pages: usize) -> Result<u32> {
        let start = self.limit();
        if start + pages * PAGE > self.most.get() {
            return Err(Errno(libc::ENOMEM));
        }
        self.grow_map(start / PAGE + pages)?;
        self.view.limit.set(start + pages * PAGE);
        Ok((start / PAGE) as u32)
    }

    /// Maps the hole `[page, page + pages)`; `EEXIST` if somebody else has mapped memory there.
    /// Under the grow lock.
    pub fn reopen(&self, page: u32, pages: usize) -> Result<()> {
        sys::map_new_at(self.address(page), pages * PAGE, Prot::RW, 0)
    }

    /// Makes sure that [`Zone::extend`] by `pages` pages will work.
    pub fn prepare(&self, pages: usize) -> Result<()> {
        if self.limit() + pages * PAGE > self.most.get() {
            return Err(Errno(libc::ENOMEM));
        }
        self.grow_map(self.limit() / PAGE + pages)
    }

    /// Bytes of the page map that are mapped.
    pub fn map_open(&self) -> usize {
        self.map_open.get()
    }

    /// Unmaps the page map beyond the limit, but for the first `keep` bytes of the map.
    pub fn close_map(&self, keep: usize) {
        let open = self.map_open.get();
        let step = align::page_size().max(MAP_STEP);
        let used = align::up(self.limit() / PAGE * 4, step).unwrap_or(open);
        let keep = keep.max(used);
        if keep >= open {
            return;
        }
        // SAFETY: no address of the heap has its entry there.
        let closed = unsafe { sys::unmap(self.view.map.get() as usize + keep, open - keep) };
        if closed.is_ok() {
            self.map_open.set(keep);
        }
    }

    /// Lowers the limit to `page`, from which on there are only addresses without memory. Under
    /// the pool's locks.
    ///
    /// Old views of the zone still say the former limit: they are asked about addresses of blocks
    /// alone, which are below.
    pub fn lower(&self, page: u32) {
        self.view.limit.set(page as usize * PAGE);
    }

    fn grow_map(&self, pages: usize) -> Result<()> {
        let open = self.map_open.get();
        if pages * 4 <= open {
            return Ok(());
        }
        let step =
            align::up(pages * 4 - open, align::page_size().max(MAP_STEP)).unwrap_or(MAP_STEP);
        sys::map_new_at(self.view.map.get() as usize + open, step, Prot::RW, 0)?;
        self.map_open.set(open + step);
        Ok(())
    }

    /// Room for more spans; the new ids are `[old, self.spans())`. Under the grow lock.
    pub fn grow_table(&self) -> Result<()> {
        let open = self.table_open.get();
        let step = align::up(TABLE_STEP, align::page_size()).unwrap_or(TABLE_STEP);
        if open + step > TABLE_MOST {
            return Err(Errno(libc::ENOMEM));
        }
        sys::map_new_at(self.view.table.get() as usize + open, step, Prot::RW, 0)?;
        self.table_open.set(open + step);
        Ok(())
    }

    /// In the child of a fork that did not wait for the grow lock: what its holder had just mapped
    /// of the map and of the table may not have been counted.
    pub fn recount(&self) {
        if !self.is_ready() {
            return;
        }
        let (page, most) = (align::page_size(), self.most.get() / PAGE);
        for (start, open, most) in [
            (self.view.map.get() as usize, &self.map_open, most * 4),
            (
                self.view.table.get() as usize,
                &self.table_open,
                (most * size_of::<Span>()).min(TABLE_MOST),
            ),
        ] {
            let mut there = true;
            while there && open.get() < most {
                let probe = sys::map_new_at(start + open.get(), page, Prot::RW, 0);
                there = probe == Err(Errno(libc::EEXIST));
                if there || probe.is_ok() {
                    open.set(open.get() + page);
                }
            }
        }
    }
}

/// Where the zone may start and how large it may become, best first.
///
/// The kernel places mappings near the top of the address space and programs from two thirds of it
/// on. Some way below those two thirds nobody lives, the largest free range stays as large as it
/// was, and the address keeps the randomness of the one that it is taken from. Small address spaces
/// (39-bit aarch64 kernels, emulators) get a place at some distance from the library itself.
fn places() -> [(usize, usize); 3] {
    let here = align::down(&raw const ZONE as usize, 1 << 21);
    let below = if here >= 1 << 44 {
        align::down(here / 3 * 2 - (6 << 40), 1 << 21)
    } else {
        0
    };
    [
        (below, 1 << 42),
        (here.saturating_sub(1 << 37), 1 << 35),
        (here + (1 << 34), 1 << 35),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growth_that_was_not_counted_is_found() {
        let zone = Zone {
            view: View::none(),
            most: PlainSize::new(0),
            map_open: PlainSize::new(0),
            table_open: PlainSize::new(0),
        };
        zone.recount();
        zone.init().unwrap();
        zone.extend(1).unwrap();
        for (start, open, step) in [
            (zone.view.map.get() as usize, &zone.map_open, 3 * MAP_STEP),
            (zone.view.table.get() as usize, &zone.table_open, TABLE_STEP),
        ] {
            let before = open.get();
            sys::map_new_at(start + before, step, Prot::RW, 0).unwrap();
            zone.recount();
            assert!(open.get() >= before + step);
            zone.grow_table().unwrap();
            zone.extend(open.get() / 4).unwrap();
        }
    }
}
