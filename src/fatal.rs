//! The end of a process whose heap is damaged: one line on descriptor 2, then abort.

use crate::line::Line;

/// Writes `line` and raises SIGABRT. Uses no heap and takes no lock.
#[cold]
pub fn fatal(line: Line) -> ! {
    line.write(2);
    // SAFETY: abort(3) is always allowed and does not return.
    unsafe { libc::abort() }
}
