//! One line of text built in a fixed buffer, since nothing here may allocate.
//!
//! Invariant: what does not fit is cut off; the line always ends in a newline when written.

use crate::sys;

pub struct Line {
    len: usize,
    text: [u8; Self::MAX],
}

impl Line {
    const MAX: usize = 320;

    pub fn new(start: &str) -> Self {
        Self {
            len: 0,
            text: [0; Self::MAX],
        }
        .str(start)
    }

    pub fn str(self, part: &str) -> Self {
        self.bytes(part.as_bytes())
    }

    pub fn bytes(mut self, part: &[u8]) -> Self {
        // The last place is kept for the newline.
        let n = part.len().min(Self::MAX - 1 - self.len);
        self.text[self.len..self.len + n].copy_from_slice(&part[..n]);
        self.len += n;
        self
    }

    pub fn dec(self, value: u64) -> Self {
        self.number(value, 10)
    }

    pub fn hex(self, value: usize) -> Self {
        self.str("0x").number(value as u64, 16)
    }

    fn number(self, mut value: u64, base: u64) -> Self {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(value % base) as usize];
            value /= base;
            if value == 0 {
                break;
            }
        }
        self.bytes(&digits[at..])
    }

    #[cfg(test)]
    fn text(&self) -> &str {
        core::str::from_utf8(&self.text[..self.len]).unwrap()
    }

    /// Writes the line to `fd` in one call where the kernel takes it in one.
    pub fn write(mut self, fd: i32) {
        self.text[self.len] = b'\n';
        sys::write_all(fd, &self.text[..self.len + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_full() {
        let line = Line::new("a ")
            .dec(0)
            .str(" ")
            .dec(u64::MAX)
            .str(" ")
            .hex(0xbeef0);
        assert_eq!(line.text(), "a 0 18446744073709551615 0xbeef0");
    }

    #[test]
    fn a_long_line_is_cut_not_overrun() {
        let mut line = Line::new("");
        for _ in 0..100 {
            line = line.str("0123456789");
        }
        assert_eq!(line.text().len(), Line::MAX - 1);
    }
}
