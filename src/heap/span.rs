//! Spans: what is known about a run of heap pages, one cache line each.
//!
//! Invariant: a span's line is never unmapped, so `&'static Span` is always readable; whose turn
//! it is to write it follows from its state: the pool's lock for `Free`, `Hole` and `Unused`, the
//! arena at `home` for small spans, the caller that holds the run for the rest.

use super::{block::Block, class};
use crate::atomic::{Plain32, PlainSize};

/// Index of a span in the span table; zero is the span that stands for "none".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanId(pub u32);

/// What a run of pages is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// The table entry describes nothing.
    Unused,
    /// Mapped pages in the pool's bins. `used` counts the pages that may be dirty.
    Free,
    /// Addresses without memory, in the pool's bins.
    Hole,
    /// Taken out of the bins by a caller that is about to change it.
    Taken,
    /// One block of whole pages.
    Large,
    /// Memory of the heap itself.
    Own,
    /// Small blocks: where the arena allocates now. `used` says nothing, since `malloc` does not
    /// count; [`Span::in_use`] does when the span stops being current.
    Current,
    /// Small blocks, some free, in the arena's list of its class.
    Partial,
    /// Small blocks, was full, and waits in the arena's list for the next sweep.
    Unswept,
    /// Small blocks, none free, in no list.
    Full,
}

impl State {
    fn from_bits(bits: u32) -> Self {
        match bits as u8 {
            1 => Self::Free,
            2 => Self::Hole,
            3 => Self::Taken,
            4 => Self::Large,
            5 => Self::Own,
            6 => Self::Current,
            7 => Self::Partial,
            8 => Self::Unswept,
            9 => Self::Full,
            _ => Self::Unused,
        }
    }

    /// Whether the run holds blocks of a size class.
    pub fn is_small(self) -> bool {
        matches!(
            self,
            Self::Current | Self::Partial | Self::Unswept | Self::Full
        )
    }
}

/// Bit in `owner` of a span whose blocks may not take the fast road of `free`.
pub const DETACHED: usize = 1;

/// `used` of a current span counts down from here, so that it does not come to zero.
pub const CURRENT_USED: u32 = 1 << 31;

/// See the head of the file. The fields up to `used` are all that the fast roads touch.
#[repr(C, align(64))]
pub struct Span {
    /// Address of the arena that the span belongs to, with [`DETACHED`] set if its thread may not
    /// free into the span by the fast road.
    pub owner: PlainSize,
    /// Address of the first free block, or zero. In the pool: see [`Span::ages`].
    pub free: PlainSize,
    /// [`super::class::divisor_magic`] of the block size.
    pub magic: PlainSize,
    /// What marks the free blocks of this span since its blocks were last carved.
    pub key: PlainSize,
    /// First page, counted from the start of the zone.
    pub page: Plain32,
    /// Number of blocks carved, from the start on, times the excess of
    /// [`super::class::divisor_magic`].
    pub bound: Plain32,
    /// Blocks handed out (see [`State`] for the exceptions).
    pub used: Plain32,
    /// Lower half of the address of the first block of a small span, negated.
    pub less_start: Plain32,
    pub pages: Plain32,
    pub next: Plain32,
    pub prev: Plain32,
    /// State in the low byte, class in the next, number of blocks carved above.
    kind: Plain32,
}

impl Span {
    /// A span without blocks that is in no table.
    pub const fn none() -> Self {
        Self {
            owner: PlainSize::new(DETACHED),
            free: PlainSize::new(0),
            magic: PlainSize::new(0),
            key: PlainSize::new(0),
            page: Plain32::new(0),
            bound: Plain32::new(0),
            used: Plain32::new(0),
            less_start: Plain32::new(0),
            pages: Plain32::new(0),
            next: Plain32::new(0),
            prev: Plain32::new(0),
            kind: Plain32::new(0),
        }
    }

    pub fn state(&self) -> State {
        State::from_bits(self.kind.get())
    }

    pub fn class(&self) -> usize {
        (self.kind.get() >> 8 & 0xff) as usize
    }

    /// Bytes of a block of a small span.
    pub fn size(&self) -> usize {
        class::size_of(self.class())
    }

    /// How many blocks of a small span are carved.
    pub fn carved(&self) -> usize {
        (self.kind.get() >> 16) as usize
    }

    pub fn set_state(&self, state: State) {
        self.kind.set(self.kind.get() & !0xff | state as u32);
    }

    /// Forgets the class.
    pub fn reset(&self, state: State) {
        self.kind.set(state as u32);
    }

    /// Makes it a span for blocks of `class`, none of which is carved.
    pub fn set_class(&self, state: State, class: usize) {
        self.kind.set((class as u32) << 8 | state as u32);
        self.magic.set(class::divisor_magic(class::size_of(class)));
        self.bound.set(0);
    }

    /// The first `blocks` blocks are carved now.
    pub fn set_carved(&self, blocks: usize) {
        let excess = self.magic.get().wrapping_mul(self.size());
        self.bound.set((blocks * excess) as u32);
        self.kind
            .set((blocks as u32) << 16 | self.kind.get() & 0xffff);
    }

    /// The neighbours in the pool's list of runs by age: the older and the younger one.
    pub fn ages(&self) -> (u32, u32) {
        let both = self.free.get() as u64;
        (both as u32, (both >> 32) as u32)
    }

    pub fn set_ages(&self, older: u32, younger: u32) {
        self.free
            .set(((younger as u64) << 32 | older as u64) as usize);
    }

    /// Whether a carved block of a small span starts at `address`, which the page map says to be
    /// in the span. (If the map is out of date the answer is still right, unless span and address
    /// are a multiple of 4 GiB apart.)
    pub fn starts_block(&self, address: usize) -> bool {
        let within = (address as u32).wrapping_add(self.less_start.get());
        (within as usize).wrapping_mul(self.magic.get()) < self.bound.get() as usize
    }

    /// [`Span::starts_block`] for the fast road.
    ///
    /// # Safety
    /// The running thread must own the span's arena.
    #[inline(always)]
    pub unsafe fn starts_own_block(&self, address: usize) -> bool {
        // SAFETY: these are written by the arena's owner alone.
        unsafe {
            let within = (address as u32).wrapping_add(self.less_start.own());
            (within as usize).wrapping_mul(self.magic.own()) < self.bound.own() as usize
        }
    }

    /// Address of the arena that the span belongs to.
    pub fn home(&self) -> usize {
        self.owner.get() & !DETACHED
    }

    /// How many blocks are carved and not in the free list.
    ///
    /// Only for whoever owns the span.
    pub fn in_use(&self) -> u32 {
        let carved = self.carved() as u32;
        let mut free = 0;
        let mut next = self.free.get();
        while next != 0 && free < carved {
            free += 1;
            // SAFETY: a span's list holds free blocks of that span.
            next = unsafe { Block::new(next) }.next();
        }
        carved - free
    }

    /// Page after the last.
    pub fn end(&self) -> u32 {
        self.page.get() + self.pages.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_one_cache_line() {
        assert_eq!(size_of::<Span>(), 64);
    }

    #[test]
    fn a_span_remembers_class_and_carved_blocks() {
        // SAFETY: all-zero bytes are a valid span.
        let span: Span = unsafe { core::mem::zeroed() };
        for class in 0..class::CLASSES {
            span.set_class(State::Partial, class);
            span.set_state(State::Current);
            assert_eq!(span.state(), State::Current);
            assert_eq!(span.carved(), 0);
            span.set_carved(7);
            span.set_state(State::Full);
            assert_eq!(span.state(), State::Full);
            assert_eq!((span.class(), span.carved()), (class, 7));
            assert!(span.starts_block(6 * span.size()), "class {class}");
            assert!(!span.starts_block(7 * span.size()), "class {class}");
        }
    }

    #[test]
    fn every_state_survives_its_encoding() {
        for bits in 0..=9 {
            assert_eq!(State::from_bits(bits) as u32, bits);
        }
    }
}
