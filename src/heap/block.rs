//! A free block: its link and its mark.
//!
//! Invariant: every block on a free list of ours holds its mark, the process's secret mixed with
//! the block's address, in its second word, and no block in use does (it is wiped when the block
//! is handed out). So a block that is freed with its mark in place was freed before. A mark that a
//! program copies from memory it never wrote does not fit the address that it is copied to.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static SECRET: AtomicUsize = AtomicUsize::new(0);

/// Chooses the secret from the kernel's random bytes (`AT_RANDOM`). Called before the first block.
pub fn init() {
    // SAFETY: AT_RANDOM, where present, is the address of 16 bytes; reading auxv never allocates.
    let random = unsafe {
        let bytes = libc::getauxval(libc::AT_RANDOM) as *const usize;
        if bytes.is_null() {
            0
        } else {
            bytes.add(1).read_unaligned()
        }
    };
    // Odd, so that it is neither zero nor the address of anything aligned.
    SECRET.store((random ^ 0x5bd1_e995_9e37_79b9) | 1, Relaxed);
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

    #[inline(always)]
    fn mark_here(self) -> usize {
        SECRET.load(Relaxed) ^ self.0
    }

    /// Marks the block as free.
    #[inline(always)]
    pub fn mark(self) {
        // SAFETY: a free block's two words are ours (constructor).
        unsafe { (self.0 as *mut usize).add(1).write(self.mark_here()) }
    }

    /// Wipes the mark, for a block that is handed out.
    #[inline(always)]
    pub fn unmark(self) {
        // SAFETY: a free block's two words are ours (constructor).
        unsafe { (self.0 as *mut usize).add(1).write(0) }
    }

    /// Marks the block as free; false if it was marked already.
    #[inline(always)]
    pub fn mark_unless_marked(self) -> bool {
        let mark = (self.0 + size_of::<usize>()) as *mut usize;
        let here = self.mark_here();
        // SAFETY: a block has at least two words, and the caller is about to own them.
        unsafe {
            if mark.read() == here {
                return false;
            }
            mark.write(here);
        }
        true
    }

    #[inline(always)]
    pub fn is_marked(self) -> bool {
        // SAFETY: a block has at least two words.
        unsafe { (self.0 as *const usize).add(1).read() == self.mark_here() }
    }
}
