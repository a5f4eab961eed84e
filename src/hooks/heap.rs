//! The malloc family: C names, arguments checked, errno set.
//!
//! Semantics are those of glibc 2.36 (malloc(3), posix_memalign(3), mallopt(3), mallinfo(3)).
//! Invariant: errno is set to ENOMEM or EINVAL on failure and untouched otherwise.

use crate::{align, heap};
use core::{
    ffi::{c_char, c_int, c_void},
    mem, ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

#[cold]
fn failed(error: c_int) {
    // SAFETY: the running thread's errno is always there to be written.
    unsafe { *libc::__errno_location() = error };
}

#[inline(always)]
fn or_enomem(block: *mut u8) -> *mut c_void {
    if block.is_null() {
        failed(libc::ENOMEM);
    }
    block.cast()
}

fn aligned(align: usize, size: usize) -> *mut c_void {
    or_enomem(heap::allocate_aligned(align, size))
}

/// # Safety
/// malloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    match heap::allocate_fast(size) {
        Some(block) => block.cast(),
        None => malloc_slow(size),
    }
}

/// A tail call of `malloc`, so that the fast road needs no frame.
#[cold]
#[inline(never)]
extern "C" fn malloc_slow(size: usize) -> *mut c_void {
    or_enomem(heap::allocate_slow(size))
}

/// # Safety
/// free(3): `block` is null or a live block.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { heap::free(block.cast()) }
}

/// # Safety
/// malloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(bytes) => or_enomem(heap::allocate_zeroed(bytes)),
        None => or_enomem(ptr::null_mut()),
    }
}

/// # Safety
/// realloc(3): `block` is null or a live block. Size zero frees it and gives null, as in glibc.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return or_enomem(heap::allocate(size));
    }
    if size == 0 {
        // SAFETY: the caller's promise.
        unsafe { heap::free(block.cast()) };
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    or_enomem(unsafe { heap::reallocate(block.cast(), size) })
}

/// # Safety
/// reallocarray(3). glibc's calls whatever `realloc` the program has; so does this one, lest a
/// program with a malloc of its own gets a block of ours.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return or_enomem(ptr::null_mut());
    };
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    static PROGRAMS: AtomicUsize = AtomicUsize::new(0);
    let mut function = PROGRAMS.load(Relaxed);
    if function == 0 {
        // SAFETY: the name ends with a NUL.
        function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"realloc".as_ptr()) } as usize;
        if function == 0 {
            function = realloc as *const () as usize;
        }
        PROGRAMS.store(function, Relaxed);
    }
    // SAFETY: the symbol has this type in every C library.
    let function: Realloc = unsafe { mem::transmute(function) };
    // SAFETY: the caller's promise.
    unsafe { function(block, bytes) }
}

/// # Safety
/// posix_memalign(3); glibc's memalign rounds the alignment up to a power of two.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    match align.max(16).checked_next_power_of_two() {
        Some(align) => aligned(align, size),
        None => {
            failed(libc::EINVAL);
            ptr::null_mut()
        }
    }
}

/// # Safety
/// aligned_alloc(3); the same function as memalign in glibc 2.36.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { memalign(align, size) }
}

/// # Safety
/// posix_memalign(3): `out` takes one pointer, and only on success. Out of memory sets errno too, as
/// glibc's does.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < mem::size_of::<*mut c_void>() {
        return libc::EINVAL;
    }
    let block = aligned(align, size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(block) };
    0
}

/// # Safety
/// valloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    aligned(align::page_size(), size)
}

/// # Safety
/// pvalloc(3): the size is rounded up to whole pages.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    match align::up(size, align::page_size()) {
        Some(size) => aligned(align::page_size(), size),
        None => or_enomem(ptr::null_mut()),
    }
}

/// # Safety
/// free(3) under its old name.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { heap::free(block.cast()) }
}

/// # Safety
/// C23 7.24.3.4: `size` is what was asked for.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { heap::free(block.cast()) }
}

/// # Safety
/// C23 7.24.3.5: `align` and `size` are what was asked for.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free_aligned_sized(block: *mut c_void, _align: usize, _size: usize) {
    // SAFETY: the caller's promise.
    unsafe { heap::free(block.cast()) }
}

/// # Safety
/// malloc_usable_size(3): `block` is null or a live block.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: the caller's promise.
    unsafe { heap::usable(block.cast()) }
}

/// Our function of the family with this name.
pub fn by_name(name: &[u8]) -> Option<usize> {
    macro_rules! ours {
        ($($function:ident)*) => {
            match name {
                $(name if name == stringify!($function).as_bytes() => $function as *const () as usize,)*
                _ => return None,
            }
        };
    }
    Some(ours!(
        malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc
        cfree malloc_usable_size mallopt malloc_trim mallinfo mallinfo2 malloc_stats malloc_info
        __libc_malloc __libc_free __libc_calloc __libc_realloc __libc_reallocarray __libc_memalign
        __libc_valloc __libc_pvalloc __libc_mallopt __libc_mallinfo
    ))
}

/// Gives every `__libc_*` name of glibc's family our function.
macro_rules! libc_names {
    ($($name:ident = $function:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the function without the prefix.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $function($($arg),*) }
        }
    )*};
}
libc_names! {
    __libc_malloc = malloc(size: usize) -> *mut c_void;
    __libc_free = free(block: *mut c_void) -> ();
    __libc_calloc = calloc(count: usize, size: usize) -> *mut c_void;
    __libc_realloc = realloc(block: *mut c_void, size: usize) -> *mut c_void;
    __libc_reallocarray = reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    __libc_memalign = memalign(align: usize, size: usize) -> *mut c_void;
    __libc_valloc = valloc(size: usize) -> *mut c_void;
    __libc_pvalloc = pvalloc(size: usize) -> *mut c_void;
    __libc_mallopt = mallopt(option: c_int, value: c_int) -> c_int;
    __libc_mallinfo = mallinfo() -> libc::mallinfo;
}

/// mallopt(3). One is success; what has no meaning here is accepted, as the program may count on
/// the answer. `M_TRIM_THRESHOLD` says how much free memory to keep, −1 all of it.
///
/// # Safety
/// Always safe.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mallopt(option: c_int, value: c_int) -> c_int {
    // glibc: at most 80 * sizeof(size_t) / 4.
    const MXFAST_MOST: c_int = 160;
    match option {
        libc::M_MXFAST if !(0..=MXFAST_MOST).contains(&value) => return 0,
        // A negative number is a huge one, since glibc stores it as unsigned.
        libc::M_TRIM_THRESHOLD => heap::set_trim_threshold(value as isize as usize),
        _ => {}
    }
    1
}

/// malloc_trim(3): one if memory went back to the kernel.
///
/// # Safety
/// Always safe.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_trim(pad: usize) -> c_int {
    c_int::from(heap::trim(pad))
}

/// glibc's `struct mallinfo2`.
#[repr(C)]
pub struct Mallinfo2 {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

/// mallinfo2(3). Large blocks are counted as glibc counts mapped ones.
///
/// # Safety
/// Always safe.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mallinfo2() -> Mallinfo2 {
    let stats = heap::stats();
    let arena = stats.mapped - stats.large.min(stats.mapped);
    let small = stats.in_use - stats.large.min(stats.in_use);
    Mallinfo2 {
        arena,
        ordblks: stats.free_runs,
        smblks: 0,
        hblks: stats.large_blocks,
        hblkhd: stats.large,
        usmblks: 0,
        fsmblks: 0,
        uordblks: small,
        fordblks: arena - small.min(arena),
        keepcost: stats.free,
    }
}

/// mallinfo(3): [`mallinfo2`] cut to `int`.
///
/// # Safety
/// Always safe.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn mallinfo() -> libc::mallinfo {
    // SAFETY: always safe.
    let info = unsafe { mallinfo2() };
    libc::mallinfo {
        arena: info.arena as c_int,
        ordblks: info.ordblks as c_int,
        smblks: 0,
        hblks: info.hblks as c_int,
        hblkhd: info.hblkhd as c_int,
        usmblks: 0,
        fsmblks: 0,
        uordblks: info.uordblks as c_int,
        fordblks: info.fordblks as c_int,
        keepcost: info.keepcost as c_int,
    }
}

unsafe extern "C" {
    static stderr: *mut libc::FILE;
}

/// malloc_stats(3): glibc's lines, with the whole heap as its arena 0.
///
/// # Safety
/// Always safe.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_stats() {
    let stats = heap::stats();
    let small = |bytes: usize| bytes.saturating_sub(stats.large);
    let format = c"Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n\
        Total (incl. mmap):\nsystem bytes     = %10zu\nin use bytes     = %10zu\n\
        max mmap regions = %10zu\nmax mmap bytes   = %10zu\n";
    // SAFETY: the stream is libc's own, and the arguments are what the format names.
    unsafe {
        libc::fprintf(
            stderr,
            format.as_ptr().cast::<c_char>(),
            small(stats.mapped),
            small(stats.in_use),
            stats.mapped,
            stats.in_use,
            stats.large_blocks,
            stats.large,
        );
    }
}

/// malloc_info(3): an XML report of glibc's elements, with the whole heap as its heap 0.
///
/// # Safety
/// `stream` is an open stream.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_info(options: c_int, stream: *mut libc::FILE) -> c_int {
    if options != 0 {
        // As glibc: the error is the result, and errno is not set.
        return libc::EINVAL;
    }
    let stats = heap::stats();
    let (runs, free) = (stats.free_runs, stats.free);
    let small = stats.mapped.saturating_sub(stats.large);
    let format = c"<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n\
        <total type=\"fast\" count=\"0\" size=\"0\"/>\n\
        <total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n\
        <system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n\
        <aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n\
        </heap>\n<total type=\"fast\" count=\"0\" size=\"0\"/>\n\
        <total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n\
        <total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n\
        <system type=\"current\" size=\"%zu\"/>\n<system type=\"max\" size=\"%zu\"/>\n\
        <aspace type=\"total\" size=\"%zu\"/>\n<aspace type=\"mprotect\" size=\"%zu\"/>\n\
        </malloc>\n";
    // SAFETY: the stream is the caller's, and the arguments are what the format names.
    unsafe {
        libc::fprintf(
            stream,
            format.as_ptr().cast::<c_char>(),
            runs,
            free,
            small,
            stats.peak,
            small,
            small,
            runs,
            free,
            stats.large_blocks,
            stats.large,
            stats.mapped,
            stats.peak,
            stats.mapped,
            stats.mapped,
        );
    }
    0
}
