//! What the process takes of the machine.

use std::{
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

/// Resident memory over time.
pub struct Memory(Vec<(Duration, u64)>);

impl Memory {
    /// Samples until it is told to stop.
    pub fn watch(stop: &AtomicBool) -> Self {
        let start = Instant::now();
        let mut samples = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            samples.push((start.elapsed(), resident()));
            sleep(Duration::from_secs(1));
        }
        Self(samples)
    }

    /// The median of a part of the time, in bytes.
    pub fn median(&self, part: std::ops::Range<f64>) -> u64 {
        let end = self.0.last().map_or(Duration::ZERO, |(at, _)| *at);
        let part = end.mul_f64(part.start)..=end.mul_f64(part.end);
        let samples = self.0.iter().filter(|(at, _)| part.contains(at));
        let mut samples: Vec<u64> = samples.map(|(_, bytes)| *bytes).collect();
        samples.sort_unstable();
        samples[samples.len() / 2]
    }
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
