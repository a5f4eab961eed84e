//! The statistics that a program writes at its end if `LIBFIX_STATS` asks for them.
//!
//! Invariant: a report is a run of lines `libfix: NAME VALUE [UNIT]`, written without the heap.

use crate::config::{self, Report};
use crate::line::Line;
use crate::sys::{self, Errno};
use crate::{heap, thread};

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
    if let Some(kilobytes) = locked_kilobytes() {
        count("locked", kilobytes).str(" kB").write(fd);
    }
}

/// `VmLck` of `/proc/self/status`; none where there is no `/proc`.
fn locked_kilobytes() -> Option<u64> {
    let fd = sys::open(c"/proc/self/status", libc::O_RDONLY).ok()?;
    let mut text = [0u8; 4096];
    let mut len = 0;
    while len < text.len() {
        match sys::read(fd, &mut text[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(Errno(libc::EINTR)) => {}
            Err(_) => break,
        }
    }
    sys::close(fd);
    field(&text[..len], b"VmLck:")
}

/// The number behind `name` at the start of a line.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text
        .split(|&byte| byte == b'\n')
        .find(|line| line.starts_with(name))?;
    let digits = line[name.len()..]
        .iter()
        .skip_while(|byte| byte.is_ascii_whitespace());
    let mut number = None;
    for digit in digits.take_while(|byte| byte.is_ascii_digit()) {
        number = Some(number.unwrap_or(0) * 10 + u64::from(digit - b'0'));
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_at_the_start_of_its_line() {
        let text = b"Name:\tVmLck: 7\nVmPeak:\t   12 kB\nVmLck:\t  3408 kB\n";
        assert_eq!(field(text, b"VmLck:"), Some(3408));
        assert_eq!(field(text, b"VmPin:"), None);
        assert_eq!(field(b"VmLck:\t kB\n", b"VmLck:"), None);
    }

    #[test]
    fn this_process_has_locked_nothing() {
        assert_eq!(locked_kilobytes(), Some(0));
    }
}
