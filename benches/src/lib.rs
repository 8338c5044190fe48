//! Code that the benchmarks share. README.md describes each benchmark.

pub mod memory;
pub mod pods;
pub mod report;
pub mod subject;
pub mod widget;

/// Returns the median; for an even number of values, the upper of the two middle ones; for no values, zero.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
