//! The thread functions, each following the real one below it. The only user of `redhook`, whose
//! lookup of the real functions is not fit for anything hot: it passes through a `Once`. Those
//! used by most programs are looked up at the start, so that no fork can fall into a lookup.

use super::{process, start};
use crate::thread::{self, Claim, Kind, descriptor};
use crate::{fork, stack};
use core::ffi::{c_int, c_void};
use libc::{pthread_attr_t, pthread_t, timespec};

/// Looks up the real functions that a threaded program cannot do without.
pub fn resolve() {
    let _ = redhook::real!(pthread_create);
    let _ = redhook::real!(pthread_join);
    let _ = redhook::real!(pthread_detach);
    let _ = redhook::real!(pthread_getattr_np);
}

/// Follows a join: counted while under way, and the record reaped if it succeeded.
///
/// # Safety
/// `thread` must be what a program may pass to `pthread_join`.
unsafe fn join(thread: pthread_t, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by the caller's word.
    let claim = unsafe { thread::claim(thread) };
    // Nothing that needs undoing may be held here: cancellation leaves from inside.
    let result = real();
    match claim {
        Some(claim) if result == 0 => thread::joined(claim),
        Some(claim) => Claim::give_up(claim),
        None => {}
    }
    result
}

redhook::hook! {
    unsafe fn pthread_create(
        thread: *mut pthread_t,
        attr: *const pthread_attr_t,
        routine: usize,
        argument: *mut c_void
    ) -> c_int => follow_create {
        start::ensure();
        // SAFETY: the caller's arguments go on as they are.
        unsafe {
            let real = redhook::real!(pthread_create);
            let given = !attr.is_null() && stack::given(&*attr);
            if given || !descriptor::is_known() {
                return real(thread, attr, routine, argument);
            }
            thread::create(real, thread, attr, routine, argument, Kind::Posix)
        }
    }
}

redhook::hook! {
    unsafe fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int => follow_join {
        // SAFETY: the caller's arguments go on as they are.
        unsafe { join(thread, || redhook::real!(pthread_join)(thread, result)) }
    }
}

redhook::hook! {
    unsafe fn pthread_tryjoin_np(
        thread: pthread_t,
        result: *mut *mut c_void
    ) -> c_int => follow_tryjoin {
        // SAFETY: the caller's arguments go on as they are.
        unsafe { join(thread, || redhook::real!(pthread_tryjoin_np)(thread, result)) }
    }
}

redhook::hook! {
    unsafe fn pthread_timedjoin_np(
        thread: pthread_t,
        result: *mut *mut c_void,
        until: *const timespec
    ) -> c_int => follow_timedjoin {
        // SAFETY: the caller's arguments go on as they are.
        unsafe { join(thread, || redhook::real!(pthread_timedjoin_np)(thread, result, until)) }
    }
}

redhook::hook! {
    unsafe fn pthread_clockjoin_np(
        thread: pthread_t,
        result: *mut *mut c_void,
        clock: c_int,
        until: *const timespec
    ) -> c_int => follow_clockjoin {
        // SAFETY: the caller's arguments go on as they are.
        unsafe {
            join(thread, || redhook::real!(pthread_clockjoin_np)(thread, result, clock, until))
        }
    }
}

redhook::hook! {
    unsafe fn pthread_detach(thread: pthread_t) -> c_int => follow_detach {
        // SAFETY: the caller's argument goes on as it is.
        unsafe { thread::detach(thread, || redhook::real!(pthread_detach)(thread)) }
    }
}

redhook::hook! {
    unsafe fn pthread_getattr_np(
        thread: pthread_t,
        attr: *mut pthread_attr_t
    ) -> c_int => follow_getattr {
        // SAFETY: the caller's arguments go on as they are; on success the attribute is set.
        unsafe {
            let result = redhook::real!(pthread_getattr_np)(thread, attr);
            if result == 0 && let Some(guard) = thread::reported_guard(thread) {
                libc::pthread_attr_setguardsize(attr, guard);
            }
            result
        }
    }
}

/// `thrd_success` … `thrd_timedout` of `<threads.h>`.
const THRD_SUCCESS: c_int = 0;
const THRD_ERROR: c_int = 2;
const THRD_NOMEM: c_int = 3;

redhook::hook! {
    unsafe fn thrd_create(
        thread: *mut pthread_t,
        routine: usize,
        argument: *mut c_void
    ) -> c_int => follow_thrd_create {
        start::ensure();
        // SAFETY: the caller's arguments go on as they are.
        unsafe {
            if !descriptor::is_known() {
                return redhook::real!(thrd_create)(thread, routine, argument);
            }
            let real = redhook::real!(pthread_create);
            match thread::create(real, thread, core::ptr::null(), routine, argument, Kind::C11) {
                0 => THRD_SUCCESS,
                libc::ENOMEM => THRD_NOMEM,
                _ => THRD_ERROR,
            }
        }
    }
}

redhook::hook! {
    unsafe fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int => follow_thrd_join {
        // SAFETY: the caller's arguments go on as they are.
        unsafe { join(thread, || redhook::real!(thrd_join)(thread, result)) }
    }
}

redhook::hook! {
    unsafe fn thrd_detach(thread: pthread_t) -> c_int => follow_thrd_detach {
        // SAFETY: the caller's argument goes on as it is.
        unsafe { thread::detach(thread, || redhook::real!(thrd_detach)(thread)) }
    }
}

// What `pthread_atfork` and old forms of it call. Ours must be the first handlers of all: then a
// fork takes the heap's locks after every other handler is through, and the child has them free
// before any other handler runs, as it is with libc's own heap. Taken in between, they would be
// held while a handler waits for a thread that waits for the heap.
redhook::hook! {
    unsafe fn __register_atfork(
        prepare: usize,
        parent: usize,
        child: usize,
        owner: *mut c_void
    ) -> c_int => follow_register_atfork {
        fork::register();
        // SAFETY: the caller's arguments go on as they are.
        unsafe { redhook::real!(__register_atfork)(prepare, parent, child, owner) }
    }
}

redhook::hook! {
    unsafe fn mlockall(flags: c_int) -> c_int => follow_mlockall {
        start::ensure();
        process::mlockall(flags, |flags| {
            // SAFETY: takes no memory of the caller's.
            unsafe { redhook::real!(mlockall)(flags) }
        })
    }
}

redhook::hook! {
    unsafe fn munlockall() -> c_int => follow_munlockall {
        process::munlockall(|| {
            // SAFETY: takes nothing.
            unsafe { redhook::real!(munlockall)() }
        })
    }
}

/// Our function with this name.
pub fn by_name(name: &[u8]) -> Option<usize> {
    macro_rules! ours {
        ($($function:ident)*) => {{
            unsafe extern "C" { $(safe fn $function();)* }
            match name {
                $(name if name == stringify!($function).as_bytes() => $function as *const () as usize,)*
                _ => return None,
            }
        }};
    }
    Some(ours!(
        pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np
        pthread_detach pthread_getattr_np thrd_create thrd_join thrd_detach mlockall munlockall
    ))
}
