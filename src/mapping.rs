//! A private mapping with a closed part below an open one: reserved without any right first, its
//! lock settled while no page exists, then opened; unmapped when dropped.
//!
//! Invariant: the closed part is never populated, committed, locked or counted against
//! RLIMIT_MEMLOCK, whatever the program's memory lock.
//!
//! Under `MCL_FUTURE` the kernel locks and charges every new mapping in full, but one that is not
//! locked may grow without charge. So one page, the *seed*, is kept unlocked: grown, it gives the
//! reserve; its lowest page stays behind as the next seed; and mapping the open part over the
//! upper end makes the kernel lock, charge and populate exactly that. No call of the mlock family
//! is made on this path but for [`Locked::OnFault`], two mappings per reserve remain (the seed merges with the closed part),
//! and `MCL_ONFAULT` is honoured.

use crate::align::{self, page_size};
use crate::lock::Lock;
use crate::memlock;
use crate::sys::{self, Errno, Prot};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Guards [`SEED`].
static LOCK: Lock = Lock::new();
/// Address of the seed page, or zero. Only used under [`LOCK`].
static SEED: AtomicUsize = AtomicUsize::new(0);

/// How much of the open part is locked where the program's lock covers new mappings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locked {
    /// All, as the program asked: populated too, if it asked for that.
    Full,
    /// All, but pages become resident when they are touched. Charged in full all the same.
    OnFault,
    /// So many bytes at the upper end. The rest is neither locked nor charged.
    Top(usize),
}

impl Locked {
    /// Bytes at the lower end of `open` ones that are not locked.
    pub fn spared(self, open: usize) -> usize {
        match self {
            Self::Full | Self::OnFault => 0,
            Self::Top(bytes) => {
                open.saturating_sub(align::up(bytes, page_size()).unwrap_or(usize::MAX))
            }
        }
    }
}

/// A [`Locked`] that can be set.
pub struct LockedCell(AtomicUsize);

impl LockedCell {
    const FULL: usize = usize::MAX;
    const ON_FAULT: usize = usize::MAX - 1;

    pub const fn new() -> Self {
        Self(AtomicUsize::new(Self::FULL))
    }

    pub fn set(&self, locked: Locked) {
        let word = match locked {
            Locked::Full => Self::FULL,
            Locked::OnFault => Self::ON_FAULT,
            Locked::Top(bytes) => bytes.min(Self::ON_FAULT - 1),
        };
        self.0.store(word, Relaxed);
    }

    pub fn get(&self) -> Locked {
        match self.0.load(Relaxed) {
            Self::FULL => Locked::Full,
            Self::ON_FAULT => Locked::OnFault,
            bytes => Locked::Top(bytes),
        }
    }
}

/// See the head of the file. Owns `[base, base + len)`.
pub struct Mapping {
    base: usize,
    len: usize,
}

impl Mapping {
    /// Maps `closed` bytes without any right and above them `open` bytes with `prot` (multiples of
    /// the page size, not both zero). Nothing stays behind on failure.
    pub fn new(closed: usize, open: usize, prot: Prot, locked: Locked) -> Result<Self, Errno> {
        let len = closed.checked_add(open).ok_or(Errno(libc::ENOMEM))?;
        if memlock::future() {
            return Self::from_seed(closed, open, prot, locked);
        }
        let reserve = sys::map(len, Prot::NONE, libc::MAP_STACK).map(|base| Self { base, len });
        let reserve = match reserve {
            Ok(reserve) => reserve,
            // Perhaps refused because it would be locked, though we were not told of the lock.
            Err(_) if lock_found_by_a_page() => {
                return Self::from_seed(closed, open, prot, locked);
            }
            Err(error) => return Err(error),
        };
        // SAFETY: the reserve is new and empty.
        if unsafe { memlock::probe(reserve.base, page_size()) } {
            drop(reserve);
            found_locked();
            return Self::from_seed(closed, open, prot, locked);
        }
        // SAFETY: the range is part of the new reserve.
        unsafe { sys::protect(reserve.base + closed, open, prot) }?;
        Ok(reserve)
    }

    fn from_seed(closed: usize, open: usize, prot: Prot, locked: Locked) -> Result<Self, Errno> {
        let mapping = Self {
            base: grow_seed(closed + open)?,
            len: closed + open,
        };
        let low = mapping.base + closed;
        if locked == Locked::OnFault {
            // Before it is opened, for opening what is locked populates it.
            sys::lock_on_fault(low, open)?;
            // SAFETY: the range is part of the new reserve.
            unsafe { sys::protect(low, open, prot) }?;
            return Ok(mapping);
        }
        let spared = locked.spared(open);
        if spared > 0 {
            // SAFETY: the range is part of the new reserve.
            unsafe { sys::protect(low, spared, prot) }?;
        }
        let (top, open) = (low + spared, open - spared);
        if open == 0 {
            return Ok(mapping);
        }
        // SAFETY: the range is the upper end of the new reserve.
        let Err(error) = (unsafe { sys::map_over(top, open, prot, libc::MAP_STACK) }) else {
            return Ok(mapping);
        };
        if error != Errno(libc::EAGAIN) {
            // Kernels before 6.12 may have made a hole before they refused. It is filled again, so
            // that the unmapping that follows cannot hit what another thread mapped there; being
            // occupied tells that the kernel left the range alone.
            let _ = sys::map_new_at(top, open, Prot::NONE, 0);
        }
        Err(error)
    }

    pub fn base(&self) -> usize {
        self.base
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and its owner gave it up. A refusal (the process is at its
        // limit of mappings, and these merged with a neighbour) leaves it mapped, which is safe.
        let _ = unsafe { sys::unmap(self.base, self.len) };
    }
}

/// In the child of a fork. A thread of the parent may have been about to grow the seed: then where
/// it is now is not known, and a page is lost. This thread goes on where a handler that forked
/// interrupted it.
pub fn forked() {
    if !LOCK.is_mine() && LOCK.try_lock().is_none() {
        SEED.store(0, Relaxed);
        LOCK.reset();
    }
}

/// Whether there is a seed that a lock may have fallen on.
pub fn has_seed() -> bool {
    SEED.load(Relaxed) != 0
}

/// The program has just switched on `MCL_FUTURE`, or a lock may have fallen on the seed: makes
/// the seed if there is none, and takes the lock off it.
pub fn tend_seed() {
    let _held = LOCK.lock();
    let page = page_size();
    if SEED.load(Relaxed) == 0
        && let Ok(seed) = sys::map(page, Prot::NONE, libc::MAP_STACK)
    {
        SEED.store(seed, Relaxed);
    }
    let seed = SEED.load(Relaxed);
    if seed != 0 {
        // A seed that stays locked grows with charge: dearer, not wrong.
        let _ = sys::unlock(seed, page);
    }
}

fn found_locked() {
    memlock::changed(true);
    tend_seed();
}

/// Whether new mappings are locked, tried with one page; if so, that is remembered.
fn lock_found_by_a_page() -> bool {
    let page = page_size();
    let Ok(base) = sys::map(page, Prot::NONE, libc::MAP_STACK) else {
        return false;
    };
    let page = Mapping { base, len: page };
    // SAFETY: the page is new and empty.
    let locked = unsafe { memlock::probe(page.base, page.len) };
    drop(page);
    if locked {
        found_locked();
    }
    locked
}

/// Gives `len` bytes of address space without any right, unlocked, and keeps the seed.
fn grow_seed(len: usize) -> Result<usize, Errno> {
    let page = page_size();
    let total = len.checked_add(page).ok_or(Errno(libc::ENOMEM))?;
    if SEED.load(Relaxed) == 0 {
        tend_seed();
    }
    let _held = LOCK.lock();
    let seed = SEED.load(Relaxed);
    if seed == 0 {
        return Err(Errno(libc::EAGAIN));
    }
    // SAFETY: the seed is ours, empty, and only used under the lock.
    let moved = unsafe { sys::remap(seed, page, total, None) }?;
    SEED.store(moved, Relaxed);
    // SAFETY: the reserve is new and empty.
    if unsafe { memlock::probe(moved, page) } {
        // The program locked everything mapped by a raw system call, the seed included.
        let _ = sys::unlock(moved, total);
    }
    Ok(moved + page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_part_is_usable_to_its_last_byte() {
        let page = page_size();
        let mapping = Mapping::new(page, 2 * page, Prot::RW, Locked::Full).unwrap();
        assert_eq!(mapping.len(), 3 * page);
        let bytes = (mapping.base() + page) as *mut u8;
        // SAFETY: both bytes lie in the open part.
        unsafe {
            bytes.write_volatile(1);
            bytes.add(2 * page - 1).write_volatile(2);
            assert_eq!(
                bytes.read_volatile() + bytes.add(2 * page - 1).read_volatile(),
                3
            );
        }
    }

    #[test]
    fn a_dropped_mapping_is_gone() {
        let page = page_size();
        let mapping = Mapping::new(0, page, Prot::RW, Locked::Full).unwrap();
        let base = mapping.base();
        drop(mapping);
        assert_eq!(sys::map_new_at(base, page, Prot::NONE, 0), Ok(()));
        // SAFETY: just mapped here.
        unsafe { sys::unmap(base, page) }.unwrap();
    }

    #[test]
    fn what_is_spared_is_what_lies_below_whole_pages() {
        let page = page_size();
        let cell = LockedCell::new();
        assert_eq!(cell.get().spared(8 * page), 0);
        for (locked, spared) in [
            (Locked::OnFault, 0),
            (Locked::Top(0), 8),
            (Locked::Top(1), 7),
            (Locked::Top(8 * page), 0),
            (Locked::Top(usize::MAX), 0),
        ] {
            cell.set(locked);
            assert_eq!(cell.get().spared(8 * page), spared * page, "{locked:?}");
        }
    }

    #[test]
    fn what_does_not_fit_the_address_space_is_refused() {
        let most = usize::MAX & !(page_size() - 1);
        assert!(Mapping::new(page_size(), most, Prot::RW, Locked::Full).is_err());
        assert!(Mapping::new(0, 1 << 50, Prot::RW, Locked::Full).is_err());
    }
}
