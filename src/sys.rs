//! Every system call of the library, one function each, typed.
//!
//! Invariant: none of them touches libc's errno; a failure is returned as [`Errno`].

use crate::{arch, auxv};
use core::sync::atomic::AtomicU32;

/// An error number of the kernel (`errno(3)`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

pub type Result<T> = core::result::Result<T, Errno>;

/// Protection of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prot(pub i32);

impl Prot {
    pub const NONE: Self = Self(libc::PROT_NONE);
    pub const RW: Self = Self(libc::PROT_READ | libc::PROT_WRITE);
    pub const RWX: Self = Self(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
}

fn check(raw: isize) -> Result<usize> {
    if (-4095..0).contains(&raw) {
        Err(Errno(-raw as i32))
    } else {
        Ok(raw as usize)
    }
}

/// Private anonymous memory where the kernel likes it (`flags` are added).
pub fn map(len: usize, prot: Prot, flags: i32) -> Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a mapping at an address of the kernel's choice replaces nothing.
    check(unsafe {
        arch::syscall(
            libc::SYS_mmap,
            [0, len, prot.0 as usize, flags as usize, usize::MAX, 0],
        )
    })
}

/// Private anonymous memory at exactly `addr`, never over something that is there (EEXIST).
pub fn map_new_at(addr: usize, len: usize, prot: Prot, flags: i32) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | flags;
    // SAFETY: MAP_FIXED_NOREPLACE replaces nothing; kernels before 4.17 take it as a hint only.
    let got = check(unsafe {
        arch::syscall(
            libc::SYS_mmap,
            [addr, len, prot.0 as usize, flags as usize, usize::MAX, 0],
        )
    })?;
    if got != addr {
        // SAFETY: the kernel just gave us this mapping and nobody else knows of it.
        let _ = unsafe { unmap(got, len) };
        return Err(Errno(libc::EEXIST));
    }
    Ok(())
}

/// Private anonymous memory over what is mapped at `addr`.
///
/// # Safety
/// `[addr, addr + len)` must be the caller's own mapping, and its contents dead.
pub unsafe fn map_over(addr: usize, len: usize, prot: Prot, flags: i32) -> Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | flags;
    // SAFETY: the caller owns the range.
    check(unsafe {
        arch::syscall(
            libc::SYS_mmap,
            [addr, len, prot.0 as usize, flags as usize, usize::MAX, 0],
        )
    })
    .map(drop)
}

/// # Safety
/// The range must be the caller's own and dead.
pub unsafe fn unmap(addr: usize, len: usize) -> Result<()> {
    // SAFETY: the caller owns the range.
    check(unsafe { arch::syscall(libc::SYS_munmap, [addr, len, 0, 0, 0, 0]) }).map(drop)
}

/// # Safety
/// The range must be the caller's own, and nobody may rely on the rights taken away.
pub unsafe fn protect(addr: usize, len: usize, prot: Prot) -> Result<()> {
    // SAFETY: the caller owns the range.
    check(unsafe { arch::syscall(libc::SYS_mprotect, [addr, len, prot.0 as usize, 0, 0, 0]) })
        .map(drop)
}

/// Grows or moves a mapping; with `to` it lands exactly there, over what is there.
///
/// # Safety
/// Both ranges must be the caller's own; pointers into the old one are dead afterwards.
pub unsafe fn remap(addr: usize, old: usize, new: usize, to: Option<usize>) -> Result<usize> {
    let flags = libc::MREMAP_MAYMOVE | if to.is_some() { libc::MREMAP_FIXED } else { 0 };
    // SAFETY: the caller owns both ranges.
    check(unsafe {
        arch::syscall(
            libc::SYS_mremap,
            [addr, old, new, flags as usize, to.unwrap_or(0), 0],
        )
    })
}

/// Lengthens a mapping where it is; fails if something is mapped behind it.
///
/// # Safety
/// The old range must be the caller's own, and so must be what is mapped.
pub unsafe fn extend(addr: usize, old: usize, new: usize) -> Result<()> {
    // SAFETY: the caller owns both ranges.
    check(unsafe { arch::syscall(libc::SYS_mremap, [addr, old, new, 0, 0, 0]) }).map(drop)
}

/// # Safety
/// The range must be the caller's own; `advice` may drop its contents.
pub unsafe fn advise(addr: usize, len: usize, advice: i32) -> Result<()> {
    // SAFETY: the caller owns the range.
    check(unsafe { arch::syscall(libc::SYS_madvise, [addr, len, advice as usize, 0, 0, 0]) })
        .map(drop)
}

/// `munlock(2)`: the pages stay, unlocked and not charged.
pub fn unlock(addr: usize, len: usize) -> Result<()> {
    // SAFETY: unlocking changes no contents.
    check(unsafe { arch::syscall(libc::SYS_munlock, [addr, len, 0, 0, 0, 0]) }).map(drop)
}

/// `mlock2(2)` with MLOCK_ONFAULT: charged in full, but pages come when they are touched.
pub fn lock_on_fault(addr: usize, len: usize) -> Result<()> {
    const MLOCK_ONFAULT: usize = 1;
    // SAFETY: locking changes no contents.
    check(unsafe { arch::syscall(libc::SYS_mlock2, [addr, len, MLOCK_ONFAULT, 0, 0, 0]) }).map(drop)
}

/// Sleeps while `*word == expected` (private futex); returns on a wake, a signal or a change.
pub fn futex_wait(word: &AtomicU32, expected: u32) {
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call.
    unsafe {
        arch::syscall(
            libc::SYS_futex,
            [
                word.as_ptr() as usize,
                op as usize,
                expected as usize,
                0,
                0,
                0,
            ],
        );
    }
}

/// Sleeps for so many nanoseconds, less than a second, or until a signal comes.
pub fn nap(nanoseconds: i64) {
    let word = AtomicU32::new(0);
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds,
    };
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // A futex, since that is allowed wherever threads are. SAFETY: word and time outlive the call.
    unsafe {
        arch::syscall(
            libc::SYS_futex,
            [
                word.as_ptr() as usize,
                op as usize,
                0,
                &raw const time as usize,
                0,
                0,
            ],
        );
    }
}

/// Wakes one sleeper on `word` (private futex).
pub fn futex_wake_one(word: &AtomicU32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address as a key only.
    unsafe {
        arch::syscall(
            libc::SYS_futex,
            [word.as_ptr() as usize, op as usize, 1, 0, 0, 0],
        );
    }
}

/// Milliseconds of a clock that only goes forward, as of the kernel's last tick.
pub fn coarse_ms() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let clock = libc::CLOCK_MONOTONIC_COARSE;
    // SAFETY: both write one timespec.
    unsafe {
        match auxv::clock_gettime() {
            Some(get) => get(clock, &mut time),
            None => {
                let at = &raw mut time as usize;
                arch::syscall(libc::SYS_clock_gettime, [clock as usize, at, 0, 0, 0, 0]) as i32
            }
        };
    }
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// The kernel's id of the running thread.
pub fn gettid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { arch::syscall(libc::SYS_gettid, [0; 6]) as i32 }
}

/// Address of the word that the kernel clears when the running thread is off its stack
/// (`PR_GET_TID_ADDRESS`; needs CONFIG_CHECKPOINT_RESTORE).
pub fn tid_address() -> Result<usize> {
    let mut address = 0usize;
    // SAFETY: the kernel writes one pointer to `address`.
    check(unsafe {
        arch::syscall(
            libc::SYS_prctl,
            [
                libc::PR_GET_TID_ADDRESS as usize,
                &raw mut address as usize,
                0,
                0,
                0,
                0,
            ],
        )
    })?;
    Ok(address)
}

/// Soft limit of a resource of this process in its unit (bytes for sizes), `u64::MAX` for none.
pub fn soft_limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 {
        rlim_cur: u64::MAX,
        rlim_max: u64::MAX,
    };
    // SAFETY: the kernel writes one rlimit64.
    unsafe {
        arch::syscall(
            libc::SYS_prlimit64,
            [0, resource as usize, 0, &raw mut limit as usize, 0, 0],
        );
    }
    limit.rlim_cur
}

/// Writes all of `bytes` to `fd`, as far as it goes.
pub fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the kernel reads `bytes` only.
        let raw = unsafe {
            arch::syscall(
                libc::SYS_write,
                [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0],
            )
        };
        match check(raw) {
            Ok(0) => return,
            Ok(n) => bytes = &bytes[n..],
            Err(Errno(libc::EINTR)) => {}
            Err(_) => return,
        }
    }
}

/// Opens the file named by the NUL-terminated `path` (close-on-exec; mode 0666 if created).
pub fn open(path: &core::ffi::CStr, flags: i32) -> Result<i32> {
    let flags = flags | libc::O_CLOEXEC;
    let at = libc::AT_FDCWD as usize;
    // SAFETY: the path ends with a NUL.
    check(unsafe {
        arch::syscall(
            libc::SYS_openat,
            [at, path.as_ptr() as usize, flags as usize, 0o666, 0, 0],
        )
    })
    .map(|fd| fd as i32)
}

/// Reads up to `buffer.len()` bytes.
pub fn read(fd: i32, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: the kernel writes inside `buffer`.
    check(unsafe {
        arch::syscall(
            libc::SYS_read,
            [
                fd as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    })
}

/// Closes a descriptor of ours.
pub fn close(fd: i32) {
    // SAFETY: the descriptor is ours.
    unsafe {
        arch::syscall(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
    }
}

/// Whether the running thread may lock memory without regard to RLIMIT_MEMLOCK (CAP_IPC_LOCK;
/// inside a user namespace the kernel may still refuse what this promises).
pub fn may_lock_all() -> bool {
    const VERSION_3: u32 = 0x2008_0522;
    const CAP_IPC_LOCK: u32 = 14;
    let header = [VERSION_3, 0];
    // Effective, permitted and inheritable sets, 32 capabilities per triple.
    let mut sets = [0u32; 6];
    // SAFETY: the kernel reads the header and writes two triples.
    let raw = unsafe {
        arch::syscall(
            libc::SYS_capget,
            [
                &raw const header as usize,
                &raw mut sets as usize,
                0,
                0,
                0,
                0,
            ],
        )
    };
    raw == 0 && sets[0] & (1 << CAP_IPC_LOCK) != 0
}

/// How many threads the process has, those included that are about to vanish; none where `/proc`
/// does not tell.
pub fn count_threads() -> Option<u64> {
    // SAFETY: an all-zero `stat64` is valid.
    let mut stat: libc::stat64 = unsafe { core::mem::zeroed() };
    let (at, path) = (
        libc::AT_FDCWD as usize,
        c"/proc/self/task".as_ptr() as usize,
    );
    // SAFETY: the path ends with a NUL, and the kernel writes one `stat64`.
    let raw = unsafe {
        arch::syscall(
            libc::SYS_newfstatat,
            [at, path, &raw mut stat as usize, 0, 0, 0],
        )
    };
    // A directory has a link from itself, one from its parent, and one from each in it.
    if raw == 0 {
        (stat.st_nlink as u64).checked_sub(2)
    } else {
        None
    }
}

/// The kernel's id of the process.
pub fn getpid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { arch::syscall(libc::SYS_getpid, [0; 6]) as i32 }
}
