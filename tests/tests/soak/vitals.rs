//! What the process takes of the machine.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{
    alloc::System,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::Duration,
};

/// Counts what is allocated and not yet freed: a leak shows in it by its bytes, which what the allocator keeps for later hides.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Live and resident bytes over time.
pub struct Memory(Vec<[u64; 2]>);

impl Memory {
    /// Samples until it is told to stop.
    pub fn watch(stop: &AtomicBool) -> Self {
        let mut samples = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            samples.push([live(), resident()]);
            sleep(Duration::from_secs(1));
        }
        Self(samples)
    }

    /// The most of each.
    pub fn most(&self) -> [u64; 2] {
        let most = |which: usize| self.0.iter().map(|sample| sample[which]).max();
        [0, 1].map(|which| most(which).unwrap_or_default())
    }
}

/// Bytes that are allocated and not yet freed.
pub fn live() -> u64 {
    let stats = INSTRUMENTED_SYSTEM.stats();
    // What a reallocation adds or gives back is in these.
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated) as u64
}

fn resident() -> u64 {
    let output = Command::new("ps")
        .args(["-o", "rss=", "-p", &std::process::id().to_string()])
        .output()
        .expect("ps runs");
    let kilobytes = String::from_utf8_lossy(&output.stdout);
    kilobytes.trim().parse::<u64>().expect("kilobytes") * 1024
}

/// What each open file descriptor is; that of the look is among them.
pub fn descriptors() -> Vec<String> {
    let all = std::fs::read_dir("/dev/fd").expect("it lists descriptors");
    let all = all.map(|entry| {
        let path = entry.expect("an entry").path();
        let what = std::fs::read_link(&path).unwrap_or_default();
        format!("{} is {}", path.display(), what.display())
    });
    all.collect()
}
