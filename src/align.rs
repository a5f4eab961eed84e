//! Rounding of sizes and addresses, and the page size.

use crate::auxv;
use core::num::NonZeroUsize;
use once_cell::race::OnceNonZeroUsize;

static PAGE: OnceNonZeroUsize = OnceNonZeroUsize::new();

/// The system's page size in bytes.
pub fn page_size() -> usize {
    PAGE.get_or_init(|| {
        let size = auxv::value(libc::AT_PAGESZ);
        NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN.saturating_add(4095))
    })
    .get()
}

/// `value` rounded up to a multiple of `unit` (a power of two), or `None` past the end.
pub fn up(value: usize, unit: usize) -> Option<usize> {
    Some(value.checked_add(unit - 1)? & !(unit - 1))
}

/// `value` rounded down to a multiple of `unit` (a power of two).
pub fn down(value: usize, unit: usize) -> usize {
    value & !(unit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_up_keeps_multiples_and_never_wraps() {
        assert_eq!(up(0, 4096), Some(0));
        assert_eq!(up(1, 4096), Some(4096));
        assert_eq!(up(4096, 4096), Some(4096));
        assert_eq!(up(usize::MAX, 4096), None);
        assert_eq!(down(8191, 4096), 4096);
    }

    #[test]
    fn the_page_size_is_the_systems() {
        // SAFETY: sysconf is always allowed.
        assert_eq!(page_size(), unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
            as usize);
    }
}
