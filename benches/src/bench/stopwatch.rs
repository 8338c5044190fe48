//! What this process used since a moment.

use std::time::Instant;

use anyhow::Result;

/// Measures what happens from now on.
pub(crate) struct Stopwatch {
    clock: Instant,
    cpu: u64,
}

impl Stopwatch {
    pub(crate) fn start() -> Result<Self> {
        Ok(Self {
            cpu: cpu()?,
            clock: Instant::now(),
        })
    }

    /// Nanoseconds a key, of CPU and on the clock.
    #[expect(clippy::cast_precision_loss, reason = "far from 2^52")]
    pub(crate) fn each(&self, keys: usize) -> Result<Vec<f64>> {
        let clock = self.clock.elapsed().as_nanos() as f64;
        Ok(vec![
            (cpu()? - self.cpu) as f64 / keys as f64,
            clock / keys as f64,
        ])
    }
}

/// Nanoseconds that the threads of this process ran.
pub(crate) fn cpu() -> Result<u64> {
    let mut sum = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let ran = text.split(' ').next().unwrap_or_default();
        sum += ran.parse::<u64>()?;
    }
    Ok(sum)
}
