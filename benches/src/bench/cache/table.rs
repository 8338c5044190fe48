//! Formats the figures as a Markdown table.

use kubewright_benches::{median, report};

use super::{run::CacheFigures, subjects::CacheSubject};

type Column = (&'static str, fn(&CacheFigures) -> f64);

const COLUMNS: &[Column] = &[
    ("CPU µs per listed object", |figures| figures.list_cpu),
    ("CPU µs per watch event", |figures| figures.event_cpu),
    ("CPU µs per relisted object", |figures| figures.relist_cpu),
    ("KB per object after the list", |figures| figures.listed),
    ("KB per object after events", |figures| figures.watched),
    ("KB per object after GC", |figures| figures.collected),
    ("… anonymous", |figures| figures.anonymous),
    ("peak KB per object, first list", |figures| figures.list_peak),
    ("relist peak / before", |figures| figures.relist_peak),
];

/// Returns the table of medians, each with its ratio to the first row. `figures` contains the figures of each subject.
pub(crate) fn markdown(subjects: &[&CacheSubject], figures: &[Vec<CacheFigures>]) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let of = |figures: &[CacheFigures], read: fn(&CacheFigures) -> f64| median(figures.iter().map(read));
    let rows = subjects.iter().zip(figures).map(|(subject, row)| {
        let cells = COLUMNS.iter().map(|(_, read)| {
            let value = of(row, *read);
            let ratio = figures.first().map_or(1.0, |first| value / of(first, *read));
            format!("{value:.2} ({ratio:.2}×)")
        });
        (subject.label.to_string(), cells.collect())
    });
    report::table(&names, rows)
}
