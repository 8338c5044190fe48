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
    ("peak KB an object, first list", |figures| figures.list_peak),
    ("peak of a relist / before", |figures| figures.relist_peak),
];

/// Medians, each with its ratio to that of the first row; `figures` are those of each subject.
pub(crate) fn markdown(subjects: &[&Subject], figures: &[Vec<Figures>]) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "| | {} |\n|---|{}\n",
        names.join(" | "),
        "---:|".repeat(COLUMNS.len())
    );
    let of = |figures: &[Figures], read: fn(&Figures) -> f64| median(figures.iter().map(read));
    let Some(first) = figures.first() else { return text };
    for (subject, figures) in subjects.iter().zip(figures) {
        let cells = COLUMNS.iter().map(|(_, read)| {
            let value = of(figures, *read);
            format!("{value:.2} ({:.2}×)", value / of(first, *read))
        });
        let cells: Vec<String> = cells.collect();
        text += &format!("| {} | {} |\n", subject.label, cells.join(" | "));
    }
    text
}
