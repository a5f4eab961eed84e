//! The statistics that a program writes at its end if `LIBFIX_STATS` asks for them.
//!
//! Invariant: a report is a run of lines `libfix: NAME VALUE [UNIT]`, written without the heap.

use crate::config::{self, Report};
use crate::line::Line;
use crate::sys::{self, Errno};
use crate::{heap, proc, thread};

/// Asks for a report at exit, if there is to be one.
pub fn register() {
    if !matches!(config::report(), Report::Nowhere) {
        // SAFETY: the library is never unloaded. Registered early, it runs late.
        unsafe { libc::atexit(at_exit) };
    }
}

extern "C" fn at_exit() {
    match config::report() {
        Report::Nowhere => {}
        Report::StandardError => write(2),
        Report::File(path) => {
            match sys::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND) {
                Ok(fd) => {
                    write(fd);
                    sys::close(fd);
                }
                Err(Errno(error)) => Line::new("libfix: LIBFIX_STATS=")
                    .bytes(path.to_bytes())
                    .str(": cannot be opened, error ")
                    .dec(error as u64)
                    .write(2),
            }
        }
    }
}

fn write(fd: i32) {
    let threads = thread::figures();
    let heap = heap::stats();
    let count = |name: &str, value: u64| Line::new("libfix: ").str(name).str(" ").dec(value);
    let bytes = |name: &str, value: usize| count(name, value as u64).str(" bytes");
    count("pid", sys::getpid() as u64).write(fd);
    count("threads created", threads.created).write(fd);
    count("stacks mapped", threads.mapped).write(fd);
    count("stacks reused", threads.reused).write(fd);
    bytes("stack bytes", threads.stack_bytes).write(fd);
    bytes("guard bytes", threads.guard_bytes).write(fd);
    count("stacks cached", threads.cached as u64).write(fd);
    bytes("heap in use", heap.in_use).write(fd);
    bytes("heap peak", heap.peak).write(fd);
    bytes("heap mapped", heap.mapped).write(fd);
    if let Some(kilobytes) = proc::number(c"/proc/self/status", "VmLck:") {
        count("locked", kilobytes).str(" kB").write(fd);
    }
}
