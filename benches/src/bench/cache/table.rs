//! The figures as a Markdown table.

use kubewright_benches::median;

use super::{run::Figures, subjects::Subject};

type Column = (&'static str, fn(&Figures) -> f64);

const COLUMNS: &[Column] = &[
    ("CPU µs a listed object", |figures| figures.list_cpu),
    ("CPU µs a watch event", |figures| figures.event_cpu),
    ("CPU µs a relisted object", |figures| figures.relist_cpu),
    ("KB an object, listed", |figures| figures.listed),
    ("KB an object, after events", |figures| figures.watched),
    ("KB an object, collected", |figures| figures.collected),
    ("… without files", |figures| figures.anonymous),
    ("peak KB an object, first list", |figures| figures.list_peak),
    ("peak of a relist / before", |figures| figures.relist_peak),
];

/// Medians, each with its ratio to that of the first row; `figures` are those of each subject.
pub(crate) fn markdown(subjects: &[&Subject], figures: &[Vec<Figures>]) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let of = |figures: &[Figures], read: fn(&Figures) -> f64| median(figures.iter().map(read));
    let rows = subjects.iter().zip(figures).map(|(subject, row)| {
        let cells = COLUMNS.iter().map(|(_, read)| {
            let value = of(row, *read);
            let ratio = figures.first().map_or(1.0, |first| value / of(first, *read));
            format!("{value:.2} ({ratio:.2}×)")
        });
        let cells: Vec<String> = cells.collect();
        format!("| {} | {} |\n", subject.label, cells.join(" | "))
    });
    let rows: String = rows.collect();
    format!(
        "| | {} |\n|---|{}\n{rows}",
        names.join(" | "),
        "---:|".repeat(COLUMNS.len())
    )
}
