//! The heap as a whole against a model: contents, alignment, no overlap, nothing lost.

use super::*;
use std::{
    collections::BTreeMap,
    sync::{Mutex, mpsc},
    thread,
};

/// A seeded generator (xorshift64*), so that a failure can be run again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() % end
    }

    /// Mostly small, some medium, few large.
    fn size(&mut self) -> usize {
        match self.below(20) {
            0 => self.below(2 << 20),
            1..=3 => self.below(40 << 10),
            4..=8 => self.below(3000),
            _ => self.below(200),
        }
    }
}

/// Held by tests that look at, or change by much, what the whole process has mapped.
static ALONE: Mutex<()> = Mutex::new(());

/// Live blocks of all threads: start to end.
static LIVE: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

struct Checked {
    address: usize,
    size: usize,
    fill: u8,
}

impl Checked {
    fn enter(address: usize, size: usize, align: usize, fill: u8) -> Self {
        assert_ne!(address, 0);
        assert_eq!(address % align.max(16), 0, "alignment of {size} bytes");
        // SAFETY: the block was just handed out.
        let end = address + unsafe { usable(address as *mut u8) };
        assert!(end >= address + size);
        let mut live = LIVE.lock().unwrap();
        if let Some((_, &before)) = live.range(..address).next_back() {
            assert!(before <= address, "overlap with the block below");
        }
        if let Some((&after, _)) = live.range(address..).next() {
            assert!(end <= after, "overlap with the block above");
        }
        live.insert(address, end);
        drop(live);
        // SAFETY: the block is ours and that long.
        unsafe { (address as *mut u8).write_bytes(fill, size) };
        Self {
            address,
            size,
            fill,
        }
    }

    fn leave(&self) {
        // SAFETY: the block is ours and that long.
        let bytes = unsafe { core::slice::from_raw_parts(self.address as *const u8, self.size) };
        assert!(
            bytes.iter().all(|&byte| byte == self.fill),
            "contents of {} bytes",
            self.size
        );
        LIVE.lock().unwrap().remove(&self.address).unwrap();
    }

    fn free(self) {
        self.leave();
        // SAFETY: the block is ours and live.
        unsafe { free(self.address as *mut u8) };
    }
}

fn step(random: &mut Random, mine: &mut Vec<Checked>) {
    let (size, fill) = (random.size(), random.next() as u8);
    match random.below(10) {
        0 => {
            let align = 1 << random.below(15);
            let address = allocate_aligned(align, size) as usize;
            mine.push(Checked::enter(address, size, align, fill));
        }
        1 => {
            let block = allocate_zeroed(size);
            // SAFETY: the block was just handed out.
            let bytes = unsafe { core::slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|&byte| byte == 0), "zeros");
            mine.push(Checked::enter(block as usize, size, 16, fill));
        }
        2 if !mine.is_empty() => {
            let old = mine.swap_remove(random.below(mine.len()));
            old.leave();
            // SAFETY: the block is ours and live.
            let new = unsafe { reallocate(old.address as *mut u8, size.max(1)) };
            let kept = old.size.min(size.max(1));
            // SAFETY: the block was just handed out, at least that long.
            let bytes = unsafe { core::slice::from_raw_parts(new, kept) };
            assert!(
                bytes.iter().all(|&byte| byte == old.fill),
                "contents after realloc"
            );
            mine.push(Checked::enter(new as usize, size.max(1), 16, fill));
        }
        3..=6 if !mine.is_empty() => mine.swap_remove(random.below(mine.len())).free(),
        _ => mine.push(Checked::enter(allocate(size) as usize, size, 16, fill)),
    }
    if mine.len() > 300 {
        (0..150).for_each(|_| mine.swap_remove(random.below(mine.len())).free());
    }
}

#[test]
fn random_use_by_threads_that_free_each_others_blocks_matches_the_model() {
    let _alone = ALONE.lock();
    for seed in 1..=3 {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..4).map(|_| mpsc::channel::<Checked>()).unzip();
        let threads: Vec<_> = receivers
            .into_iter()
            .enumerate()
            .map(|(index, inbox)| {
                let senders = senders.clone();
                thread::spawn(move || {
                    let mut random = Random(seed * 1000 + index as u64);
                    let mut mine = Vec::new();
                    for _ in 0..8000 {
                        step(&mut random, &mut mine);
                        if random.below(4) == 0 && !mine.is_empty() {
                            let block = mine.swap_remove(random.below(mine.len()));
                            let _ = senders[random.below(4)].send(block);
                        }
                        inbox.try_iter().for_each(Checked::free);
                    }
                    drop(senders);
                    mine.into_iter().for_each(Checked::free);
                    inbox
                })
            })
            .collect();
        drop(senders);
        for thread in threads {
            thread.join().unwrap().iter().for_each(Checked::free);
        }
    }
    assert!(LIVE.lock().unwrap().is_empty());
}

#[test]
fn blocks_that_dead_threads_left_serve_new_threads() {
    let _alone = ALONE.lock();
    let before = stats().mapped;
    for _ in 0..200 {
        let blocks = thread::spawn(|| {
            (0..2000)
                .map(|_| allocate(100) as usize)
                .collect::<Vec<_>>()
        });
        // SAFETY: the blocks are ours and live.
        blocks
            .join()
            .unwrap()
            .into_iter()
            .for_each(|address| unsafe { free(address as *mut u8) });
    }
    let grown = stats().mapped.saturating_sub(before);
    assert!(
        grown < 16 << 20,
        "{grown} bytes more are mapped after 40 MB of blocks came and went"
    );
}

#[test]
fn a_large_block_grows_without_losing_its_contents() {
    let _alone = ALONE.lock();
    let mut block = allocate(100_000);
    // SAFETY: the block is ours and that long, here and below.
    unsafe { block.write_bytes(0x5a, 100_000) };
    for size in (200_000..20_000_000).step_by(700_000) {
        // SAFETY: as above.
        unsafe {
            block = reallocate(block, size);
            let bytes = core::slice::from_raw_parts(block, 100_000);
            assert!(bytes.iter().all(|&byte| byte == 0x5a));
            block.add(size - 1).write(1);
        }
    }
    // SAFETY: as above.
    unsafe {
        block = reallocate(block, 50_000);
        assert!(
            core::slice::from_raw_parts(block, 50_000)
                .iter()
                .all(|&byte| byte == 0x5a)
        );
        free(block);
    }
}

#[test]
fn requests_beyond_any_memory_fail_and_leave_the_block() {
    let block = allocate(500);
    // SAFETY: the block is ours and live.
    unsafe {
        block.write_bytes(7, 500);
        assert!(reallocate(block, usize::MAX).is_null());
        assert!(reallocate(block, isize::MAX as usize).is_null());
        assert!((0..500).all(|i| block.add(i).read() == 7));
        free(block);
    }
    assert!(allocate(isize::MAX as usize).is_null());
    assert!(allocate_zeroed(usize::MAX).is_null());
    assert!(allocate_aligned(1 << 62, 100).is_null());
}

#[test]
fn freed_small_blocks_serve_a_large_one_without_more_memory() {
    let _alone = ALONE.lock();
    set_trim_threshold(usize::MAX);
    let blocks: Vec<_> = (0..40_000).map(|_| allocate(300)).collect();
    let before = stats();
    // SAFETY: the blocks are ours and live.
    blocks.into_iter().for_each(|block| unsafe { free(block) });
    let large = allocate(4 << 20);
    assert!(!large.is_null());
    let after = stats();
    set_trim_threshold(0);
    // SAFETY: the block is ours and live.
    unsafe { free(large) };
    assert_eq!(after.mapped, before.mapped);
}

#[test]
fn what_is_copied_from_memory_never_written_does_not_look_freed() {
    let _alone = ALONE.lock();
    for align in [16, 4096, 16384] {
        let freed: Vec<_> = (0..2000).map(|_| allocate(64)).collect();
        // SAFETY: the blocks are ours and live.
        freed.into_iter().for_each(|block| unsafe { free(block) });
        let old = allocate_aligned(align, 3000);
        // SAFETY: both blocks are ours, live and that long; what is copied may be anything.
        unsafe {
            for from in (0..2900).step_by(8) {
                let new = allocate(96);
                ptr::copy(old.add(from), new, 96);
                free(new);
            }
            free(reallocate(old, 100));
        }
    }
}
