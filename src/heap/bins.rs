//! The bins of free runs: which run serves a request for pages.
//!
//! Invariant: a run is in the list of exactly the bin that its length names, and a bin's bit is
//! set exactly when its list is not empty. [`Ages`] is a second order of some of the runs.

use super::{
    span::{Span, SpanId},
    zone::ZONE,
};

/// Lengths below this have a bin each; above, sixteen bins a doubling.
const EXACT: usize = 64;
const BINS: usize = EXACT + 16 * 26;
/// How many runs of the bin that also holds too short ones are looked at.
const LOOK: usize = 64;

/// Runs of one kind by length.
pub struct Bins {
    heads: [u32; BINS],
    bits: [u64; BINS.div_ceil(64)],
    count: usize,
    pages: usize,
}

/// The bin of runs of `pages` pages.
fn bin_of(pages: usize) -> usize {
    if pages < EXACT {
        return pages;
    }
    let power = pages.ilog2() as usize;
    EXACT + (power - 6) * 16 + (pages >> (power - 4) & 15)
}

impl Bins {
    pub const fn new() -> Self {
        Self {
            heads: [0; BINS],
            bits: [0; BINS.div_ceil(64)],
            count: 0,
            pages: 0,
        }
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many pages they have in all.
    pub fn pages(&self) -> usize {
        self.pages
    }

    pub fn push(&mut self, span: &'static Span) {
        let bin = bin_of(span.pages.get() as usize);
        let id = ZONE.id(span);
        span.prev.set(0);
        span.next.set(self.heads[bin]);
        if self.heads[bin] != 0 {
            ZONE.span(SpanId(self.heads[bin])).prev.set(id.0);
        }
        self.heads[bin] = id.0;
        self.bits[bin / 64] |= 1 << (bin % 64);
        self.count += 1;
        self.pages += span.pages.get() as usize;
    }

    pub fn remove(&mut self, span: &'static Span) {
        let bin = bin_of(span.pages.get() as usize);
        let (prev, next) = (span.prev.get(), span.next.get());
        if prev == 0 {
            self.heads[bin] = next;
            if next == 0 {
                self.bits[bin / 64] &= !(1 << (bin % 64));
            }
        } else {
            ZONE.span(SpanId(prev)).next.set(next);
        }
        if next != 0 {
            ZONE.span(SpanId(next)).prev.set(prev);
        }
        self.count -= 1;
        self.pages -= span.pages.get() as usize;
    }

    /// The shortest run found with at least `pages` pages, still in its list.
    pub fn find(&self, pages: usize) -> Option<&'static Span> {
        let bin = bin_of(pages);
        if bin >= EXACT {
            // The request's own bin also holds runs that are too short: take the best of it.
            let fit = self
                .list(bin)
                .take(LOOK)
                .filter(|run| run.pages.get() as usize >= pages);
            if let Some(run) = fit.min_by_key(|run| run.pages.get()) {
                return Some(run);
            }
        }
        let from = if bin >= EXACT { bin + 1 } else { bin };
        self.first_bin(from)
            .map(|bin| ZONE.span(SpanId(self.heads[bin])))
    }

    fn first_bin(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.bits.get(word)? & (!0 << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// A run of the highest bin in use.
    pub fn longest(&self) -> Option<&'static Span> {
        let word = self.bits.iter().rposition(|&bits| bits != 0)?;
        let bin = word * 64 + self.bits[word].ilog2() as usize;
        Some(ZONE.span(SpanId(self.heads[bin])))
    }

    fn list(&self, bin: usize) -> impl Iterator<Item = &'static Span> + use<> {
        let mut id = self.heads[bin];
        core::iter::from_fn(move || {
            let span = (id != 0).then(|| ZONE.span(SpanId(id)))?;
            id = span.next.get();
            Some(span)
        })
    }
}

/// Free runs in the order in which they were freed.
pub struct Ages {
    oldest: u32,
    youngest: u32,
    count: usize,
}

impl Ages {
    pub const fn new() -> Self {
        Self {
            oldest: 0,
            youngest: 0,
            count: 0,
        }
    }

    pub fn push(&mut self, span: &'static Span) {
        let id = ZONE.id(span).0;
        span.set_ages(self.youngest, 0);
        match self.youngest {
            0 => self.oldest = id,
            before => {
                let before = ZONE.span(SpanId(before));
                before.set_ages(before.ages().0, id);
            }
        }
        self.youngest = id;
        self.count += 1;
    }

    pub fn remove(&mut self, span: &'static Span) {
        let (older, younger) = span.ages();
        match older {
            0 => self.oldest = younger,
            older => {
                let older = ZONE.span(SpanId(older));
                older.set_ages(older.ages().0, younger);
            }
        }
        match younger {
            0 => self.youngest = older,
            younger => {
                let younger = ZONE.span(SpanId(younger));
                younger.set_ages(older, younger.ages().1);
            }
        }
        self.count -= 1;
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn oldest(&self) -> Option<&'static Span> {
        (self.oldest != 0).then(|| ZONE.span(SpanId(self.oldest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_never_have_a_lower_bin() {
        let mut last = 0;
        for pages in 1..2_000_000 {
            let bin = bin_of(pages);
            assert!(bin == last || bin == last + 1, "{pages}");
            last = bin;
        }
        assert!(bin_of((1 << 30) - 1) < BINS);
    }
}
