//! Blocks of the libc below: those that its own malloc gave out, past ours.
//!
//! They come from libraries opened with their own scope, from `dlvsym` and from `RTLD_NEXT` in
//! libraries that are searched after this one. Invariant: such a block is handed to that libc, never to our heap,
//! and what cannot be one (no memory, not aligned, in a loaded object) is reported
//! instead; the rest that libc never gave out is for libc to report.

use crate::{
    align,
    fatal::fatal,
    line::Line,
    sys::{self, Errno},
};
use core::{
    ffi::{CStr, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// A function of the libc below, found at its first use.
struct Below {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Below {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn get(&self) -> *mut c_void {
        let known = self.found.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a NUL; what dlsym allocates comes from our heap.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            let line = Line::new("libfix: the libc below has no ").bytes(self.name.to_bytes());
            fatal(line);
        }
        self.found.store(found, Relaxed);
        found
    }
}

static FREE: Below = Below::new(c"free");
static REALLOC: Below = Below::new(c"realloc");
static USABLE: Below = Below::new(c"malloc_usable_size");

/// Ends the process, naming `function`, if no libc can have given out `block`.
fn check(block: *mut u8, function: &str) {
    let address = block as usize;
    // libc keeps the length of a block right before it.
    let page = align::down(address.wrapping_sub(16), align::page_size());
    let mapped = || {
        // SAFETY: this advice changes nothing; it fails with ENOMEM where nothing is mapped.
        let told = unsafe { sys::advise(page, align::page_size(), libc::MADV_WILLNEED) };
        !matches!(told, Err(Errno(libc::ENOMEM | libc::EINVAL)))
    };
    if !address.is_multiple_of(16) || !mapped() || in_object(address) {
        super::misuse(function, "invalid pointer", address);
    }
}

/// Whether a loaded object occupies `address`.
fn in_object(address: usize) -> bool {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        address: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid object whose program headers stay mapped.
        let (base, headers) = unsafe {
            let info = &*info;
            let count = usize::from(info.dlpi_phnum);
            (
                info.dlpi_addr as usize,
                core::slice::from_raw_parts(info.dlpi_phdr, count),
            )
        };
        let inside = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
            .any(|header| {
                let start = base.wrapping_add(header.p_vaddr as usize);
                (address as usize).wrapping_sub(start) < header.p_memsz as usize
            });
        libc::c_int::from(inside)
    }
    // SAFETY: the callback only compares the address.
    unsafe { libc::dl_iterate_phdr(Some(look), address as *mut c_void) != 0 }
}

/// # Safety
/// `block` must be a live block of the libc below.
pub unsafe fn free(block: *mut u8) {
    check(block, "free");
    // SAFETY: the symbol has this type in every libc.
    let free: unsafe extern "C" fn(*mut u8) = unsafe { core::mem::transmute(FREE.get()) };
    // SAFETY: the caller's promise.
    unsafe { free(block) }
}

/// # Safety
/// `block` must be a live block of the libc below.
pub unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
    check(block, "realloc");
    // SAFETY: the symbol has this type in every libc.
    let realloc: unsafe extern "C" fn(*mut u8, usize) -> *mut u8 =
        unsafe { core::mem::transmute(REALLOC.get()) };
    // SAFETY: the caller's promise.
    unsafe { realloc(block, size) }
}

/// # Safety
/// `block` must be a live block of the libc below.
pub unsafe fn usable(block: *mut u8) -> usize {
    // SAFETY: the symbol has this type in every libc.
    let usable: unsafe extern "C" fn(*mut u8) -> usize =
        unsafe { core::mem::transmute(USABLE.get()) };
    // SAFETY: the caller's promise.
    unsafe { usable(block) }
}
