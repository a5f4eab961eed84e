//! Size classes of small blocks.
//!
//! Invariant: every class size is a multiple of 16; a request is served by the smallest class
//! that holds it, so at most an eighth of a block above 128 bytes is lost (a quarter above 8 KiB).

/// Number of classes.
pub const CLASSES: usize = 64;
/// Largest request in bytes that a class serves.
pub const MAX_SMALL: usize = 32 << 10;
/// Largest request that is looked up by table.
pub const MAX_DIRECT: usize = 1024;
/// Entries of a table indexed by [`direct_index`].
pub const DIRECT: usize = MAX_DIRECT / 16 + 1;
/// Bytes in a page of the heap, on every kernel.
pub const PAGE: usize = 4096;

/// The table index of a request of at most [`MAX_DIRECT`] bytes.
#[inline(always)]
pub const fn direct_index(size: usize) -> usize {
    size.div_ceil(16)
}

/// The class that serves a request of at most [`MAX_SMALL`] bytes.
#[inline]
pub const fn class_of(size: usize) -> usize {
    if size <= 256 {
        return if size == 0 { 0 } else { (size - 1) / 16 };
    }
    let last = size - 1;
    let power = last.ilog2() as usize;
    match power {
        13 => 56 + ((last >> 11) & 3),
        14 => 60 + ((last >> 12) & 3),
        _ => 16 + (power - 8) * 8 + ((last >> (power - 3)) & 7),
    }
}

/// Bytes in a block of `class`.
#[inline]
pub const fn size_of(class: usize) -> usize {
    match class {
        0..16 => (class + 1) * 16,
        16..56 => {
            let power = 8 + (class - 16) / 8;
            (1 << power) + ((class - 16) % 8 + 1) * (1 << (power - 3))
        }
        56..60 => 8192 + (class - 55) * 2048,
        _ => 16384 + (class - 59) * 4096,
    }
}

/// Pages of the first span of `class`: the fewest that lose at most an eighth of themselves.
pub const fn first_pages(class: usize) -> usize {
    let size = size_of(class);
    let mut pages = size.div_ceil(PAGE);
    while (pages * PAGE) % size * 8 > pages * PAGE {
        pages += 1;
    }
    pages
}

/// Pages of a span for a class that could use `pages`: a power of two times [`first_pages`], at
/// most 64 KiB or eight blocks.
pub const fn span_pages(class: usize, pages: usize) -> usize {
    let most = if size_of(class) * 8 > 64 << 10 {
        size_of(class) * 8 / PAGE
    } else {
        16
    };
    let mut span = first_pages(class);
    while span * 2 <= most && span * 2 <= pages {
        span *= 2;
    }
    span
}

/// A class whose blocks all start at multiples of `align` (at most [`PAGE`]), for `size` bytes.
pub fn aligned_class(size: usize, align: usize) -> Option<usize> {
    let size = size.max(align);
    if size > MAX_SMALL {
        return None;
    }
    (class_of(size)..CLASSES).find(|&class| size_of(class).is_multiple_of(align))
}

/// Tells by one multiplication whether a block starts somewhere, and whether it is among the first.
///
/// `size * magic` is `2^64 + excess` (or `excess` in 64 bits), which is 1 to `size`. So of all `n < 2^32` exactly
/// the first `k` multiples of `size` have `n * magic (mod 2^64) < k * excess`, as long as that is
/// less than `magic`: `n = q * size + r` gives `q * excess + r * magic`. (After Lemire, Kaser and
/// Kurz, "Faster remainder by direct computation", 2019.)
pub const fn divisor_magic(size: usize) -> usize {
    usize::MAX / size + 1 + size.is_power_of_two() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_gets_the_smallest_class_that_holds_it() {
        for size in 0..=MAX_SMALL {
            let class = class_of(size);
            assert!(size_of(class) >= size, "{size}");
            assert!(class == 0 || size_of(class - 1) < size, "{size}");
        }
        assert_eq!(class_of(MAX_SMALL), CLASSES - 1);
    }

    #[test]
    fn class_sizes_keep_sixteen_byte_alignment() {
        assert!((0..CLASSES).all(|class| size_of(class).is_multiple_of(16)));
    }

    #[test]
    fn spans_lose_at_most_an_eighth_at_every_length() {
        for class in 0..CLASSES {
            for wanted in 0..200 {
                let pages = span_pages(class, wanted);
                let lost = pages * PAGE % size_of(class);
                assert!(lost * 8 <= pages * PAGE, "class {class} pages {pages}");
                assert!(pages <= wanted.max(first_pages(class)));
            }
        }
    }

    #[test]
    fn the_magic_number_tells_the_first_multiples_from_the_rest() {
        for size in (0..CLASSES).map(size_of) {
            let magic = divisor_magic(size);
            let excess = magic.wrapping_mul(size);
            assert!((1..=size).contains(&excess), "{size}");
            let most = (256 << 10) / size;
            for count in [0, 1, most / 2, most] {
                assert!(count * excess < magic.min(1 << 32), "{size}");
                let far = (u32::MAX as usize - 100_000..=u32::MAX as usize).step_by(7);
                for n in (0..300_000).step_by(16).chain(0..2000).chain(far) {
                    let first = n % size == 0 && n / size < count;
                    assert_eq!(n.wrapping_mul(magic) < count * excess, first, "{size} {n}");
                }
            }
        }
    }

    #[test]
    fn aligned_classes_are_aligned() {
        for shift in 4..=12 {
            for size in (0..9000).step_by(7) {
                let class = aligned_class(size, 1 << shift).unwrap();
                assert!(size_of(class) >= size && size_of(class).is_multiple_of(1 << shift));
            }
        }
    }
}
