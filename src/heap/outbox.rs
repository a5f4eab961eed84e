//! Blocks on their way home: what a thread freed of other arenas, gathered by destination.
//!
//! Invariant: a slot's blocks all belong to its home; they leave together, by one atomic exchange.

use super::{arena::Arena, block::Block, registry};
use crate::atomic::{Plain32, PlainPtr, PlainSize};

const SLOTS: usize = 8;
/// A batch leaves at so many blocks, or at so many bytes.
const BATCH: u32 = 32;
const BATCH_BYTES: u32 = 64 << 10;

pub struct Outbox([Slot; SLOTS]);

struct Slot {
    home: PlainPtr<Arena>,
    first: PlainSize,
    last: PlainSize,
    count: Plain32,
    bytes: Plain32,
}

impl Outbox {
    /// Adds a block of `size` bytes.
    pub fn push(&self, home: &'static Arena, block: Block, size: usize) {
        // Arenas are page aligned; the bits above differ between neighbours.
        let slot = &self.0[(home.address() >> 12) % SLOTS];
        if slot.home.get() as usize != home.address() {
            slot.flush();
            slot.home.set(home as *const Arena as *mut Arena);
        }
        if slot.count.get() == 0 {
            slot.last.set(block.address());
        }
        block.link(slot.first.get());
        slot.first.set(block.address());
        slot.count.set(slot.count.get() + 1);
        slot.bytes.set(slot.bytes.get() + size as u32);
        if slot.count.get() >= BATCH || slot.bytes.get() >= BATCH_BYTES {
            slot.flush();
        }
    }

    pub fn flush_all(&self) {
        self.0.iter().for_each(Slot::flush);
    }
}

impl Slot {
    fn flush(&self) {
        if self.count.get() == 0 {
            return;
        }
        // SAFETY: arenas are never unmapped, and a slot with blocks names one.
        let home: &'static Arena = unsafe { &*self.home.get() };
        // SAFETY: the slot's blocks are free and known to nobody else.
        home.post(self.first.get(), unsafe { Block::new(self.last.get()) });
        self.first.set(0);
        self.count.set(0);
        self.bytes.set(0);
        registry::received(home);
    }
}
