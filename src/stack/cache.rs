//! Ended stacks kept for the next thread of the same shape.
//!
//! Invariant: a slot is in the cache exactly once, on two lists: the one of its bucket, from which
//! the warmest is taken, and the one by age, from whose end the coldest is given up.

use super::{Shape, Stack};
use core::ptr::null_mut;

/// A place for one stack with the links of the cache. It lives inside the thread's record, so that
/// caching needs no memory and does not touch the stack.
pub struct Slot {
    pub stack: Option<Stack>,
    older: *mut Slot,
    newer: *mut Slot,
    colder: *mut Slot,
    warmer: *mut Slot,
}

impl Slot {
    pub const fn new() -> Self {
        Self {
            stack: None,
            older: null_mut(),
            newer: null_mut(),
            colder: null_mut(),
            warmer: null_mut(),
        }
    }
}

const BUCKETS: usize = 16;

pub struct Cache {
    newest: *mut Slot,
    oldest: *mut Slot,
    /// Warmest slot of each bucket.
    buckets: [*mut Slot; BUCKETS],
    bytes: usize,
    shallow_bytes: usize,
    count: usize,
}

fn bucket(shape: Shape) -> usize {
    // Sizes are rarely equal in all their upper bits; fold them down.
    let mixed = (shape.size >> 6) ^ (shape.guard >> 12).wrapping_mul(5);
    (mixed ^ (mixed >> 6) ^ (mixed >> 12)) % BUCKETS
}

impl Cache {
    pub const fn new() -> Self {
        Self {
            newest: null_mut(),
            oldest: null_mut(),
            buckets: [null_mut(); BUCKETS],
            bytes: 0,
            shallow_bytes: 0,
            count: 0,
        }
    }

    /// Weight of all cached stacks.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds a slot with a stack.
    ///
    /// # Safety
    /// The slot must hold a stack, be in no cache, and stay where it is until taken out.
    pub unsafe fn put(&mut self, slot: *mut Slot) {
        // SAFETY: the caller hands over the slot; those linked are valid by the invariant.
        unsafe {
            let Some(stack) = &(*slot).stack else { return };
            let top = &mut self.buckets[bucket(stack.shape())];
            self.bytes += stack.weight();
            self.shallow_bytes += stack.shallow_bytes();
            self.count += 1;
            (*slot).warmer = null_mut();
            (*slot).colder = *top;
            if !top.is_null() {
                (**top).warmer = slot;
            }
            *top = slot;
            (*slot).newer = null_mut();
            (*slot).older = self.newest;
            if self.newest.is_null() {
                self.oldest = slot;
            } else {
                (*self.newest).newer = slot;
            }
            self.newest = slot;
        }
    }

    /// Takes out the stack of exactly this shape that was put in last, if it serves at the moment.
    pub fn take(&mut self, shape: Shape) -> Option<*mut Slot> {
        let mut slot = self.buckets[bucket(shape)];
        while !slot.is_null() {
            // SAFETY: slots on a list are valid by the invariant.
            unsafe {
                if (*slot)
                    .stack
                    .as_ref()
                    .is_some_and(|s| s.shape() == shape && s.is_current())
                {
                    self.remove(slot);
                    return Some(slot);
                }
                slot = (*slot).colder;
            }
        }
        None
    }

    /// Takes out the stack that was put in first, if more than `bound` bytes are cached, or more
    /// than `shallow` that may be in memory though all deep pages were given back.
    pub fn take_oldest_over(&mut self, bound: usize, shallow: usize) -> Option<*mut Slot> {
        if self.bytes > bound || self.shallow_bytes > shallow {
            self.take_oldest()
        } else {
            None
        }
    }

    /// Takes out the stack that was put in first.
    pub fn take_oldest(&mut self) -> Option<*mut Slot> {
        let slot = self.oldest;
        if slot.is_null() {
            return None;
        }
        // SAFETY: it is on the list.
        unsafe { self.remove(slot) };
        Some(slot)
    }

    /// # Safety
    /// The slot must be in this cache.
    unsafe fn remove(&mut self, slot: *mut Slot) {
        // SAFETY: the slot and its neighbours are valid by the invariant.
        unsafe {
            let Some(stack) = &(*slot).stack else { return };
            self.bytes -= stack.weight();
            self.shallow_bytes -= stack.shallow_bytes();
            self.count -= 1;
            let (colder, warmer) = ((*slot).colder, (*slot).warmer);
            if warmer.is_null() {
                self.buckets[bucket(stack.shape())] = colder;
            } else {
                (*warmer).colder = colder;
            }
            if !colder.is_null() {
                (*colder).warmer = warmer;
            }
            let (older, newer) = ((*slot).older, (*slot).newer);
            if newer.is_null() {
                self.newest = older;
            } else {
                (*newer).older = older;
            }
            if older.is_null() {
                self.oldest = newer;
            } else {
                (*older).newer = newer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Shape = Shape {
        size: 65536,
        guard: 0,
    };
    const B: Shape = Shape {
        size: 131_072,
        guard: 0,
    };

    fn slot(shape: Shape) -> *mut Slot {
        let mut slot = Slot::new();
        slot.stack = Some(Stack::map(shape).unwrap());
        Box::into_raw(Box::new(slot))
    }

    fn cache_of(shapes: &[Shape]) -> (Cache, Vec<*mut Slot>) {
        let (mut cache, mut slots) = (Cache::new(), Vec::new());
        for &shape in shapes {
            let slot = slot(shape);
            // SAFETY: new, with a stack, and never moved.
            unsafe { cache.put(slot) };
            slots.push(slot);
        }
        (cache, slots)
    }

    fn discard(slots: Vec<*mut Slot>) {
        for slot in slots {
            // SAFETY: made by `Box::into_raw` in `slot`, and the cache is gone.
            drop(unsafe { Box::from_raw(slot) });
        }
    }

    #[test]
    fn the_stack_put_in_last_comes_out_first() {
        let (mut cache, slots) = cache_of(&[A, B, A]);
        assert_eq!(cache.take(A), Some(slots[2]));
        assert_eq!(cache.take(A), Some(slots[0]));
        assert_eq!(cache.take(A), None);
        assert_eq!(cache.take(B), Some(slots[1]));
        assert_eq!((cache.bytes(), cache.count()), (0, 0));
        discard(slots);
    }

    #[test]
    fn only_exactly_the_same_shape_serves() {
        let (mut cache, slots) = cache_of(&[A]);
        assert_eq!(
            cache.take(Shape {
                size: A.size - 64,
                guard: 0
            }),
            None
        );
        assert_eq!(
            cache.take(Shape {
                size: A.size,
                guard: 4096
            }),
            None
        );
        assert_eq!(cache.count(), 1);
        discard(slots);
    }

    #[test]
    fn over_the_bound_the_oldest_goes_first_and_no_more_than_needed() {
        let (mut cache, slots) = cache_of(&[A, B, A]);
        let bound = A.size + B.size;
        assert_eq!(cache.take_oldest_over(bound, usize::MAX), Some(slots[0]));
        assert_eq!(cache.take_oldest_over(bound, usize::MAX), None);
        assert_eq!(cache.bytes(), bound);
        assert_eq!(cache.take_oldest(), Some(slots[1]));
        assert_eq!(cache.take_oldest_over(usize::MAX, 4096), Some(slots[2]));
        assert_eq!(cache.take_oldest(), None);
        discard(slots);
    }

    #[test]
    fn a_slot_from_the_middle_leaves_both_lists_whole() {
        let (mut cache, mut slots) = cache_of(&[A, A, A, B]);
        // SAFETY: in the cache.
        unsafe { cache.remove(slots[1]) };
        let again = slot(A);
        // SAFETY: new, with a stack, and never moved.
        unsafe { cache.put(again) };
        let order: Vec<_> = core::iter::from_fn(|| cache.take_oldest()).collect();
        assert_eq!(order, [slots[0], slots[2], slots[3], again]);
        slots.push(again);
        discard(slots);
    }
}
