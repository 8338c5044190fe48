//! What the benchmarks share; see README.md for what each measures.

pub mod memory;
pub mod pods;
pub mod report;
pub mod subject;
pub mod widget;

/// The median; of an even number, the upper one of the middle. Zero of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
