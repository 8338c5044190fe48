//! Measures CPU time and wall-clock time of this process.

use std::time::Instant;

use anyhow::Result;

/// Measures the time from its start.
pub(crate) struct Stopwatch {
    clock: Instant,
    cpu_nanos: u64,
}

impl Stopwatch {
    pub(crate) fn start() -> Result<Self> {
        Ok(Self {
            cpu_nanos: cpu_nanos()?,
            clock: Instant::now(),
        })
    }

    /// Returns CPU nanoseconds and wall-clock nanoseconds per key.
    #[expect(clippy::cast_precision_loss, reason = "far from 2^52")]
    pub(crate) fn per_key(&self, keys: usize) -> Result<Vec<f64>> {
        let clock = self.clock.elapsed().as_nanos() as f64;
        Ok(vec![
            (cpu_nanos()? - self.cpu_nanos) as f64 / keys as f64,
            clock / keys as f64,
        ])
    }
}

/// Returns the CPU time of all threads of this process, in nanoseconds.
pub(crate) fn cpu_nanos() -> Result<u64> {
    let mut sum = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let ran = text.split(' ').next().unwrap_or_default();
        sum += ran.parse::<u64>()?;
    }
    Ok(sum)
}
