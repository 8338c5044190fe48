//! CPU time and memory of this process, as Linux counts them.

use std::fs;

use anyhow::{Context as _, Result, anyhow};

use crate::server::{EVENTS, OBJECTS};

/// What is measured, and printed in this order.
pub(crate) const FIGURES: [&str; 4] = [
    "CPU µs a listed object",
    "CPU µs a watch event",
    "KB an object after the list",
    "KB an object after the watch",
];

/// The [`FIGURES`] of one run.
pub(crate) type Cost = [f64; FIGURES.len()];

/// What was used until now.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    cpu_micros: f64,
    resident_kilobytes: f64,
}

impl Moment {
    pub(crate) fn now() -> Result<Self> {
        let times = fs::read_to_string("/proc/thread-self/schedstat")?;
        let nanos = times.split_whitespace().next().context("schedstat is empty")?;
        let status = fs::read_to_string("/proc/self/status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|value| value.trim().strip_suffix(" kB"));
        Ok(Self {
            cpu_micros: nanos.parse::<f64>()? / 1000.0,
            resident_kilobytes: resident.context("status names no VmRSS in kB")?.parse()?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
pub(crate) fn between(start: Moment, listed: Moment, watched: Moment) -> Cost {
    [
        (listed.cpu_micros - start.cpu_micros) / OBJECTS as f64,
        (watched.cpu_micros - listed.cpu_micros) / EVENTS as f64,
        (listed.resident_kilobytes - start.resident_kilobytes) / OBJECTS as f64,
        (watched.resident_kilobytes - start.resident_kilobytes) / OBJECTS as f64,
    ]
}

/// How a child tells its parent.
pub(crate) fn line(cost: Cost) -> String {
    cost.map(|figure| figure.to_string()).join(" ")
}

/// Reads what [`line()`] wrote.
pub(crate) fn parse(line: &str) -> Result<Cost> {
    let figures = line.split_whitespace().map(str::parse);
    let figures: Vec<f64> = figures.collect::<Result<_, _>>()?;
    Cost::try_from(figures).map_err(|figures| {
        anyhow!(
            "the run printed {} figures instead of {}",
            figures.len(),
            FIGURES.len()
        )
    })
}
