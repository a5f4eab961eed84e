//! How much of something was in use at once lately.
//!
//! Invariant: what was in use at any moment of the last span is remembered, and nothing longer than
//! to the second look that comes a span after another.

/// Milliseconds that a peak is remembered at least.
const SPAN: u64 = 5000;

pub struct Peak {
    now: usize,
    before: usize,
    since: u64,
}

impl Peak {
    pub const fn new() -> Self {
        Self {
            now: 0,
            before: 0,
            since: 0,
        }
    }

    /// So much is in use.
    pub fn note(&mut self, used: usize) {
        self.now = self.now.max(used);
    }

    /// The most that was in use lately, with so much in use at this time (in milliseconds).
    pub fn lately(&mut self, used: usize, time: u64) -> usize {
        if time.saturating_sub(self.since) >= SPAN {
            self.before = self.now;
            self.now = used;
            self.since = time;
        }
        self.now.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_lasts_a_span_and_then_goes() {
        let mut peak = Peak::new();
        peak.note(7);
        peak.note(3);
        assert_eq!(peak.lately(3, 100_000), 7);
        assert_eq!(peak.lately(1, 100_000 + SPAN - 1), 7);
        peak.note(5);
        assert_eq!(peak.lately(1, 100_000 + SPAN), 5);
        assert_eq!(peak.lately(1, 100_000 + 2 * SPAN), 1);
        assert_eq!(peak.lately(1, 100_000), 1, "a clock that stands still");
    }
}
