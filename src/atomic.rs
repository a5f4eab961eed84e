//! Atomic words by the way they are used.
//!
//! * [`Plain`] words: one thread writes, others may read an old value. Loads and stores only, so
//!   they compile to plain moves; they never order anything.
//! * [`HintFlag`]: the relaxed `have_fastchunks` of an arena.

use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

/// A word with a single writer; see the head of the file.
pub struct Plain<A>(A);

macro_rules! plain {
    ($atomic:ty, $value:ty) => {
        impl Plain<$atomic> {
            #[inline(always)]
            pub fn get(&self) -> $value {
                self.0.load(Relaxed)
            }
            /// [`Plain::get`] in the one thread that writes: a plain load, which the compiler may
            /// make part of another instruction.
            ///
            /// # Safety
            /// No other thread may write the word meanwhile.
            #[inline(always)]
            pub unsafe fn own(&self) -> $value {
                // SAFETY: only loads run beside this one.
                unsafe { *self.0.as_ptr() }
            }
            #[inline(always)]
            pub fn set(&self, value: $value) {
                self.0.store(value, Relaxed)
            }
        }
    };
}
plain!(AtomicU32, u32);
plain!(AtomicUsize, usize);

impl Plain<AtomicUsize> {
    pub const fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }
}

impl Plain<AtomicU32> {
    pub const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
}

impl<T> Plain<AtomicPtr<T>> {
    pub const fn new(value: *mut T) -> Self {
        Self(AtomicPtr::new(value))
    }
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        self.0.load(Relaxed)
    }
    /// # Safety
    /// No other thread may write the word meanwhile.
    #[inline(always)]
    pub unsafe fn own(&self) -> *mut T {
        // SAFETY: only loads run beside this one.
        unsafe { *self.0.as_ptr() }
    }
    #[inline(always)]
    pub fn set(&self, value: *mut T) {
        self.0.store(value, Relaxed)
    }
}

pub type Plain32 = Plain<AtomicU32>;
pub type PlainSize = Plain<AtomicUsize>;
pub type PlainPtr<T> = Plain<AtomicPtr<T>>;

/// A hint of one bit that any thread may set and its owner clears.
///
/// It orders no memory and may be wrong both ways: set with nothing to find costs one search,
/// clear with something to find delays finding it until the next set. An `int`, since not every
/// CPU has byte atomics. The feature `atomic-flag` sets it by an atomic OR, for comparison only.
pub struct HintFlag(AtomicI32);

impl HintFlag {
    #[inline(always)]
    pub fn set(&self) {
        #[cfg(not(feature = "atomic-flag"))]
        self.0.store(1, Relaxed);
        #[cfg(feature = "atomic-flag")]
        self.0.fetch_or(1, Relaxed);
    }
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
    #[inline(always)]
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }
}
