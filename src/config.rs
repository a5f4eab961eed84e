//! The settings: what `LIBFIX_*` variables exist, what they accept, and their values.
//!
//! Invariant: read once, without the heap, and never under AT_SECURE; a bad value is told in one
//! line and then ignored.

use crate::line::Line;
use crate::lock::Lock;
use crate::mapping::{Locked, LockedCell};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// One variable.
struct Setting {
    name: &'static CStr,
    /// What is said of a bad value after "expected".
    expected: &'static str,
    /// Takes the value over; false if it is bad.
    take: fn(&[u8]) -> bool,
}

static SETTINGS: [Setting; 5] = [
    Setting {
        name: c"LIBFIX_STATS",
        expected: "0, 1 or the path of a file with a slash in it",
        take: take_stats,
    },
    Setting {
        name: c"LIBFIX_STACK_CACHE",
        expected: "a number of bytes, perhaps with K, M or G behind it",
        take: take_stack_cache,
    },
    Setting {
        name: c"LIBFIX_STACK_LOCK",
        expected: "full, onfault, or a number of bytes, perhaps with K, M or G behind it",
        take: take_stack_lock,
    },
    Setting {
        name: c"LIBFIX_LOCK",
        expected: "full or onfault",
        take: take_lock,
    },
    Setting {
        name: c"LIBFIX_VERBOSE",
        expected: "0 or 1",
        take: take_verbose,
    },
];

/// Where the report at exit goes.
pub enum Report {
    Nowhere,
    StandardError,
    File(&'static CStr),
}

/// Guards the reading.
static LOCK: Lock = Lock::new();
static READ: AtomicBool = AtomicBool::new(false);

/// `LIBFIX_STACK_CACHE`, or [`UNSET`].
static STACK_CACHE: AtomicUsize = AtomicUsize::new(UNSET);
const UNSET: usize = usize::MAX;

static STACK_LOCK: LockedCell = LockedCell::new();
static LOCK_ON_FAULT: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

const NOWHERE: usize = 0;
const STANDARD_ERROR: usize = 1;
const FILE: usize = 2;
static REPORT: AtomicUsize = AtomicUsize::new(NOWHERE);

/// A copy, since programs write over their environment.
struct Path(UnsafeCell<[u8; libc::PATH_MAX as usize]>);
// SAFETY: written once under the lock, before anyone reads it.
unsafe impl Sync for Path {}
static PATH: Path = Path(UnsafeCell::new([0; libc::PATH_MAX as usize]));

unsafe extern "C" {
    static environ: *const *const libc::c_char;
    fn secure_getenv(name: *const libc::c_char) -> *const libc::c_char;
}

/// Bytes of stacks to keep for reuse, if that is set.
pub fn stack_cache() -> Option<usize> {
    Some(STACK_CACHE.load(Relaxed)).filter(|&bytes| bytes != UNSET)
}

/// How much of a stack is locked in a locked process.
pub fn stack_lock() -> Locked {
    STACK_LOCK.get()
}

/// Whether what the program's `mlockall` locks is to be populated by use alone.
pub fn lock_on_fault() -> bool {
    LOCK_ON_FAULT.load(Relaxed)
}

/// Whether to tell why a thread could not be had.
pub fn verbose() -> bool {
    VERBOSE.load(Relaxed)
}

pub fn report() -> Report {
    match REPORT.load(Acquire) {
        STANDARD_ERROR => Report::StandardError,
        // SAFETY: the path was stored, with its NUL, before `REPORT` was.
        FILE => Report::File(unsafe { CStr::from_ptr(PATH.0.get().cast()) }),
        _ => Report::Nowhere,
    }
}

/// In the child of a fork: a thread of the parent may have been reading.
pub fn forked() {
    LOCK.reset();
}

/// Reads all settings, once the environment is there.
pub fn read() {
    if READ.load(Acquire) {
        return;
    }
    let _held = LOCK.lock();
    // SAFETY: libc's variable; null until libc itself is set up.
    if READ.load(Relaxed) || unsafe { environ.is_null() } {
        return;
    }
    for setting in &SETTINGS {
        // SAFETY: the name ends with a NUL, and so does the value.
        let value = unsafe {
            let value = secure_getenv(setting.name.as_ptr());
            if value.is_null() {
                continue;
            }
            CStr::from_ptr(value).to_bytes()
        };
        if !(setting.take)(value) {
            Line::new("libfix: ")
                .bytes(setting.name.to_bytes())
                .str("=")
                .bytes(&value[..value.len().min(100)])
                .str(": expected ")
                .str(setting.expected)
                .str("; using the default")
                .write(2);
        }
    }
    READ.store(true, Release);
}

fn take_stats(value: &[u8]) -> bool {
    let report = match value {
        b"0" => NOWHERE,
        b"1" => STANDARD_ERROR,
        path if path.contains(&b'/') => {
            // SAFETY: only here is it written, under the lock and before `REPORT` says so.
            let buffer = unsafe { &mut *PATH.0.get() };
            if path.len() >= buffer.len() {
                return false;
            }
            buffer[..path.len()].copy_from_slice(path);
            buffer[path.len()] = 0;
            FILE
        }
        _ => return false,
    };
    REPORT.store(report, Release);
    true
}

fn take_stack_cache(value: &[u8]) -> bool {
    let Some(bytes) = size(value) else {
        return false;
    };
    STACK_CACHE.store(bytes, Relaxed);
    true
}

fn take_stack_lock(value: &[u8]) -> bool {
    let locked = match value {
        b"full" => Some(Locked::Full),
        b"onfault" => Some(Locked::OnFault),
        value => size(value).map(Locked::Top),
    };
    locked.inspect(|&locked| STACK_LOCK.set(locked)).is_some()
}

fn take_lock(value: &[u8]) -> bool {
    let on_fault = value == b"onfault";
    LOCK_ON_FAULT.store(on_fault, Relaxed);
    on_fault || value == b"full"
}

fn take_verbose(value: &[u8]) -> bool {
    VERBOSE.store(value == b"1", Relaxed);
    value == b"0" || value == b"1"
}

/// A size in bytes: decimal digits, then perhaps K, M or G.
fn size(text: &[u8]) -> Option<usize> {
    let (digits, unit) = match text.split_last()? {
        (b'K' | b'k', digits) => (digits, 1 << 10),
        (b'M' | b'm', digits) => (digits, 1 << 20),
        (b'G' | b'g', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number = 0usize;
    for digit in digits {
        let digit = digit.checked_sub(b'0').filter(|&d| d < 10)?;
        number = number.checked_mul(10)?.checked_add(usize::from(digit))?;
    }
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_a_unit() {
        assert_eq!(size(b"0"), Some(0));
        assert_eq!(size(b"4097"), Some(4097));
        assert_eq!(size(b"16K"), Some(16 << 10));
        assert_eq!(size(b"3m"), Some(3 << 20));
        assert_eq!(size(b"2G"), Some(2 << 30));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "K", "-1", "+1", "1.5M", "1KB", "0x10", " 1", "1 ", "12T", "1KK",
        ] {
            assert_eq!(size(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(size(b"99999999999999999999"), None);
        assert_eq!(size(b"99999999999G"), None);
    }

    #[test]
    fn a_stack_is_locked_in_full_on_fault_or_at_its_top() {
        assert_eq!(stack_lock(), Locked::Full);
        assert!(take_stack_lock(b"64K"));
        assert_eq!(stack_lock(), Locked::Top(64 << 10));
        assert!(take_stack_lock(b"onfault"));
        assert_eq!(stack_lock(), Locked::OnFault);
        assert!(!take_stack_lock(b"") && !take_stack_lock(b"Full") && !take_stack_lock(b"-1"));
        assert!(take_stack_lock(b"full"));
        assert_eq!(stack_lock(), Locked::Full);
    }

    #[test]
    fn statistics_go_to_standard_error_or_to_a_path() {
        assert!(take_stats(b"1"));
        assert!(matches!(report(), Report::StandardError));
        assert!(take_stats(b"./report"));
        assert!(matches!(report(), Report::File(path) if path == c"./report"));
        assert!(!take_stats(b"yes") && !take_stats(b"") && !take_stats(&[b'/'; 4096]));
        assert!(take_stats(b"0"));
        assert!(matches!(report(), Report::Nowhere));
    }
}
