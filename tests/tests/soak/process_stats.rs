//! Memory and file descriptors of this process.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::{
    alloc::System,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::Duration,
};

/// Counts allocated bytes. Resident memory would hide a small leak behind the memory that the allocator keeps in reserve.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Samples of live and resident bytes.
pub struct MemorySamples(Vec<[u64; 2]>);

impl MemorySamples {
    /// Samples once per second until `stop` is set.
    pub fn watch(stop: &AtomicBool) -> Self {
        let mut samples = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            samples.push([live_bytes(), resident_bytes()]);
            sleep(Duration::from_secs(1));
        }
        Self(samples)
    }

    /// Returns the maxima of live and resident bytes.
    pub fn peaks(&self) -> [u64; 2] {
        let peak = |which: usize| self.0.iter().map(|sample| sample[which]).max();
        [0, 1].map(|which| peak(which).unwrap_or_default())
    }
}

/// Returns the number of allocated bytes that are not yet freed.
pub fn live_bytes() -> u64 {
    let stats = INSTRUMENTED_SYSTEM.stats();
    // Both counters include reallocations.
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated) as u64
}

fn resident_bytes() -> u64 {
    let output = Command::new("ps")
        .args(["-o", "rss=", "-p", &std::process::id().to_string()])
        .output()
        .expect("ps runs");
    let kilobytes = String::from_utf8_lossy(&output.stdout);
    kilobytes.trim().parse::<u64>().expect("kilobytes") * 1024
}

/// Returns a description of each open file descriptor, including the one that reads the list.
pub fn descriptors() -> Vec<String> {
    let all = std::fs::read_dir("/dev/fd").expect("it lists descriptors");
    let all = all.map(|entry| {
        let path = entry.expect("an entry").path();
        let target = std::fs::read_link(&path).unwrap_or_default();
        format!("{} is {}", path.display(), target.display())
    });
    all.collect()
}
