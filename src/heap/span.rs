//! Spans: what is known about a run of heap pages, one cache line each.
//!
//! Invariant: a span's line is never unmapped, so `&'static Span` is always readable; whose turn
//! it is to write it follows from its state: the pool's lock for `Free`, `Hole` and `Unused`, the
//! arena at `home` for small spans, the caller that holds the run for the rest.

use super::class;
use crate::atomic::{Plain32, PlainSize};

/// Index of a span in the span table; zero is the span that stands for "none".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanId(pub u32);

impl SpanId {
    pub const NONE: Self = Self(0);
}

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
    /// Small blocks: where the arena allocates now. `used` is one more than the blocks in use.
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

/// `owner` of a span whose blocks may not take the fast road of `free`.
pub const DETACHED: usize = 1;

/// See the head of the file. The fields up to `used` are all that the fast roads touch.
#[repr(C, align(64))]
pub struct Span {
    /// Address of the arena whose thread may free into this span by the fast road.
    pub owner: PlainSize,
    /// Address of the first free block, or zero. In the pool: see [`Span::ages`].
    pub free: PlainSize,
    /// [`super::class::divisor_magic`] of the block size.
    pub magic: PlainSize,
    /// What marks the free blocks of this span since its blocks were last carved.
    pub key: PlainSize,
    /// First page, counted from the start of the zone.
    pub page: Plain32,
    /// Bytes from the start that have been carved into blocks.
    pub carved: Plain32,
    /// Blocks handed out (see [`State`] for the exceptions).
    pub used: Plain32,
    /// First page of the arena that the span belongs to.
    pub home: Plain32,
    pub pages: Plain32,
    pub next: Plain32,
    pub prev: Plain32,
    /// State in the low byte, class in the next, bytes of a block above.
    kind: Plain32,
}

impl Span {
    pub fn state(&self) -> State {
        State::from_bits(self.kind.get())
    }

    pub fn class(&self) -> usize {
        (self.kind.get() >> 8 & 0xff) as usize
    }

    /// Bytes of a block of a small span.
    pub fn size(&self) -> usize {
        (self.kind.get() >> 16) as usize
    }

    pub fn set_state(&self, state: State) {
        self.kind.set(self.kind.get() & !0xff | state as u32);
    }

    /// Forgets the class.
    pub fn reset(&self, state: State) {
        self.kind.set(state as u32);
    }

    /// Makes it a span of blocks of `class`.
    pub fn set_class(&self, state: State, class: usize) {
        let size = class::size_of(class) as u32;
        self.kind
            .set(size << 16 | (class as u32) << 8 | state as u32);
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

    /// Whether a carved block of a span of small blocks starts `within` bytes from its start.
    #[inline(always)]
    pub fn starts_block(&self, within: usize) -> bool {
        let magic = self.magic.get();
        within < self.carved.get() as usize && within.wrapping_mul(magic) < magic
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
    fn a_span_remembers_class_and_block_size() {
        // SAFETY: all-zero bytes are a valid span.
        let span: Span = unsafe { core::mem::zeroed() };
        for class in 0..class::CLASSES {
            span.set_class(State::Partial, class);
            span.set_state(State::Current);
            assert_eq!(span.state(), State::Current);
            assert_eq!((span.class(), span.size()), (class, class::size_of(class)));
        }
    }

    #[test]
    fn every_state_survives_its_encoding() {
        for bits in 0..=9 {
            assert_eq!(State::from_bits(bits) as u32, bits);
        }
    }
}
