//! Calls that change the whole process: memory locks, and loading what needs executable stacks.

use crate::{arch, config, heap, mapping, memlock, stack, thread};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use once_cell::race::OnceNonZeroUsize;

/// Follows the program's `mlockall`. All address space is compared with the limit, so nothing
/// idle may be left in it.
pub fn mlockall(flags: c_int, real: impl FnOnce(c_int) -> c_int) -> c_int {
    let mut flags = flags;
    if config::lock_on_fault() && flags & (libc::MCL_CURRENT | libc::MCL_FUTURE) != 0 {
        flags |= libc::MCL_ONFAULT;
    }
    thread::before_lock_change();
    heap::trim_idle();
    let result = real(flags);
    if result == 0 {
        let future = flags & libc::MCL_FUTURE != 0;
        memlock::locked_by(flags);
        if future || mapping::has_seed() {
            mapping::tend_seed();
        }
        if flags & libc::MCL_CURRENT != 0 {
            thread::settle_locks();
        }
        // What became idle since the call above belongs to the era before.
        thread::before_lock_change();
    }
    result
}

/// Follows the program's `munlockall`.
pub fn munlockall(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result == 0 {
        memlock::changed(false);
        thread::before_lock_change();
    }
    result
}

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

fn real_dlopen() -> usize {
    static REAL: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let find = || {
        // SAFETY: the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) };
        NonNull::new(found).map(|found| found.addr()).ok_or(())
    };
    // Only a process without libc has none, and it cannot have called us.
    REAL.get_or_try_init(find)
        .map_or(0, |address| address.get())
}

// libc finds the RUNPATH and the namespace that apply from the return address of `dlopen`. So the
// export is a frame-less piece of code that asks `choose` where to jump, with its caller's return
// address still in place. It clears RTLD_DEEPBIND on the way: with it, blocks of libc's malloc
// and of ours would get mixed up.
arch::export_jump!(dlopen, choose, !libc::RTLD_DEEPBIND);

/// Where a `dlopen` goes: to the real one directly, if that depends on its caller, and through
/// [`load`] otherwise, which makes stacks executable where the loaded object needs it.
unsafe extern "C" fn choose(file: *const c_char, _flags: c_int, caller: *const c_void) -> usize {
    let file = NonNull::new(file.cast_mut()).map(|file| {
        // SAFETY: a string, as `dlopen` demands.
        unsafe { CStr::from_ptr(file.as_ptr()) }.to_bytes()
    });
    let plain = match file {
        None => true,
        Some(file) => !file.contains(&b'$') && (file.contains(&b'/') || searches_as_we(caller)),
    };
    if plain {
        load as *const () as usize
    } else {
        real_dlopen()
    }
}

unsafe extern "C" fn load(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: this is the address of libc's `dlopen`, which exists.
    let real = unsafe { core::mem::transmute::<usize, Dlopen>(real_dlopen()) };
    // SAFETY: the caller's arguments.
    let handle = unsafe { real(file, flags) };
    if !handle.is_null() && stack::became_executable() {
        thread::update_rights();
    }
    handle
}

/// Of `<dlfcn.h>`.
const RTLD_DL_LINKMAP: c_int = 2;
/// Of `<elf.h>`.
const RPATH: usize = 15;
const RUNPATH: usize = 29;

/// `struct link_map` of `<link.h>`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const [usize; 2],
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// Whether a name without slash is searched for the same way for the caller as for us: it has no
/// RUNPATH or RPATH of its own, and could not have inherited an RPATH from what loaded it.
fn searches_as_we(caller: *const c_void) -> bool {
    let mut info: libc::Dl_info = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    let mut map: *const LinkMap = core::ptr::null();
    // SAFETY: any address may be asked for; both results are ours.
    let found = unsafe {
        libc::dladdr1(
            caller,
            &raw mut info,
            (&raw mut map).cast(),
            RTLD_DL_LINKMAP,
        )
    };
    if found == 0 || map.is_null() {
        return false;
    }
    // SAFETY: the loader keeps the list of objects and their dynamic sections; the objects around
    // the caller cannot be unloaded by anyone who does not race with this `dlopen` anyway.
    unsafe {
        if has_tag(map, RPATH) || has_tag(map, RUNPATH) {
            return false;
        }
        let mut first = map;
        while !(*first).previous.is_null() {
            first = (*first).previous;
        }
        // The program's own RPATH applies to everyone.
        let mut other = (*first).next;
        while !other.is_null() {
            if has_tag(other, RPATH) {
                return false;
            }
            other = (*other).next;
        }
    }
    true
}

/// # Safety
/// `map` must be the entry of a loaded object.
unsafe fn has_tag(map: *const LinkMap, tag: usize) -> bool {
    // SAFETY: a dynamic section ends with a null tag.
    unsafe {
        let mut entry = (*map).dynamic;
        if entry.is_null() {
            return false;
        }
        while (*entry)[0] != 0 {
            if (*entry)[0] == tag {
                return true;
            }
            entry = entry.add(1);
        }
    }
    false
}
