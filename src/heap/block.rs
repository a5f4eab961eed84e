//! A free block: its link and its mark.
//!
//! Invariant: every block on a free list of ours holds its mark, the key of its span, in its second
//! word, and no block in use does (it is wiped when the block is handed out). So a block that is
//! freed with its mark in place was freed before. Memory that a program never wrote may hold marks,
//! and it may copy them anywhere: but to be part of a larger block since, the memory must have left
//! its span, whose key was replaced then.

use super::class::PAGE;
use crate::auxv;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static SECRET: AtomicUsize = AtomicUsize::new(0);

/// Chooses the secret from the kernel's random bytes (`AT_RANDOM`). Called before the first block.
pub fn init() {
    let bytes = auxv::value(libc::AT_RANDOM) as *const usize;
    let random = if bytes.is_null() {
        0
    } else {
        // SAFETY: AT_RANDOM, where present, is the address of 16 bytes.
        unsafe { bytes.add(1).read_unaligned() }
    };
    SECRET.store(random ^ 0x5bd1_e995_9e37_79b9, Relaxed);
}

/// The key of the `count`th span that the arena at `arena` carves; each has another.
pub fn key(arena: usize, count: u32) -> usize {
    // A zone has at most 2^30 pages. The steps that follow are one-to-one, and spread every bit.
    let number = ((arena / PAGE) as u64) << 32 | u64::from(count);
    let mut key = number ^ SECRET.load(Relaxed) as u64;
    key = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key = (key ^ key >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    // Odd, so that no mark is zero, which stands for none.
    (key ^ key >> 32) as usize | 1
}

/// Address of a free block of at least 16 bytes; zero stands for "none" in lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Block(usize);

impl Block {
    /// # Safety
    /// `address` must be the start of a block of ours that nobody uses.
    #[inline(always)]
    pub unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    #[inline(always)]
    pub fn address(self) -> usize {
        self.0
    }

    #[inline(always)]
    pub fn next(self) -> usize {
        // SAFETY: a free block's first word is ours (constructor).
        unsafe { (self.0 as *const usize).read() }
    }

    #[inline(always)]
    pub fn link(self, next: usize) {
        // SAFETY: a free block's two words are ours (constructor).
        unsafe { (self.0 as *mut usize).write(next) }
    }

    /// Marks the block, of a span with this key, as free.
    #[inline(always)]
    pub fn mark(self, key: usize) {
        // SAFETY: a free block's two words are ours (constructor).
        unsafe { (self.0 as *mut usize).add(1).write(key) }
    }

    /// Wipes the mark, for a block that is handed out.
    #[inline(always)]
    pub fn unmark(self) {
        // SAFETY: a free block's two words are ours (constructor).
        unsafe { (self.0 as *mut usize).add(1).write(0) }
    }

    /// Marks the block as free; false if it was marked already.
    #[inline(always)]
    pub fn mark_unless_marked(self, key: usize) -> bool {
        let marked = self.is_marked(key);
        if !marked {
            self.mark(key);
        }
        !marked
    }

    #[inline(always)]
    pub fn is_marked(self, key: usize) -> bool {
        // SAFETY: a block has at least two words.
        unsafe { (self.0 as *const usize).add(1).read() == key }
    }
}
