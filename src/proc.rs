//! Numbers that the kernel tells in files of `/proc`, read without the heap.
//!
//! Invariant: a file that is missing or written otherwise is no number, not a wrong one.

use crate::sys::{self, Errno};
use core::ffi::CStr;

/// Hands the file over in pieces, in order; false if it cannot be read.
fn pieces(path: &CStr, mut take: impl FnMut(&[u8])) -> bool {
    let Ok(fd) = sys::open(path, libc::O_RDONLY) else {
        return false;
    };
    let mut buffer = [0u8; 512];
    let read = loop {
        match sys::read(fd, &mut buffer) {
            Ok(0) => break true,
            Ok(n) => take(&buffer[..n]),
            Err(Errno(libc::EINTR)) => {}
            Err(_) => break false,
        }
    };
    sys::close(fd);
    read
}

/// The number behind `name` at the start of a line, in its unit (mostly kB); of the first line if
/// `name` is empty.
pub fn number(path: &CStr, name: &str) -> Option<u64> {
    let mut search = Search::new(name);
    pieces(path, |piece| {
        piece.iter().for_each(|&byte| search.take(byte))
    });
    search.number
}

pub fn count_lines(path: &CStr) -> Option<u64> {
    let mut lines = 0;
    pieces(path, |piece| {
        lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64
    })
    .then_some(lines)
}

/// Looks at a text byte by byte.
struct Search<'a> {
    name: &'a [u8],
    /// Bytes of the name seen in this line; none if the line is another.
    seen: Option<usize>,
    number: Option<u64>,
    found: bool,
}

impl<'a> Search<'a> {
    fn new(name: &'a str) -> Self {
        Self {
            name: name.as_bytes(),
            seen: Some(0),
            number: None,
            found: false,
        }
    }

    fn take(&mut self, byte: u8) {
        if self.found {
            return;
        }
        self.seen = match self.seen {
            _ if byte == b'\n' => {
                self.found = self.seen == Some(self.name.len());
                Some(0)
            }
            Some(seen) if seen == self.name.len() => {
                match (byte, self.number) {
                    (b'0'..=b'9', number) => {
                        self.number = Some(number.unwrap_or(0) * 10 + u64::from(byte - b'0'));
                    }
                    (b' ' | b'\t', None) => {}
                    _ => self.found = true,
                }
                Some(seen)
            }
            Some(seen) if self.name[seen] == byte => Some(seen + 1),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, text: &str) -> Option<u64> {
        let mut search = Search::new(name);
        text.bytes().for_each(|byte| search.take(byte));
        search.number
    }

    #[test]
    fn a_number_is_found_behind_its_name_at_the_start_of_a_line() {
        let text = "Name:\tVmLck: 7\nVmPeak:\t   12 kB\nVmLck:\t  3408 kB\nVmLck:\t 1 kB\n";
        assert_eq!(find("VmLck:", text), Some(3408));
        assert_eq!(find("VmPin:", text), None);
        assert_eq!(find("VmLck:", "VmLck:\t kB\nVmLck: 5\n"), None);
        assert_eq!(find("", "65530\n"), Some(65530));
        assert_eq!(find("", "max\n1\n"), None);
    }

    #[test]
    fn this_process_has_locked_nothing_and_a_first_line() {
        assert_eq!(number(c"/proc/self/status", "VmLck:"), Some(0));
        assert_eq!(number(c"/proc/self/nothing", "VmLck:"), None);
        assert_eq!(count_lines(c"/proc/self/statm"), Some(1));
        assert_eq!(count_lines(c"/proc/self/nothing"), None);
    }
}
