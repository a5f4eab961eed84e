//! `dlsym`: whoever asks a handle for libc's definition of a name that we follow gets ours. Blocks
//! that libc's own functions hand out (`strdup`, `getline`) are blocks of ours, and threads joined
//! and memory locked past us are harder to follow.
//!
//! Invariant: all else is answered by the real function with its caller in sight, since
//! `RTLD_NEXT` and `RTLD_DEFAULT` depend on who asks: wrappers of malloc find what they wrap.

use super::{heap, thread};
use crate::arch;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;
use once_cell::race::OnceNonZeroUsize;

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// The next `dlsym`, which `dlsym` itself cannot find.
fn real() -> usize {
    static REAL: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let find = || {
        [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"]
            .iter()
            .find_map(|version| {
                // SAFETY: both strings end with a NUL.
                let found =
                    unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
                NonNull::new(found).map(|found| found.addr())
            })
            .ok_or(())
    };
    // Every libc that has `dlvsym` has one of these.
    REAL.get_or_try_init(find)
        .map_or(0, |address| address.get())
}

/// Our function that has this name.
///
/// # Safety
/// `name` must be a string or null.
unsafe fn ours(name: *const c_char) -> Option<usize> {
    let name = NonNull::new(name.cast_mut())?;
    // SAFETY: by the caller's word.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes();
    heap::by_name(name).or_else(|| thread::by_name(name))
}

arch::export_jump!(dlsym, choose, -1);

/// Where a `dlsym` goes.
unsafe extern "C" fn choose(handle: *mut c_void, name: *const c_char, _: *const c_void) -> usize {
    let depends_on_caller = handle == libc::RTLD_NEXT || handle == libc::RTLD_DEFAULT;
    // SAFETY: a string, as `dlsym` demands.
    if !depends_on_caller && unsafe { ours(name) }.is_some() {
        look_up as *const () as usize
    } else {
        real()
    }
}

unsafe extern "C" fn look_up(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // First, since what comes last leaves its error for `dlerror`.
    // SAFETY: a string, as `dlsym` demands.
    let wrapped = is_wrapped(unsafe { CStr::from_ptr(name) });
    // SAFETY: this is the address of libc's `dlsym`, which exists; the arguments are the caller's.
    let found = unsafe { core::mem::transmute::<usize, Dlsym>(real())(handle, name) };
    // SAFETY: a string, as `dlsym` demands.
    match unsafe { ours(name) } {
        Some(ours) if is_of_libc(found) && !wrapped => ours as *mut c_void,
        _ => found,
    }
}

/// Whether a library that is searched after ours wraps this function, or one to which we hand
/// libc's blocks. It may be the one that asks, and would be given its way back to itself.
fn is_wrapped(name: &CStr) -> bool {
    [name, c"free", c"realloc", c"malloc_usable_size"]
        .iter()
        .any(|name| {
            // SAFETY: the name ends with a NUL.
            let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            !is_of_libc(next)
        })
}

/// Whether `address` lies in the libc that the program uses (a namespace of `dlmopen` has another).
fn is_of_libc(address: *const c_void) -> bool {
    let object = |address| {
        let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address may be asked for; on success the result is filled in.
        unsafe {
            (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init().dli_fbase)
        }
    };
    let found = object(address);
    found.is_some() && found == object(libc::gnu_get_libc_version as *const c_void)
}
